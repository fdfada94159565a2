// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "core/executors/mock_executor.h"
#include "core/jobs/scheduling_policy.h"
#include "core/schedule/tuner.h"
#include "core/workbench/job_gate.h"
#include "tests/core/schedule/schedule_testing.h"
#include "tests/core/workbench/told_gate.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using namespace std::chrono_literals;

namespace {

const MachineRow kMachine{{}, "mock", "mock", "avx2", 4, "{}"};
constexpr const char* kDevice = "device mock";

// A board with one job on it, or several, and their gates.
struct Bench {
    StageBoard board;
    JobWatch watch{board, nullptr};
    QTemporaryDir folder;
    std::shared_ptr<Store> store = take(Store::open(folder.filePath("t.db").toStdString()));
    Target target{Isa::avx2, "znver4", 1};
    std::vector<TuneTask> tasks;

    explicit Bench(const std::string& policy, int cores = 4) : board({{kCoreResource, cores}, {kProfileResource, 1}, {kMemoryResource, 1 << 20, true}, {kNetworkResource, 1000, true}}, take(makePolicy(policy))) {
        board.setAmount(kDevice, 2);
        for (const std::int64_t size : {7, 10, 14})
            tasks.push_back({convWorkload(target, 16, size), 1});
    }
    std::shared_ptr<JobGate> gateOf(JobId job, const std::string& device = {}) { return std::make_shared<JobGate>(board, watch, job, board.resources().front().amount, 0, device); }
};

// A device elsewhere, or this machine, with made-up times; after so many measurements there is nothing to measure on.
class Mock : public MockExecutor {
public:
    Mock(bool elsewhere, int most = 1'000'000) : MockExecutor({0.1, 0.5, 64, kMachine}, limits()), elsewhere_(elsewhere), left_(most) {}
    static KernelWorkerOptions limits() {
        KernelWorkerOptions options;
        options.builders = 2;
        return options;
    }
    CallReport measure(Message request, double seconds, const StopToken& stop) override { return --left_ < 0 ? CallReport() : MockExecutor::measure(std::move(request), seconds, stop); }
    bool isElsewhere() const override { return elsewhere_; }
    double networkMbit() const override { return elsewhere_ ? 10 : 0; }

private:
    const bool elsewhere_;
    std::atomic<int> left_;
};

TuneOptions optionsOf(std::shared_ptr<StageGate> gate, bool elsewhere, int lanes) {
    TuneOptions tuning;
    tuning.trialsPerWorkload = 12;
    tuning.batch = 4;
    tuning.seed = 5;
    tuning.transfer = false;
    tuning.workers = Mock::limits();
    tuning.executor = std::make_shared<Mock>(elsewhere);
    for (int i = 1; i < lanes; ++i)
        tuning.moreExecutors.push_back(std::make_shared<Mock>(elsewhere));
    tuning.gate = std::move(gate);
    return tuning;
}

std::ptrdiff_t stagesOf(const StageBoard& board, const std::string& kind) { return std::ranges::count(board.timeline(), kind, &TimedStage::kind); }

struct Lengths {
    double build = 0, profile = 0, update = 0; // seconds
};

void work(const Result<std::unique_ptr<StageGate::Turn>>& turn, double seconds) {
    if (turn.ok())
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// The turns of a lane of the tuner, in stages of known length: a batch is built while the one before it is measured.
void runLane(StageGate& gate, int batches, const Lengths& lengths) {
    const StageNeed one{};
    std::unique_ptr<StageGate::Chain> current;
    for (int batch = 0; batch <= batches; ++batch) {
        std::unique_ptr<StageGate::Chain> upcoming;
        std::jthread measuring;
        if (current)
            measuring = std::jthread([&] { work(current->enter("profile", one, {}), lengths.profile); });
        if (batch < batches) {
            upcoming = gate.chain({{"build", one}, {"profile", one, true}, {"update", one}}, current.get());
            work(upcoming->enter("build", one, {}), lengths.build);
        }
        if (current) {
            measuring.join();
            work(current->enter("update", one, {}), lengths.update);
        }
        current = std::move(upcoming);
    }
}

// Three jobs on two cores that learn for as long as they measure; seconds until all are done.
double secondsTogether(const std::string& policy, int batches) {
    constexpr Lengths kLengths{0.0018, 0.024, 0.0264};
    Bench bench(policy, 2);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&bench, batches, kLengths, job = bench.board.addJob({"job"})] {
            const auto gate = bench.gateOf(job);
            runLane(*gate, batches, kLengths);
            bench.board.end(job);
        });
    threads.clear();
    return bench.board.seconds();
}

} // namespace

