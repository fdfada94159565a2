// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_geometry.h"
#include <QTest>
#include <cmath>
#include <limits>

using namespace tunesmith;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kEndless = std::numeric_limits<double>::infinity();

QVector<TimelineTrack> tracks(int cores, int others) {
    QVector<TimelineTrack> made;
    for (int i = 0; i < cores; ++i)
        made.push_back({QStringLiteral("core %1").arg(i), "core"});
    for (int i = 0; i < others; ++i)
        made.push_back({QStringLiteral("other %1").arg(i), "other"});
    return made;
}

QStringList labelsOf(const QVector<TimeTick>& ticks) {
    QStringList labels;
    for (const TimeTick& tick : ticks)
        labels << tick.label;
    return labels;
}

} // namespace

class TimelineGeometryTest : public QObject {
    Q_OBJECT
private slots:
    void fittingShowsAll_data() {
        QTest::addColumn<double>("begin");
        QTest::addColumn<double>("end");
        QTest::newRow("a minute") << 0.0 << 60.0;
        QTest::newRow("nanoseconds") << 0.0 << 3e-7;
        QTest::newRow("nothing") << 0.0 << 0.0;
        QTest::newRow("one moment, late") << 1e9 << 1e9;
        QTest::newRow("thirty years") << 0.0 << 1e9;
        QTest::newRow("before zero") << -5.0 << -2.0;
    }
    void fittingShowsAll() {
        QFETCH(double, begin);
        QFETCH(double, end);
        const TimeScale scale = TimeScale::fitting({begin, end}, 800);
        const double left = scale.toX(begin), right = scale.toX(end);
        QVERIFY2(left > 10 && right < 790 && right >= left, qPrintable(QStringLiteral("%1 %2").arg(left).arg(right)));
        QVERIFY(end == begin || right - left > 700);
        QVERIFY(std::abs(scale.toTime(scale.toX(end)) - end) <= 1e-9 * std::max(1.0, std::abs(end)));
        QCOMPARE(scale.width(), 800.0);
    }

    void whatIsNoNumberChangesNothing() {
        const TimeScale scale = TimeScale::fitting({2, 12}, 500);
        for (const double bad : {kNaN, kEndless, -kEndless}) {
            QCOMPARE(scale.zoomedAt(bad, 2), scale);
            QCOMPARE(scale.movedBy(bad), scale);
            const TimeScale fitted = TimeScale::fitting({0, bad}, 500);
            QVERIFY(std::isfinite(fitted.toX(3)) && fitted.width() == 500);
            QVERIFY(std::isfinite(scale.showing({0, bad}).toX(3)));
            QVERIFY(std::isfinite(scale.clampedTo({bad, 4}).toX(3)));
        }
        for (const double factor : {kNaN, 0.0, -2.0})
            QCOMPARE(scale.zoomedAt(100, factor), scale);
        QCOMPARE(scale.withWidth(-3).width(), 1.0);
    }

    void zoomingKeepsTheTimeUnderTheCursor() {
        TimeScale scale = TimeScale::fitting({0, 100}, 1000);
        for (const double factor : {1.5, 20.0, 0.3, 1000.0, 0.01}) {
            const double time = scale.toTime(333);
            scale = scale.zoomedAt(333, factor);
            QVERIFY(std::abs(scale.toX(time) - 333) < 1e-6);
        }
    }

    void zoomingEnds() {
        TimeScale scale = TimeScale::fitting({0, 1e9}, 1000);
        for (int i = 0; i < 200; ++i)
            scale = scale.zoomedAt(900, 2);
        QVERIFY(scale.secondsPerPixel() > 0 && scale.shown().length() > 0);
        const double time = scale.shown().begin;
        QVERIFY(scale.toTime(1) > time); // neighbouring pixels are different times
        for (int i = 0; i < 200; ++i)
            scale = scale.zoomedAt(900, 0.5);
        QVERIFY(std::isfinite(scale.toX(0)));
        for (int i = 0; i < 200; ++i)
            scale = scale.movedBy(1e6);
        QVERIFY(std::isfinite(scale.shown().end));
    }

