// SPDX-License-Identifier: GPL-3.0-or-later
#include "module_testing.h"

#include "core/base/memory_budget.h"
#include "core/measure/tensor_codec.h"
#include "core/module/worker_verbs.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

class TestModuleWorker : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<WorkerClient> worker_;

    fs::path exported(const char* name, std::uint64_t seed = 7) {
        const fs::path place = pathIn(folder_, name);
        const auto plan = samplePlan("net", Isa::avx2, seed);
        const bool done = plan.ok() && exportModule(*plan, place, {}).ok();
        return done ? place : fs::path();
    }

private slots:
    void initTestCase() {
        if (!hostSupports(Isa::avx2))
            QSKIP("this processor has no AVX2");
        WorkerOptions options;
        options.executable = MODULE_WORKER;
        auto worker = WorkerClient::start(options);
        VERIFY_OK(worker);
        worker_ = std::move(*worker);
    }

    void runs() {
        const Tensor x = randomTensor({kRows, kInner}, 3);
        const auto outputs = runModule(*worker_, {exported("a"), 2, {x}}, 30s);
        VERIFY_OK(outputs);
        QCOMPARE(outputs->size(), std::size_t(1));
        QVERIFY(largestDifference((*outputs)[0], expectedOutput(x)) < 1e-4);
    }

    // A tensor, its copy in the message, and both again in the worker.
    void inputsFitFourTimes() {
        const Tensor x = randomTensor({kRows, kInner}, 3);
        const ModuleCall call{exported("a"), 1, {x}};
        const auto bytes = static_cast<std::int64_t>(x.byteCount());
        const std::int64_t limit = valueMemoryLimit();
        const auto after = [&](std::int64_t room, const auto& work) {
            limitValueMemory(usedValueMemory() + room);
            const auto done = work();
            limitValueMemory(limit);
            return done.ok() ? std::string() : done.error().message;
        };
        const auto run = [&] { return runModule(*worker_, call, 30s); };
        const auto time = [&] { return timeModulePair(*worker_, call, call, 0.01, 0.002, 30s); };
        for (const std::string& said : {after(2 * bytes, run), after(5 * bytes, time)})
            QVERIFY2(said.find("--memory") != std::string::npos, said.c_str());
        QCOMPARE(after(4 * bytes, run), std::string());
        QCOMPARE(after(7 * bytes, time), std::string());
    }

    // The same path, exported again while the worker has the older one loaded.
    void exportedAnew() {
        const Tensor x = randomTensor({kRows, kInner}, 3);
        for (const std::uint64_t seed : {20, 21, 22})
            for (const int threads : {1, 2}) {
                const auto outputs = runModule(*worker_, {exported("again", seed), threads, {x}}, 30s);
                VERIFY_OK(outputs);
                QVERIFY(largestDifference((*outputs)[0], expectedOutput(x, seed)) < 1e-4);
            }
    }

    // The mapping of a file that is cut off ends whoever reads it.
    void weightsThatAreCutOffAreNamed() {
        const fs::path folder = exported("cut");
        WorkerOptions options;
        options.executable = MODULE_WORKER;
        const auto worker = WorkerClient::start(options);
        VERIFY_OK(worker);
        std::optional<Error> error;
        std::thread timing([&] {
            const auto timed = timeModule(**worker, {folder, 1, {}}, {0, 60, 1}, 0, 90s);
            error = timed.ok() ? std::nullopt : std::optional(timed.error());
        });
        const auto isMapped = [&] {
            std::ifstream maps("/proc/" + std::to_string((*worker)->pid()) + "/maps");
            const std::string text{std::istreambuf_iterator<char>(maps), {}};
            return text.find("cut/weights.bin") != std::string::npos;
        };
        const bool mapped = QTest::qWaitFor(isMapped, 30000);
        fs::resize_file(folder / "weights.bin", 0);
        timing.join();
        QVERIFY(mapped && error);
        QVERIFY2(error->message.find("SIGBUS") != std::string::npos && error->message.find("weights.bin") != std::string::npos, error->message.c_str());
    }

    void times() {
        TimingBudget budget;
        budget.runs = 30;
        const auto timing = timeModule(*worker_, {exported("a"), 1, {}}, budget, 3, 30s);
        VERIFY_OK(timing);
        QCOMPARE(timing->samples.size(), std::size_t(30));
        QCOMPARE(timing->steps.size(), std::size_t(2));
        budget = {0, 0.05, 1};
        const auto bySeconds = timeModule(*worker_, {exported("a"), 1, {}}, budget, 0, 30s);
        VERIFY_OK(bySeconds);
        double sum = 0;
        for (const double sample : bySeconds->samples)
            sum += sample;
        QVERIFY(sum > 0.01 && sum < 5);
        QVERIFY(bySeconds->steps.empty());
    }

    void timesPairs() {
        const auto timing =
            timeModulePair(*worker_, {exported("a"), 1, {}}, {exported("b"), 2, {}}, 0.2, 0.002, 30s);
        VERIFY_OK(timing);
        QVERIFY(timing->a.size() >= 2);
        QCOMPARE(timing->a.size(), timing->b.size());
        for (const double seconds : timing->a)
            QVERIFY(seconds > 0 && seconds < 1);
    }

    void timesStepsInTurns() {
        const auto steps = timePairSteps(*worker_, {exported("a"), 1, {}}, {exported("b"), 1, {}}, 0.01, 30s);
        VERIFY_OK(steps);
        QVERIFY(steps->a.size() >= 20);
        QCOMPARE(steps->a.size(), steps->b.size());
        for (const auto& round : steps->b) {
            QCOMPARE(round.size(), std::size_t(2));
            QVERIFY(round[0] > 0 && round[0] < 1);
        }
        QVERIFY(!timePairSteps(*worker_, {exported("a"), 1, {}}, {pathIn(folder_, "nowhere"), 1, {}}, 0.01, 30s).ok());
    }

    void errorsComeBack() {
        const auto missing = runModule(*worker_, {pathIn(folder_, "nowhere"), 1, {}}, 30s);
        QVERIFY(!missing.ok());
        QVERIFY(QString::fromStdString(missing.error().message).contains("is no exported module"));
        const auto wrong = runModule(*worker_, {exported("a"), 1, {randomTensor({2}, 1)}}, 30s);
        QVERIFY(!wrong.ok());
        QVERIFY(QString::fromStdString(wrong.error().message).contains("input 'x:0'"));
        QVERIFY(!worker_->call({{{"verb", "run_module"}}, {}}, 30s).ok());
        QCOMPARE(worker_->restarts(), 0);
    }

    void codec() {
        Message message;
        const std::vector<Tensor> tensors{randomTensor({2, 3}, 1), Tensor::ofInts({1, -2}),
                                          Tensor::scalar(2.5), Tensor::zeros(DType::boolean, {0, 4})};
        const auto list = putTensors(message, tensors);
        VERIFY_OK(list);
        const std::int64_t limit = valueMemoryLimit();
        limitValueMemory(usedValueMemory() + 10);
        const auto none = takeTensors(message, *list);
        limitValueMemory(limit);
        QVERIFY2(!none.ok() && none.error().message.find("--memory") != std::string::npos, none.ok() ? "" : none.error().message.c_str());
        const auto back = takeTensors(message, *list);
        VERIFY_OK(back);
        for (std::size_t i = 0; i < tensors.size(); ++i)
            QCOMPARE((*back)[i].hash(), tensors[i].hash());
        QVERIFY(!putTensor(message, Tensor::ofStrings({1}, {"x"})).ok());
        QVERIFY(!putTensor(message, Tensor()).ok());
    }

    void aBlobIsOneTensor() {
        Message message;
        auto list = take(putTensors(message, {Tensor::ofInts({1, -2}), Tensor::ofInts({1, -2})}));
        QCOMPARE(take(takeTensors(message, list)).size(), std::size_t(2));
        list[1]["blob"] = 0;
        QVERIFY(!takeTensors(message, list).ok());
        list[1] = "no object";
        QVERIFY(!takeTensors(message, list).ok());
    }

    void codecRefuses_data() {
        QTest::addColumn<QString>("entry");
        QTest::newRow("no blob") << R"({"type":"float32","shape":[1],"blob":7})";
        QTest::newRow("wrong size") << R"({"type":"float32","shape":[2],"blob":0})";
        QTest::newRow("unknown type") << R"({"type":"float33","shape":[1],"blob":0})";
        QTest::newRow("string") << R"({"type":"string","shape":[1],"blob":0})";
        QTest::newRow("negative") << R"({"type":"float32","shape":[-1],"blob":0})";
        QTest::newRow("overflow") << R"({"type":"float32","shape":[4611686018427387904,4],"blob":0})";
        QTest::newRow("overflow in bytes") << R"({"type":"float32","shape":[4611686018427387904],"blob":0})";
        QTest::newRow("no object") << "[]";
    }
    void codecRefuses() {
        QFETCH(QString, entry);
        const Message message{{}, {std::vector<std::byte>(4)}};
        QVERIFY(!takeTensor(message, nlohmann::json::parse(entry.toStdString())).ok());
    }
};

QTEST_GUILESS_MAIN(TestModuleWorker)
#include "tst_module_worker.moc"