// Where the stages of a tuning get their turns: what is planned ahead, and what becomes of it.
class TstJobGate : public QObject {
    Q_OBJECT

private slots:
    // Each stage of a batch is on the board from the first one on, after those that it waits for; what is passed over or left goes.
    void chains() {
        Bench bench("greedy");
        const JobId job = bench.board.addJob({"job"});
        const auto gate = bench.gateOf(job);
        const StageNeed one{};
        auto first = gate->chain({{"build", {2}}, {"profile", one, true}, {"update", one}}, nullptr);
        QCOMPARE(bench.board.planned(job), std::size_t(0));
        take(first->enter("build", {3}, {})); // more than was thought
        QCOMPARE(bench.board.planned(job), std::size_t(2));
        auto second = gate->chain({{"build", one}, {"profile", one, true}, {"update", one}}, first.get());
        take(second->enter("build", one, {}));
        QCOMPARE(bench.board.planned(job), std::size_t(4));
        take(first->enter("update", one, {})); // nothing to measure
        QCOMPARE(bench.board.planned(job), std::size_t(2));
        take(second->enter("profile", one, {}));
        take(second->enter("check", one, {})); // which nobody planned
        first.reset();
        QCOMPARE(bench.board.planned(job), std::size_t(1));
        second.reset();
        QCOMPARE(bench.board.planned(job), std::size_t(0));
        QStringList kinds;
        for (const TimedStage& stage : bench.board.timeline())
            kinds << QString::fromStdString(stage.kind);
        QCOMPARE(kinds.join(' '), QString("build build update profile check"));
        QCOMPARE(bench.board.timeline().front().units.front().size(), std::size_t(3));
    }

    // A batch is not measured before the one before it was learned from, or given up.
    void chainsJoin() {
        Bench bench("greedy");
        const JobId job = bench.board.addJob({"job"});
        const auto gate = bench.gateOf(job);
        auto first = gate->chain({{"build", {}}, {"update", {}}}, nullptr);
        take(first->enter("build", {}, {}));
        auto second = gate->chain({{"build", {}}, {"profile", {}, true}}, first.get());
        take(second->enter("build", {}, {}));
        std::atomic<bool> begun = false;
        std::jthread thread([&] {
            take(second->enter("profile", {}, {}));
            begun = true;
        });
        std::this_thread::sleep_for(30ms);
        QVERIFY(!begun);
        first.reset();
        thread.join();
        QVERIFY(begun);
    }

    void whatCannotBegin() {
        Bench bench("greedy");
        const JobId job = bench.board.addJob({"job"});
        const auto gate = bench.gateOf(job, "device nowhere");
        auto chain = gate->chain({{"propose", {}}, {"build", {}}, {"update", {}}}, nullptr);
        QVERIFY(!chain->enter("propose", {}, {}).ok()); // what follows it never could
        chain.reset();
        QCOMPARE(bench.board.planned(job), std::size_t(0));
        StopSource source;
        source.requestStop();
        const auto here = bench.gateOf(job);
        const auto hold = take(here->enter("build", {4}, {}));
        chain = here->chain({{"build", {}}, {"profile", {}}}, nullptr);
        QVERIFY(chain->enter("build", {}, source.token()).error().isCancelled());
        QCOMPARE(bench.board.planned(job), std::size_t(2));
        chain.reset();
        QCOMPARE(bench.board.planned(job), std::size_t(1));
    }

    void nothingStaysPlanned_data() {
        QTest::addColumn<bool>("elsewhere");
        QTest::addColumn<int>("lanes");
        QTest::addColumn<int>("stopAfter");
        QTest::addColumn<int>("breakAfter");
        for (const bool elsewhere : {false, true})
            for (const int lanes : {1, 3}) {
                const QByteArray where = QByteArray(elsewhere ? "devices " : "here ") + QByteArray::number(lanes);
                QTest::newRow(where + ", whole") << elsewhere << lanes << 0 << 0;
                QTest::newRow(where + ", stopped at once") << elsewhere << lanes << 1 << 0;
                QTest::newRow(where + ", stopped") << elsewhere << lanes << 17 << 0;
                QTest::newRow(where + ", failed") << elsewhere << lanes << 0 << 6;
            }
    }
    void nothingStaysPlanned() {
        QFETCH(bool, elsewhere);
        QFETCH(int, lanes);
        QFETCH(int, stopAfter);
        QFETCH(int, breakAfter);
        Bench bench("predictive");
        const JobId job = bench.board.addJob({"job"});
        TuneOptions tuning = optionsOf(bench.gateOf(job, elsewhere ? kDevice : ""), elsewhere, lanes);
        if (breakAfter > 0)
            tuning.executor = std::make_shared<Mock>(elsewhere, breakAfter);
        StopSource stop;
        int seen = 0;
        Tuner tuner(*bench.store, [&](const TuneEvent& event) {
            if (event.kind == TuneEvent::Kind::measured && ++seen == stopAfter)
                stop.requestStop();
        });
        const auto result = tuner.run(bench.tasks, bench.target, tuning, stop.token());
        QCOMPARE(result.ok(), breakAfter == 0);
        QCOMPARE(bench.board.planned(job), std::size_t(0));
        QVERIFY(bench.board.running().empty());
        if (stopAfter > 0 || breakAfter > 0)
            return;
        QCOMPARE(stagesOf(bench.board, "profile"), 9 + 3); // and finals
        QCOMPARE(stagesOf(bench.board, "update"), 9);
        const std::ptrdiff_t begun = stagesOf(bench.board, elsewhere ? "propose" : "build"); // some found nothing left
        QVERIFY2(begun >= 9 && begun <= 9 + lanes, qPrintable(QString::number(begun)));
        QVERIFY(elsewhere ? stagesOf(bench.board, "build") == 9 : stagesOf(bench.board, "propose") == 0);
    }