    void clampingNeverShowsEmptiness() {
        const TimeSpan all{10, 110};
        const TimeScale fitted = TimeScale::fitting(all, 1000);
        QCOMPARE(fitted.clampedTo(all), fitted);
        QCOMPARE(fitted.zoomedAt(500, 0.1).clampedTo(all), fitted);
        const TimeScale close = fitted.zoomedAt(500, 10);
        QCOMPARE(close.clampedTo(all), close);
        QVERIFY(close.movedBy(1e5).clampedTo(all).shown().begin < 110);
        QVERIFY(close.movedBy(1e5).clampedTo(all).shown().end > 110);
        QVERIFY(close.movedBy(-1e5).clampedTo(all).shown().end > 10);
        QVERIFY(close.clampedTo({0, 0}).shown().length() > 0);
    }

    void showingMovesLittle() {
        const TimeScale scale = TimeScale::fitting({0, 10}, 1000);
        QCOMPARE(scale.showing({3, 4}), scale);
        const TimeScale right = scale.showing({20, 21});
        QCOMPARE(right.secondsPerPixel(), scale.secondsPerPixel());
        QVERIFY(right.toX(20) > 0 && right.toX(21) < 1000);
        const TimeScale left = scale.showing({-8, -7});
        QVERIFY(left.toX(-8) > 0 && left.toX(-7) < 1000);
        const TimeScale far = scale.showing({0, 500});
        QVERIFY(far.toX(0) > 0 && far.toX(500) < 1000 && far.toX(500) > 800);
    }

    void stepsAreNice_data() {
        QTest::addColumn<double>("least");
        QTest::addColumn<double>("step");
        QTest::newRow("one") << 1.0 << 1.0;
        QTest::newRow("just above") << 1.01 << 2.0;
        QTest::newRow("small") << 0.00003 << 0.00005;
        QTest::newRow("nanoseconds") << 6e-10 << 1e-9;
        QTest::newRow("ten") << 6.0 << 10.0;
        QTest::newRow("a quarter") << 10.1 << 15.0;
        QTest::newRow("half a minute") << 16.0 << 30.0;
        QTest::newRow("minutes") << 61.0 << 120.0;
        QTest::newRow("hours") << 3601.0 << 7200.0;
        QTest::newRow("days") << 80000.0 << 86400.0;
        QTest::newRow("many days") << 8640001.0 << 86400.0 * 200;
        QTest::newRow("nothing") << 0.0 << 1.0;
        QTest::newRow("no number") << kNaN << 1.0;
        QTest::newRow("endless") << kEndless << 1.0;
    }
    void stepsAreNice() {
        QFETCH(double, least);
        QFETCH(double, step);
        QVERIFY2(std::abs(niceStep(least) / step - 1) < 1e-9, qPrintable(QString::number(niceStep(least))));
    }

    void ticksNameTimes_data() {
        QTest::addColumn<double>("begin");
        QTest::addColumn<double>("end");
        QTest::addColumn<QString>("among");
        QTest::newRow("nanoseconds") << 0.0 << 5e-7 << "100 ns";
        QTest::newRow("microseconds") << 0.0 << 5e-5 << "10 µs";
        QTest::newRow("milliseconds") << 0.0 << 0.4 << "100 ms";
        QTest::newRow("seconds") << 0.0 << 10.0 << "2 s";
        QTest::newRow("close, late") << 61.0 << 61.004 << "61.001 s";
        QTest::newRow("minutes") << 0.0 << 600.0 << "2:00";
        QTest::newRow("hours") << 0.0 << 36000.0 << "2:00:00";
        QTest::newRow("days") << 0.0 << 1e6 << "4 d";
        QTest::newRow("within a day") << 90000.0 << 97200.0 << "1 d 2:00:00";
        QTest::newRow("before zero") << -10.0 << 0.0 << "-2 s";
    }
    void ticksNameTimes() {
        QFETCH(double, begin);
        QFETCH(double, end);
        QFETCH(QString, among);
        const TimeScale scale = TimeScale::fitting({begin, end}, 600);
        const auto ticks = timeTicks(scale, 90);
        const QStringList labels = labelsOf(ticks);
        QVERIFY2(labels.contains(among), qPrintable(labels.join(" | ")));
        QVERIFY(ticks.size() >= 2 && ticks.size() <= 8);
        QCOMPARE(QSet<QString>(labels.begin(), labels.end()).size(), labels.size());
        for (int i = 1; i < ticks.size(); ++i)
            QVERIFY(scale.toX(ticks[i].time) - scale.toX(ticks[i - 1].time) >= 89.9);
    }

