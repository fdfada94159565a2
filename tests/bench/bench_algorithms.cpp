// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/measure/timing.h"
#include "tests/bench/bench_kernel.h"

using namespace tunesmith;

// The untuned kernel of every algorithm for the 3x3 convolutions of well-known networks, in turns, p5. GFLOP/s count the
// direct multiplications, so Winograd's may exceed what the machine can do.
class BenchAlgorithms : public QObject {
    Q_OBJECT

private slots:
    void convolutions_data() {
        QTest::addColumn<int>("channels");
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("outputs");
        QTest::newRow("ResNet C2: 64@56") << 64 << 56 << 64;
        QTest::newRow("ResNet C6: 128@28") << 128 << 28 << 128;
        QTest::newRow("ResNet C9: 256@14") << 256 << 14 << 256;
        QTest::newRow("ResNet C12: 512@7") << 512 << 7 << 512;
        QTest::newRow("SqueezeNet: 16@55 to 64") << 16 << 55 << 64;
        QTest::newRow("SqueezeNet: 64@13 to 256") << 64 << 13 << 256;
        QTest::newRow("Inception: 32@147 to 64") << 32 << 147 << 64;
        QTest::newRow("VGG: 64@224") << 64 << 224 << 64;
    }
    void convolutions() {
        QFETCH(int, channels);
        QFETCH(int, size);
        QFETCH(int, outputs);
        KernelLab lab = KernelLab::convolution({channels, size, outputs, 3}, 1);
        const std::vector<Config> guesses = lab.space().guesses();
        std::vector<std::function<void()>> calls;
        for (const Config& config : guesses)
            calls.push_back(lab.kernel(config));
        const auto samples = timeInterleaved(calls, 500, 40);
        for (std::size_t i = 0; i < guesses.size(); ++i) {
            const double ms = lowQuantile(samples[i]);
            qInfo("%-100s %8.3f ms %7.1f GFLOP/s", lab.space().space().describe(guesses[i]).c_str(), ms, static_cast<double>(lab.workload().flops) / ms / 1e6);
        }
    }
};

QTEST_GUILESS_MAIN(BenchAlgorithms)
#include "bench_algorithms.moc"