    // A stopped run goes on: what is stored is not measured again, and asks for no turn to be.
    void storedTrialsAskForNoTurn() {
        Bench bench("predictive");
        const JobId job = bench.board.addJob({"job"});
        const TuneOptions tuning = optionsOf(bench.gateOf(job), false, 1);
        StopSource stop;
        int seen = 0;
        Tuner tuner(*bench.store, [&](const TuneEvent& event) {
            if (event.kind == TuneEvent::Kind::measured && ++seen == 11)
                stop.requestStop();
        });
        const TuneResult part = take(tuner.run(bench.tasks, bench.target, tuning, stop.token()));
        QCOMPARE(part.reason, StopReason::cancelled);
        const std::ptrdiff_t before = stagesOf(bench.board, "profile");
        const TuneResult rest = take(Tuner(*bench.store).resume(part.run, tuning));
        QCOMPARE(rest.reason, StopReason::budgetTrials);
        QCOMPARE(stagesOf(bench.board, "profile") - before, 9 - 2 + 3); // two batches were whole
        QCOMPARE(bench.board.planned(job), std::size_t(0));
    }

    // One job learns for long while the other could build for a device that has nothing to do: who asked first goes first, or who looks ahead.
    void predictiveLooksAhead_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<QString>("then");
        QTest::newRow("greedy") << "greedy" << "update build";
        QTest::newRow("predictive") << "predictive" << "build update";
    }
    void predictiveLooksAhead() {
        QFETCH(QString, policy);
        QFETCH(QString, then);
        Bench bench(policy.toStdString(), 1);
        const JobId learner = bench.board.addJob({"learner"}), builder = bench.board.addJob({"builder"});
        const auto theirs = bench.gateOf(learner, kDevice), ours = bench.gateOf(builder, kDevice);
        const StageNeed one{};
        auto hold = take(theirs->enter("prepare", one, {}));
        std::jthread learns([&] { work(theirs->enter("update", one, {}), 0.02); });
        std::this_thread::sleep_for(20ms);
        std::jthread builds([&] {
            const auto chain = ours->chain({{"propose", one}, {"build", one}, {"profile", one}}, nullptr);
            work(chain->enter("propose", one, {}), 0.001);
        });
        std::this_thread::sleep_for(20ms);
        hold.reset();
        learns.join();
        builds.join();
        QStringList kinds;
        for (const TimedStage& stage : bench.board.timeline(1))
            kinds << QString::fromStdString(stage.kind == "propose" ? "build" : stage.kind);
        QCOMPARE(kinds.join(' '), then);
    }

    // Who looks ahead lets nobody learn for long while there is something to measure, or to build for that.
    void predictiveIsSooner() {
        double best = 0;
        for (int attempt = 0; attempt < 3 && best < 1.08; ++attempt) { // the machine may be busy
            const double greedy = secondsTogether("greedy", 12), predictive = secondsTogether("predictive", 12);
            qInfo("greedy %.3f s, predictive %.3f s", greedy, predictive);
            best = std::max(best, greedy / predictive);
        }
        QVERIFY2(best >= 1.08, qPrintable(QString::number(best)));
    }

    // How many batches there will be, as far as trials say it; nothing is expected of a run that has ended.
    void batchesAreExpected() {
        Bench bench("predictive");
        const auto expectedOf = [&](const std::function<void(TuneOptions&)>& change) {
            const auto gate = std::make_shared<ToldGate>();
            TuneOptions tuning = optionsOf(gate, true, 1);
            tuning.trialsPerWorkload.reset();
            change(tuning);
            take(Tuner(*bench.store).run(bench.tasks, bench.target, tuning));
            return gate->expected;
        };
        using Counts = std::vector<std::int64_t>;
        auto expected = expectedOf([](TuneOptions& tuning) { tuning.trialsPerWorkload = 10; });
        QVERIFY(expected["propose"] == (Counts{9, 0}) && expected["build"] == (Counts{9, 0}) && expected["update"] == (Counts{9, 0}) && expected["profile"] == (Counts{12, 0}));
        expected = expectedOf([](TuneOptions& tuning) { tuning.totalTrials = 18; });
        QCOMPARE(expected["build"], (Counts{5, 0}));
        expected = expectedOf([](TuneOptions& tuning) { tuning.totalTrials = 2; });
        QCOMPARE(expected["build"], (Counts{2, 0}));
        expected = expectedOf([](TuneOptions& tuning) { tuning.trialsPerWorkload = 10, tuning.seconds = 0.2; });
        QVERIFY(expected["build"] == (Counts{0, 0}) && expected["profile"] == (Counts{0, 0}));
    }
};

QTEST_GUILESS_MAIN(TstJobGate)
#include "tst_job_gate.moc"
