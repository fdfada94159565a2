// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <chrono>

#include "core/codegen/kernel.h"
#include "tests/bench/bench_kernel.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::ConvShape)

// How long a candidate takes to build, which is most of what tuning waits for: drawn schedules of convolutions, each three times, the
// fastest of which counts. Lowering ends with the loop nest, compiling with the object file.
class BenchBuilds : public QObject {
    Q_OBJECT

    static constexpr int kConfigs = 40, kTimes = 3;

    static double since(std::chrono::steady_clock::time_point began) {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
    }

private slots:
    void convolutions_data() {
        QTest::addColumn<ConvShape>("shape");
        QTest::newRow("7x7, stride 2, 3@224 to 64") << ConvShape{3, 224, 64, 7, 2};
        QTest::newRow("3x3, 64@56") << ConvShape{64, 56, 64, 3};
        QTest::newRow("3x3, 256@14") << ConvShape{256, 14, 256, 3};
        QTest::newRow("3x3, stride 2, 128@28 to 256") << ConvShape{128, 28, 256, 3, 2};
        QTest::newRow("1x1, 256@14 to 1024") << ConvShape{256, 14, 1024, 1};
        QTest::newRow("3x3, depthwise 256@28") << ConvShape{256, 28, 256, 3, 1, 256};
    }
    void convolutions() {
        QFETCH(ConvShape, shape);
        const KernelLab lab = KernelLab::convolution(shape, 1);
        const Target target = take(hostTarget(1));
        Rng rng(1);
        double lowering = 0, compiling = 0, longest = 0;
        for (int i = 0; i < kConfigs; ++i) {
            const Config config = lab.space().space().sample(rng);
            double lowered = 1e9, compiled = 1e9;
            for (int time = 0; time < kTimes; ++time) {
                const auto began = std::chrono::steady_clock::now();
                const ScheduledKernel scheduled = take(lab.space().schedule(config));
                const double first = since(began);
                const auto kernel = take(compileKernel(scheduled.nest, target, {}));
                lowered = std::min(lowered, first);
                compiled = std::min(compiled, since(began) - first);
            }
            lowering += lowered;
            compiling += compiled;
            longest = std::max(longest, lowered + compiled);
        }
        qInfo("lowered in %.1f ms, compiled in %.1f ms on average; the longest build %.0f ms", lowering / kConfigs, compiling / kConfigs, longest);
    }
};

QTEST_GUILESS_MAIN(BenchBuilds)
#include "bench_builds.moc"
