// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/executors/mock_executor.h"
#include "tests/core/schedule/schedule_testing.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// A device that says what it likes.
class Liar : public MockExecutor {
public:
    explicit Liar(double ms) : MockExecutor({0, 0, 64, {}}, KernelWorkerOptions()), ms_(static_cast<float>(ms)) {}

    CallReport measure(Message request, double seconds, const StopToken& stop) override {
        CallReport report = MockExecutor::measure(std::move(request), seconds, stop);
        for (auto& blob : report.reply.blobs)
            blob = samplesToBlob(std::vector<float>(10, ms_));
        return report;
    }

private:
    float ms_;
};

Workload copyOf(std::int64_t bytes) {
    return take(conversionWorkload(TensorType(DType::i8, Shape{1, 8, 1, bytes / 8}), loops::Layout::rowMajor(4), loops::Layout::blocked(4, 1, 8)));
}

} // namespace

// Times that somebody else claims for kernels.
class TestImpossibleTimes : public QObject {
    Q_OBJECT

private slots:
    void areNone_data() {
        QTest::addColumn<int>("threads");
        QTest::addColumn<double>("ms");
        QTest::addColumn<QString>("kernel");
        QTest::addColumn<bool>("possible");
        const auto row = [](int threads, double ms, const char* kernel, bool possible) { QTest::addRow("%s, %d threads, %g ms", kernel, threads, ms) << threads << ms << kernel << possible; };
        row(1, 6e-7, "convolution", false); // of 230 million operations
        row(1, 1e-3, "convolution", false);
        row(2, 1e-3, "convolution", false);
        row(1, 0.1, "convolution", true); // 2300 GFLOP/s
        row(64, 0.01, "convolution", true);
        row(1, 6e-7, "copy", false);
        row(1, 1e-3, "copy", false);
        row(1, 0.1, "copy", true); // 670 GB/s
        row(1, 6e-7, "relu", true); // of 224 values
    }
    void areNone() {
        QFETCH(int, threads);
        QFETCH(double, ms);
        QFETCH(QString, kernel);
        QFETCH(bool, possible);
        const Target target{Isa::avx2, "znver4", threads};
        Liar liar(ms);
        const auto problem = take(ScheduleProblem::make(kernel == "relu" ? reluWorkload(target, 14) : kernel == "copy" ? copyOf(64 << 20) : convWorkload(target, 64, 79), target, liar));
        const Artifact kernelOf = take(problem->build(problem->schedules().defaultConfig(), {})).artifact;
        const Trial trial = problem->profile(kernelOf, {});
        QCOMPARE(trial.status, possible ? TrialStatus::ok : TrialStatus::runError);
        QVERIFY2(possible || trial.message.find("less than any machine") != std::string::npos, trial.message.c_str());
        QCOMPARE(problem->compare({kernelOf, kernelOf}, 5, {}).ok(), possible);
    }
};

QTEST_APPLESS_MAIN(TestImpossibleTimes)
#include "tst_impossible_times.moc"
