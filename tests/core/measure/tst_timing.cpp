// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "core/measure/guarded_buffer.h"
#include "core/measure/timing.h"

using namespace tunesmith;

namespace {

std::function<void()> spinFor(double ms) {
    return [ms] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::milli>(ms);
        while (std::chrono::steady_clock::now() < end) {
        }
    };
}

} // namespace

class TestTiming : public QObject {
    Q_OBJECT

private slots:
    void measuresWhatACallTakes_data() {
        QTest::addColumn<double>("ms");
        QTest::newRow("5 us: several calls per sample") << 0.005;
        QTest::newRow("0.2 ms") << 0.2;
        QTest::newRow("5 ms") << 5.0;
    }
    void measuresWhatACallTakes() {
        QFETCH(double, ms);
        SpeedProbe probe;
        double longest = 0; // what a call really took: on a busy machine it may be put off
        const auto spin = spinFor(ms);
        const auto call = [&] {
            const auto start = std::chrono::steady_clock::now();
            spin();
            const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
            longest = std::max(longest, took.count());
        };
        const Timing timing = timeCalls(call, {}, probe);
        QVERIFY(timing.samples.size() >= 5);
        QVERIFY2(timing.lowMs >= 0.95 * ms && timing.lowMs < 1.1 * longest + 0.002, qPrintable(QString::number(timing.lowMs)));
        QCOMPARE(timing.lowMs, lowQuantile(timing.samples));
        QVERIFY(!timing.hopeless && probe.bestMs() > 0);
    }

    void givesUpWhatIsHopeless() {
        SpeedProbe probe;
        TimingLimits limits;
        limits.incumbentMs = 0.1;
        limits.measureMs = 1000;
        const auto start = std::chrono::steady_clock::now();
        const Timing timing = timeCalls(spinFor(1), limits, probe);
        QVERIFY(timing.hopeless);
        QVERIFY(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));
        QVERIFY(!timing.samples.empty());
    }

    void spendsLittleOnWhatIsBehindAndAllOnALeader() {
        SpeedProbe probe;
        TimingLimits limits;
        limits.incumbentMs = 0.6;
        limits.measureMs = 200;
        const std::size_t behind = timeCalls(spinFor(1), limits, probe).samples.size();
        limits.incumbentMs = 1.02;
        const std::size_t close = timeCalls(spinFor(1), limits, probe).samples.size();
        QVERIFY2(behind * 2 < close, qPrintable(QString("%1 %2").arg(behind).arg(close)));
    }

    void aSlowProbeProlongsWhatASlowEpisodeExplains() {
        TimingLimits limits;
        limits.incumbentMs = 0.8;
        limits.measureMs = 20;
        SpeedProbe never(1e-9); // no probe will ever be as fast as this
        const Timing slow = timeCalls(spinFor(1), limits, never);
        QVERIFY(slow.disturbed);
        QVERIFY2(slow.spentMs >= 40, qPrintable(QString::number(slow.spentMs))); // twice
    }

    void keepsTheLeastNumberOfSamplesWhenTimeIsShort() {
        SpeedProbe probe;
        TimingLimits limits;
        limits.maxSeconds = 0;
        QVERIFY(timeCalls(spinFor(2), limits, probe).samples.size() >= 5);
    }

    // The machine runs at full speed when the reference's time is taken, and 1.75 times slower later.
    void aReferenceTakesTheMachinesSpeedOut_data() {
        QTest::addColumn<double>("from");
        QTest::newRow("slow all the time") << 0.0;
        QTest::newRow("slow after a while") << 14.0;
    }
    void aReferenceTakesTheMachinesSpeedOut() {
        QFETCH(double, from);
        const auto measured = [from] {
            const auto start = std::chrono::steady_clock::now();
            const auto factor = [&] { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() < from ? 1.0 : 1.75; };
            return timeBeside([&] { spinFor(0.1 * factor())(); }, [&] { spinFor(0.2 * factor())(); }, 0.2, {});
        };
        double low = 0;
        for (int attempt = 0; attempt < 8 && !(low > 0.09 && low < 0.11); ++attempt) { // the real machine's other work disturbs, too
            const RelativeTiming timing = measured();
            QVERIFY(!timing.hopeless && timing.samples.size() >= 5);
            low = lowQuantile(timing.samples);
        }
        QVERIFY2(low > 0.09 && low < 0.11, qPrintable(QString::number(low)));
    }

    // Most of the reference's time is taken by somebody else, the candidate is spared.
    void aDisturbedReferenceMakesNobodyFaster() {
        double spent = 0, low = 0;
        const auto reference = [&spent] {
            const double ms = spent < 60 ? 1.0 : 0.2;
            spinFor(ms)();
            spent += ms;
        };
        for (int attempt = 0; attempt < 8 && !(low > 0.19 && low < 0.22); ++attempt) {
            spent = 0;
            TimingLimits limits;
            limits.measureMs = 80;
            low = lowQuantile(timeBeside(spinFor(0.2), reference, 0.2, limits).samples);
        }
        QVERIFY2(low > 0.19 && low < 0.22, qPrintable(QString::number(low)));
    }

    void besideAReferenceWhatIsBehindEndsSoon() {
        TimingLimits limits;
        limits.measureMs = 200;
        const auto samples = [&](double incumbentMs) {
            limits.incumbentMs = incumbentMs;
            return timeBeside(spinFor(0.5), spinFor(0.5), 0.5, limits);
        };
        const RelativeTiming hopeless = samples(0.1), behind = samples(0.35), close = samples(0.49);
        QVERIFY(hopeless.hopeless && !behind.hopeless && !close.hopeless);
        QVERIFY(hopeless.samples.size() <= behind.samples.size());
        QVERIFY2(behind.samples.size() * 4 < close.samples.size(),
                 qPrintable(QString("%1 %2").arg(behind.samples.size()).arg(close.samples.size())));
    }

    void interleavesEqually() {
        const std::vector<std::function<void()>> calls{spinFor(0.05), spinFor(0.1), spinFor(0.15)};
        const auto samples = timeInterleaved(calls, 5, 20);
        QCOMPARE(samples.size(), std::size_t(3));
        for (const auto& series : samples)
            QVERIFY(series.size() == samples[0].size() && series.size() >= 20);
        QVERIFY(lowQuantile(samples[0]) < lowQuantile(samples[1]) && lowQuantile(samples[1]) < lowQuantile(samples[2]));
    }

    void theProbeKeepsItsBest() {
        SpeedProbe probe;
        const double first = probe.measure();
        QVERIFY(first > 0 && first < 10);
        for (int i = 0; i < 50; ++i)
            QVERIFY(probe.measure() >= probe.bestMs());
        QVERIFY(!SpeedProbe(first / 1000).fast());
    }

    void guardsNoticeTheFirstByteOnEitherSide() {
        GuardedBuffer buffer(100);
        QCOMPARE(reinterpret_cast<std::uintptr_t>(buffer.data()) % kCacheLine, std::uintptr_t(0));
        float poison = 0;
        std::memcpy(&poison, buffer.data(), sizeof poison);
        QVERIFY(std::isnan(poison));
        std::fill_n(buffer.data(), 100, std::byte{1});
        QVERIFY(buffer.intact());
        buffer.data()[100] = std::byte{0};
        QVERIFY(!buffer.intact());
        GuardedBuffer other(0);
        QVERIFY(other.intact());
        other.data()[-1] = std::byte{0};
        QVERIFY(!other.intact());
    }
};

QTEST_GUILESS_MAIN(TestTiming)
#include "tst_timing.moc"
