// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/quantiles.h"
#include "core/stats/stability.h"
#include "two_modes.h"
#include <QTest>
#include <cmath>

using namespace tunesmith;
using namespace tunesmith::testing;

class TestStability : public QObject {
    Q_OBJECT
private slots:
    void needsEnough() {
        const std::vector<double> few(19, 0.01), quick(1000, 1e-6), enough(20, 0.01);
        QVERIFY(!lowQuantileStable({}));
        QVERIFY(!lowQuantileStable(few));
        QVERIFY(!lowQuantileStable(quick)); // 1 ms in all
        QVERIFY(lowQuantileStable(enough));
    }

    void refusesNonsense() {
        std::vector<double> nan(40, 0.01), zero(40, 0.0);
        nan[3] = std::nan("");
        StabilityOptions options;
        options.minTotal = 0;
        QVERIFY(!lowQuantileStable(nan, options));
        QVERIFY(!lowQuantileStable(zero, options));
    }

    void anEpisodeOnTheWayIsSeen_data() {
        QTest::addColumn<bool>("slowFirst");
        QTest::newRow("slow, then fast") << true;
        QTest::newRow("fast, then slow") << false;
    }
    void anEpisodeOnTheWayIsSeen() {
        QFETCH(bool, slowFirst);
        TwoModeMachine machine(4);
        std::vector<double> samples;
        for (int part = 0; part < 2; ++part) {
            machine.forceEpisode((part == 0) == slowFirst, 1000);
            for (int i = 0; i < 50; ++i)
                samples.push_back(machine.run(0.001));
        }
        QVERIFY(!lowQuantileStable(samples));
    }

    // Taking samples until they are stable gives the fast mode's time although half of all time is slow.
    void samplingUntilStable() {
        int near = 0, stopped = 0;
        double most = 0;
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            TwoModeMachine machine(seed);
            std::vector<double> samples;
            StabilityOptions options;
            options.minTotal = 0.1;
            while (samples.size() < 5000 && !lowQuantileStable(samples, options))
                for (int i = 0; i < 10; ++i)
                    samples.push_back(machine.run(0.001));
            stopped += samples.size() < 5000;
            near += *quantile(samples, 0.05) < 0.00103;
            most = std::max(most, *quantile(samples, 0.05));
        }
        QVERIFY2(stopped >= 98, qPrintable(QString::number(stopped)));
        QVERIFY2(near >= 85, qPrintable(QString::number(near)));
        QVERIFY(most < 0.0019); // the others were slow from end to end
    }
};

QTEST_GUILESS_MAIN(TestStability)
#include "tst_stability.moc"
