// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/thinned.h"
#include <QTest>
#include <algorithm>

using namespace tunesmith;

class TestThinned : public QObject {
    Q_OBJECT
private slots:
    void shortSeriesAreWhole() {
        ThinnedSamples samples;
        QVERIFY(samples.values().empty());
        for (std::size_t i = 0; i < ThinnedSamples::kMost; ++i)
            samples.add(static_cast<double>(i));
        QCOMPARE(samples.count(), ThinnedSamples::kMost);
        QCOMPARE(samples.values().size(), ThinnedSamples::kMost);
        QCOMPARE(samples.values().back(), static_cast<double>(ThinnedSamples::kMost - 1));
    }

    // Those kept are equally far apart, from the first to one of the last.
    void longSeriesAreThinnedEvenly_data() {
        QTest::addColumn<std::size_t>("added");
        QTest::addColumn<std::size_t>("step");
        constexpr std::size_t kMost = ThinnedSamples::kMost;
        QTest::newRow("one too many") << kMost + 1 << std::size_t(2);
        QTest::newRow("almost twice") << 2 * kMost << std::size_t(2);
        QTest::newRow("twice and one") << 2 * kMost + 1 << std::size_t(4);
        QTest::newRow("any") << 7 * kMost + 12345 << std::size_t(8);
    }
    void longSeriesAreThinnedEvenly() {
        QFETCH(std::size_t, added);
        QFETCH(std::size_t, step);
        ThinnedSamples samples;
        for (std::size_t i = 0; i < added; ++i)
            samples.add(static_cast<double>(i));
        QCOMPARE(samples.count(), added);
        const std::vector<double>& values = samples.values();
        QCOMPARE(values.size(), (added + step - 1) / step);
        for (std::size_t i = 0; i < values.size(); ++i)
            QCOMPARE(values[i], static_cast<double>(i * step));
    }
};

QTEST_APPLESS_MAIN(TestThinned)
#include "tst_thinned.moc"
