// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/stats/quantiles.h"
#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace tunesmith;

Q_DECLARE_METATYPE(std::vector<double>)

class TestQuantiles : public QObject {
    Q_OBJECT
private slots:
    // Expected values: numpy.quantile (its default method is the same type 7).
    void values_data() {
        QTest::addColumn<std::vector<double>>("samples");
        QTest::addColumn<double>("q");
        QTest::addColumn<double>("expected");
        QTest::newRow("one") << std::vector<double>{4} << 0.05 << 4.0;
        QTest::newRow("two, middle") << std::vector<double>{3, 1} << 0.5 << 2.0;
        QTest::newRow("odd median") << std::vector<double>{5, 1, 9} << 0.5 << 5.0;
        QTest::newRow("even median") << std::vector<double>{4, 1, 3, 2} << 0.5 << 2.5;
        QTest::newRow("p5 of 1..5") << std::vector<double>{5, 4, 3, 2, 1} << 0.05 << 1.2;
        QTest::newRow("p95 of 1..5") << std::vector<double>{5, 4, 3, 2, 1} << 0.95 << 4.8;
        QTest::newRow("minimum") << std::vector<double>{7, -2, 5} << 0.0 << -2.0;
        QTest::newRow("maximum") << std::vector<double>{7, -2, 5} << 1.0 << 7.0;
        QTest::newRow("ties") << std::vector<double>{2, 2, 2, 8} << 0.25 << 2.0;
    }
    void values() {
        QFETCH(std::vector<double>, samples);
        QFETCH(double, q);
        QFETCH(double, expected);
        const auto value = quantile(samples, q);
        QVERIFY(value.has_value());
        QVERIFY2(std::fabs(*value - expected) < 1e-12, qPrintable(QString::number(*value)));
    }

    void refused() {
        const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
        QVERIFY(!quantile({}, 0.5));
        QVERIFY(!quantilesOf({}));
        for (const double bad : {nan, infinity, -infinity}) {
            const std::vector<double> samples{1, bad, 2};
            QVERIFY(!quantile(samples, 0.5));
            QVERIFY(!quantilesOf(samples));
        }
        const std::vector<double> fine{1, 2};
        QVERIFY(!quantile(fine, -0.1) && !quantile(fine, 1.1) && !quantile(fine, nan));
    }

    void allAgreeWithSorting() {
        Rng rng(3);
        for (std::size_t n = 1; n < 300; n += 7) {
            std::vector<double> samples;
            for (std::size_t i = 0; i < n; ++i)
                samples.push_back(rng.normal());
            const auto all = quantilesOf(samples);
            QVERIFY(all.has_value());
            QCOMPARE(all->count, n);
            QCOMPARE(all->minimum, *std::min_element(samples.begin(), samples.end()));
            QCOMPARE(all->p1, *quantile(samples, 0.01));
            QCOMPARE(all->p5, *quantile(samples, 0.05));
            QCOMPARE(all->median, *quantile(samples, 0.5));
            QCOMPARE(all->p95, *quantile(samples, 0.95));
            QVERIFY(all->minimum <= all->p1 && all->p1 <= all->p5 && all->p5 <= all->median &&
                    all->median <= all->p95);
        }
    }
};

QTEST_GUILESS_MAIN(TestQuantiles)
#include "tst_quantiles.moc"