    // At every scale that can be reached there are some ticks, not too many, and no two of the same name.
    void ticksAtEveryScale() {
        for (const double where : {0.0, 0.4, 73.2, 5e4, 1e9}) {
            TimeScale scale = TimeScale::fitting({where, where + 1e8}, 700);
            for (int i = 0; i < 60; ++i) {
                scale = scale.zoomedAt(28, 2);
                const QStringList labels = labelsOf(timeTicks(scale, 110));
                QVERIFY2(labels.size() <= 8, qPrintable(labels.join(" | ")));
                QVERIFY2(QSet<QString>(labels.begin(), labels.end()).size() == labels.size(), qPrintable(labels.join(" | ")));
            }
        }
    }

    void rowsShareTheHeight() {
        const TrackRows rows(tracks(2, 1), 120);
        QCOMPARE(rows.size(), 3);
        QVERIFY(rows.height() <= 120.5 && rows.rowHeight() >= TrackRows::kLowest);
        QVERIFY(rows.top(2) - rows.bottom(1) > rows.top(1) - rows.bottom(0)); // another resource
        for (int track = 0; track < 3; ++track) {
            QCOMPARE(rows.trackAt(rows.top(track)), track);
            QCOMPARE(rows.trackAt(rows.bottom(track)), track);
        }
        QCOMPARE(rows.trackAt(rows.bottom(0) + 1), -1);
        QCOMPARE(rows.trackAt(-1), -1);
        QCOMPARE(rows.trackAt(1000), -1);
        QCOMPARE(rows.tracksIn(rows.bottom(0) + 1, 1000), qMakePair(1, 3));
    }

    void fewAndManyTracks() {
        QCOMPARE(TrackRows(tracks(1, 0), 1000).rowHeight(), TrackRows::kHighest);
        const TrackRows many(tracks(256, 8), 300);
        QCOMPARE(many.rowHeight(), TrackRows::kLowest);
        QVERIFY(many.height() > 264 * TrackRows::kLowest);
        const TrackRows none({}, 300);
        QCOMPARE(none.height(), 0.0);
        QCOMPARE(none.trackAt(5), -1);
        QCOMPARE(TrackRows(tracks(2, 0), kNaN).rowHeight(), TrackRows::kLowest);
        QCOMPARE(TrackRows(tracks(2, 0), -50).rowHeight(), TrackRows::kLowest);
    }

    void durations_data() {
        QTest::addColumn<double>("seconds");
        QTest::addColumn<QString>("text");
        QTest::newRow("nothing") << 0.0 << "0 s";
        QTest::newRow("ns") << 2.5e-8 << "25.0 ns";
        QTest::newRow("µs") << 1.234e-5 << "12.3 µs";
        QTest::newRow("ms") << 0.0042 << "4.20 ms";
        QTest::newRow("nearly a second") << 0.99999 << "1.00 s";
        QTest::newRow("s") << 61.26 << "61.3 s";
        QTest::newRow("min") << 125.0 << "2 min 05 s";
        QTest::newRow("h") << 7260.0 << "2 h 01 min";
        QTest::newRow("d") << 3 * 86400.0 + 4 * 3600.0 << "3 d 4 h";
        QTest::newRow("before") << -2.0 << "−2.00 s";
        QTest::newRow("unknown") << kNaN << "–";
    }
    void durations() {
        QFETCH(double, seconds);
        QFETCH(QString, text);
        QCOMPARE(secondsText(seconds), text);
    }
};

QTEST_APPLESS_MAIN(TimelineGeometryTest)
#include "tst_timeline_geometry.moc"
