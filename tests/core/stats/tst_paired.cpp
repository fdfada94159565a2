// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/paired.h"
#include "two_modes.h"
#include <QTest>
#include <cmath>

using namespace tunesmith;
using namespace tunesmith::testing;

class TestPaired : public QObject {
    Q_OBJECT
private slots:
    void deterministic() {
        TwoModeMachine machine(1);
        const auto [a, b] = interleaved(machine, 0.001, 0.00095, 200);
        const auto first = comparePaired(a, b), second = comparePaired(a, b);
        QVERIFY(first.ok() && second.ok());
        QCOMPARE(first->ratioLow, second->ratioLow);
        QCOMPARE(first->ratioHigh, second->ratioHigh);
        PairedOptions other;
        other.seed = 2;
        const auto third = comparePaired(a, b, other);
        QCOMPARE(third->ratio, first->ratio);
        QVERIFY(third->ratioLow != first->ratioLow || third->ratioHigh != first->ratioHigh);
    }

    void exactScaling() {
        TwoModeMachine machine(5);
        std::vector<double> a, b;
        for (int i = 0; i < 100; ++i) {
            a.push_back(machine.run(0.001));
            b.push_back(a.back() * 1.5);
        }
        const auto ratio = comparePaired(a, b);
        QVERIFY(ratio.ok());
        QVERIFY(std::fabs(ratio->ratio - 1.5) < 1e-12);
        QVERIFY(std::fabs(ratio->ratioLow - 1.5) < 1e-12 && std::fabs(ratio->ratioHigh - 1.5) < 1e-12);
        QCOMPARE(ratio->pairs, std::size_t(100));
        QCOMPARE(ratio->quantile, 0.05);
    }

    void lowQuantileRisesInSmallSamples() {
        const std::vector<double> a(25, 1.0);
        QCOMPARE(comparePaired(a, a)->quantile, 0.2);
    }

    // The interval must hold the truth about as often as it claims.
    void coverage_data() {
        QTest::addColumn<double>("truth");
        QTest::addColumn<int>("pairs");
        for (const double truth : {1.0, 0.96, 1.3})
            for (const int pairs : {40, 200})
                QTest::addRow("%g, %d pairs", truth, pairs) << truth << pairs;
    }
    void coverage() {
        QFETCH(double, truth);
        QFETCH(int, pairs);
        int held = 0;
        constexpr int runs = 200;
        PairedOptions options;
        options.resamples = 300;
        for (int run = 0; run < runs; ++run) {
            TwoModeMachine machine(std::uint64_t(1000 + run));
            const auto [a, b] = interleaved(machine, 0.0005, 0.0005 * truth, pairs);
            const auto ratio = comparePaired(a, b, options);
            QVERIFY(ratio.ok());
            QVERIFY(ratio->ratioLow <= ratio->ratio && ratio->ratio <= ratio->ratioHigh);
            held += ratio->ratioLow <= truth && truth <= ratio->ratioHigh;
        }
        QVERIFY2(held >= runs * 88 / 100, qPrintable(QString("held in %1 of %2").arg(held).arg(runs)));
    }

    void swappingSwapsTheRatio() {
        TwoModeMachine machine(9);
        const auto [a, b] = interleaved(machine, 0.001, 0.0012, 150);
        const auto ab = comparePaired(a, b), ba = comparePaired(b, a);
        QVERIFY(std::fabs(ab->ratio * ba->ratio - 1) < 1e-12);
        QVERIFY(std::fabs(ab->ratioLow * ba->ratioHigh - 1) < 0.01);
    }

    void errors() {
        const std::vector<double> fine(30, 1.0), shorter(29, 1.0), few(5, 1.0);
        std::vector<double> nan = fine, zero = fine, negative = fine;
        nan[4] = std::nan("");
        zero[0] = 0;
        negative[29] = -1;
        QVERIFY(comparePaired(fine, fine).ok());
        QVERIFY(!comparePaired(fine, shorter).ok());
        QVERIFY(!comparePaired(few, few).ok());
        QVERIFY(!comparePaired({}, {}).ok());
        for (const auto& bad : {nan, zero, negative}) {
            QVERIFY(!comparePaired(bad, fine).ok());
            QVERIFY(!comparePaired(fine, bad).ok());
            QVERIFY(!compareSeparate(fine, bad).ok());
        }
        PairedOptions options;
        options.quantile = 2;
        QVERIFY(!comparePaired(fine, fine, options).ok());
        QVERIFY(compareSeparate(fine, shorter).ok());
    }

    // Runs of different days: one of them always under other circumstances.
    void separateRunsClaimLess() {
        TwoModeMachine machine(12);
        const auto [a, b] = interleaved(machine, 0.001, 0.00098, 300);
        const auto paired = comparePaired(a, b), separate = compareSeparate(a, b);
        QVERIFY(paired.ok() && separate.ok());
        QVERIFY(separate->ratioHigh / separate->ratioLow > 1.06);
        QVERIFY(separate->ratioHigh > 1); // 2 % are below what two separate runs can tell
        QVERIFY(separate->ratioLow < paired->ratioLow && separate->ratioHigh > paired->ratioHigh);
    }
};

QTEST_GUILESS_MAIN(TestPaired)
#include "tst_paired.moc"
