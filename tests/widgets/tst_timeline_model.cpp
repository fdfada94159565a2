// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_area.h"
#include "widgets/timeline/timeline_idle.h"
#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace tunesmith;
using Kind = TimelineSlice::Kind;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TimelineJob job(const QString& name) {
    TimelineJob made;
    made.name = name;
    return made;
}

// Two cores and the slot for measurements, two jobs.
TimelineModel machine() {
    TimelineModel model;
    model.setTracks({{"core 0", "core"}, {"core 1", "core"}, {"profile", "profile"}});
    model.setJobs({job("resnet18"), job("mnist")});
    return model;
}

// A run of one core, slices of random lengths and gaps.
QVector<TimelineSlice> randomSlices(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> length(10);
    QVector<TimelineSlice> slices;
    double at = 0;
    for (int i = 0; i < count; ++i) {
        TimelineSlice slice;
        slice.job = static_cast<int>(random() % 2);
        slice.kind = static_cast<Kind>(random() % 3);
        slice.tracks = {static_cast<int>(random() % 2)};
        slice.called = at;
        slice.begin = at + (random() % 3 == 0 ? length(random) : 0);
        at = slice.end = slice.begin + (random() % 7 == 0 ? 0 : length(random));
        slice.expected = 0.1;
        slices.push_back(slice);
    }
    return slices;
}

TimelineModel modelOf(const QVector<TimelineSlice>& slices, int perBatch) {
    TimelineModel model = machine();
    for (int i = 0; i < slices.size(); i += perBatch)
        if (model.add(slices.mid(i, perBatch)) != 0)
            qFatal("slices were refused");
    return model;
}

} // namespace

class TimelineModelTest : public QObject {
    Q_OBJECT
private slots:
    void emptyModelsAnswer() {
        const TimelineModel model = machine();
        QCOMPARE(model.size(), 0);
        QCOMPARE(model.span(), TimeSpan());
        QVERIFY(model.onTrack(0).pieces(0, 10, 0.1).empty());
        QCOMPARE(model.sliceAt(0, 1, 10), -1);
        QCOMPARE(model.nearestOnTrack(1, 0), -1);
        const AreaTotals totals = totalsOf(model, {0, 2, {0, 4}});
        QVERIFY(totals.stages.isEmpty() && totals.load() == 0 && totals.unitSeconds() == 12);
        QCOMPARE(totals.idle.size(), 1);
        QCOMPARE(totals.idle[0].seconds, 12.0);
        QVERIFY(totalsOf(model, {}).tracks.isEmpty());
        QVERIFY(totalsOf(model, {0, 1, {3, 3}}).tracks.isEmpty());
    }

    void refusesWhatIsNoSlice_data() {
        QTest::addColumn<int>("job");
        QTest::addColumn<QVector<int>>("tracks");
        QTest::addColumn<double>("called");
        QTest::addColumn<double>("begin");
        QTest::addColumn<double>("end");
        const QVector<int> one{1};
        QTest::newRow("job") << 2 << one << 0.0 << 1.0 << 2.0;
        QTest::newRow("negative job") << -1 << one << 0.0 << 1.0 << 2.0;
        QTest::newRow("track") << 0 << QVector<int>{3} << 0.0 << 1.0 << 2.0;
        QTest::newRow("no track") << 0 << QVector<int>{} << 0.0 << 1.0 << 2.0;
        QTest::newRow("too many tracks") << 0 << QVector<int>{0, 1, 2, 0} << 0.0 << 1.0 << 2.0;
        QTest::newRow("NaN") << 0 << one << 0.0 << kNaN << 2.0;
        QTest::newRow("NaN called") << 0 << one << kNaN << 1.0 << 2.0;
        QTest::newRow("endless") << 0 << one << 0.0 << 1.0 << std::numeric_limits<double>::infinity();
        QTest::newRow("backwards") << 0 << one << 0.0 << 2.0 << 1.0;
        QTest::newRow("begins before it is ready") << 0 << one << 1.5 << 1.0 << 2.0;
        QTest::newRow("beyond all time") << 0 << one << 0.0 << 1.0 << 1e300;
    }
    void refusesWhatIsNoSlice() {
        QFETCH(int, job);
        QFETCH(QVector<int>, tracks);
        QFETCH(double, called);
        QFETCH(double, begin);
        QFETCH(double, end);
        TimelineModel model = machine();
        const TimelineSlice good{0, Kind::build, {0}, 0, 1, 2, 1};
        QCOMPARE(model.add({good, {job, Kind::build, tracks, called, begin, end, 0}, good}), 1);
        QCOMPARE(model.size(), 2);
        QCOMPARE(model.span(), (TimeSpan{0, 2}));
    }

    void keepsWhatItWasGiven() {
        TimelineModel model = machine();
        QCOMPARE(model.add({{1, Kind::profile, {2, 0, 2}, 0.5, 1, 3, -7}, {0, Kind::build, {1}, 1, 1, 1, kNaN}}), 0);
        const TimelineSlice first = model.slice(0);
        QCOMPARE(first.tracks, (QVector<int>{0, 2}));
        QVERIFY(first.job == 1 && first.kind == Kind::profile && first.called == 0.5 && first.begin == 1 && first.end == 3 && first.expected == 0);
        QCOMPARE(model.jobOf(0).name, QString("mnist"));
        QCOMPARE(model.slice(1).expected, 0.0);
        QCOMPARE(model.waits().size(), std::size_t(1));
        model.setJobs({job("one")}); // fewer: the slices' jobs are kept
        QCOMPARE(model.jobs().size(), 2);
        model.setNow(9);
        model.setNow(kNaN);
        QCOMPARE(model.span(), (TimeSpan{0.5, 9}));
        model.setTracks({});
        QVERIFY(model.size() == 0 && model.jobs().isEmpty());
    }

    // However they come, the picture and the sums are those of a look at each of them.
    void orderOfComingDoesNotMatter_data() {
        QTest::addColumn<int>("perBatch");
        QTest::addColumn<bool>("shuffled");
        QTest::newRow("at once") << 5000 << false;
        QTest::newRow("as they end") << 1 << false;
        QTest::newRow("in batches") << 37 << false;
        QTest::newRow("shuffled") << 5000 << true;
        QTest::newRow("shuffled batches") << 211 << true;
    }
    void orderOfComingDoesNotMatter() {
        QFETCH(int, perBatch);
        QFETCH(bool, shuffled);
        QVector<TimelineSlice> slices = randomSlices(5000, 3);
        if (shuffled)
            std::shuffle(slices.begin(), slices.end(), std::mt19937(5));
        const TimelineModel model = modelOf(slices, perBatch);
        const double end = model.span().end;
        for (const TimeSpan span : {TimeSpan{0, end}, TimeSpan{end / 3, end / 2}, TimeSpan{end / 2, end / 2 + 0.3}})
            for (const int track : {0, 1}) {
                double busy = 0, seen = 0;
                int count = 0, shown = 0;
                for (const TimelineSlice& slice : slices)
                    if (slice.tracks[0] == track && slice.begin <= span.end && slice.end >= span.begin) {
                        busy += slice.seconds();
                        ++count;
                    }
                const double width = span.length() / 1000;
                const auto pieces = model.onTrack(track).pieces(span.begin, span.end, width);
                for (std::size_t i = 0; i < pieces.size(); ++i) {
                    seen += pieces[i].busy;
                    shown += pieces[i].count;
                    QVERIFY(i == 0 || pieces[i].begin >= pieces[i - 1].begin);
                    QVERIFY(pieces[i].count == 1 || pieces[i].end - pieces[i].begin <= width);
                }
                QVERIFY(pieces.size() <= 2002);
                // Summaries at the ends reach beyond the span by less than a pixel.
                QVERIFY2(shown >= count && shown <= count + 200 && std::abs(seen - busy) <= 2 * width + 1e-9, qPrintable(QStringLiteral("%1 of %2").arg(shown).arg(count)));
                const AreaTotals totals = totalsOf(model, {track, track, span});
                QCOMPARE(totals.slices, qint64(count));
                QVERIFY(totals.load() <= busy + 1e-9);
            }
    }

    void colourIsThatOfMost() {
        TimelineModel model = machine();
        QVector<TimelineSlice> slices;
        for (int i = 0; i < 4096; ++i) // job 1 has three quarters of the time, job 0 most of the slices
            slices.push_back({i % 4 == 3 ? 1 : 0, Kind::profile, {0}, i * 1e-3, i * 1e-3, i * 1e-3 + (i % 4 == 3 ? 9e-4 : 1e-4), 0});
        model.add(slices);
        const auto pieces = model.onTrack(0).pieces(0, 5, 10);
        QCOMPARE(pieces.size(), std::size_t(1));
        QCOMPARE(pieces[0].count, 4096);
        QCOMPARE(TimelineModel::jobOfGroup(pieces[0].group), 1);
        QCOMPARE(TimelineModel::kindOfGroup(pieces[0].group), Kind::profile);
        QVERIFY(std::abs(pieces[0].busy - 1024 * (9e-4 + 3e-4)) < 1e-9);
    }

    void findsSlices() {
        TimelineModel model = machine();
        model.add({{0, Kind::build, {0}, 0, 1, 2, 0}, {1, Kind::profile, {0, 2}, 2, 3, 5, 0}, {0, Kind::update, {0}, 5, 5, 5, 0}, {1, Kind::build, {1}, 0, 0, 9, 0}});
        QCOMPARE(model.sliceAt(0, 1.5, 0), 0);
        QCOMPARE(model.sliceAt(0, 2.4, 0), -1);
        QCOMPARE(model.sliceAt(0, 2.4, 0.5), 0);
        QCOMPARE(model.sliceAt(0, 2.7, 0.5), 1);
        QCOMPARE(model.sliceAt(0, 5, 0), 2); // no length, on the end of another one
        QCOMPARE(model.sliceAt(1, 1e300, 0), -1);
        QCOMPARE(model.sliceAt(1, kNaN, 1), -1);
        QCOMPARE(model.nextOnTrack(0, 0, 1), 1);
        QCOMPARE(model.nextOnTrack(0, 1, 1), 2);
        QCOMPARE(model.nextOnTrack(0, 2, 1), -1);
        QCOMPARE(model.nextOnTrack(0, 0, -1), -1);
        QCOMPARE(model.nextOnTrack(2, 1, 1), -1);
        QCOMPARE(model.nextOnTrack(2, 0, 1), -1); // is not on that track
        QCOMPARE(model.nearestOnTrack(0, -5), 0);
        QCOMPARE(model.nearestOnTrack(0, 2.9), 1);
        QCOMPARE(model.nearestOnTrack(0, 99), 2);
        QCOMPARE(model.nearestOnTrack(1, 4), 3);
    }

    void sumsUpAnArea() {
        TimelineModel model = machine();
        model.add({{0, Kind::build, {0, 1}, 0, 0, 4, 5}, {1, Kind::profile, {0, 2}, 1, 4, 10, 3}, {1, Kind::profile, {0, 2}, 10, 10, 20, 0}});
        const AreaTotals all = totalsOf(model, {0, 2, {2, 12}});
        QCOMPARE(all.slices, qint64(3));
        QCOMPARE(all.stages.size(), 2);
        QVERIFY(all.stages[0].job == 0 && all.stages[0].kind == Kind::build && all.stages[0].slices == 1 && all.stages[0].load == 4);
        QVERIFY(all.stages[0].real == 4 && all.stages[0].expected == 5);
        QVERIFY(all.stages[1].slices == 2 && all.stages[1].load == 16 && all.stages[1].real == 6 && all.stages[1].expected == 3);
        QCOMPARE(all.tracks[0].busy, 10.0);
        QCOMPARE(all.tracks[1].busy, 2.0);
        QCOMPARE(all.tracks[2].busy, 8.0);
        QCOMPARE(all.load(), 20.0);
        QCOMPARE(all.unitSeconds(), 30.0);
        double idle = 0;
        for (const IdleTotal& sum : all.idle)
            idle += sum.seconds;
        QCOMPARE(idle, 10.0);
        const AreaTotals profile = totalsOf(model, {2, 9, {0, 20}}); // beyond the last track
        QCOMPARE(profile.tracks.size(), 1);
        QCOMPARE(profile.slices, qint64(2));
    }

    // A sum that is being made goes on while slices come, and knows when it is about something else.
    void sumsAreMadeStepByStep() {
        TimelineModel model = modelOf(randomSlices(3000, 11), 3000);
        const TimelineArea area{0, 2, {1, model.span().end - 1}};
        const AreaTotals once = totalsOf(model, area);
        AreaSum sum(model, area);
        int steps = 0;
        while (sum.step(100))
            if (++steps == 5)
                model.add({{0, Kind::build, {0}, 1e6, 1e6, 2e6, 0}});
        QVERIFY(steps >= 25 && !sum.outdated());
        const AreaTotals made = sum.totals();
        QVERIFY(made.slices == once.slices && std::abs(made.load() - once.load()) < 1e-9 && made.stages.size() == once.stages.size());
        double idle = 0, all = 0;
        for (const IdleTotal& one : made.idle)
            idle += one.seconds;
        for (const TrackTotal& track : made.tracks)
            all += area.span.length() - track.busy;
        QVERIFY(std::abs(idle - all) < 1e-6);
        QVector<TimelineJob> more = model.jobs();
        more.push_back(job("third"));
        model.setJobs(more);
        QVERIFY(sum.outdated());
        AreaSum other(model, area);
        model.setTracks(model.tracks());
        QVERIFY(other.outdated());
    }

    void idleTimeIsExplained() {
        TimelineModel model = machine();
        // mnist measures on core 0; resnet18's profile is ready at 1, needs a core and the slot, and has its turn at 6.
        model.add({{1, Kind::profile, {0, 2}, 0, 0, 6, 6}, {0, Kind::build, {1}, 0, 0, 1, 1}, {0, Kind::profile, {1, 2}, 1, 6, 8, 2}});
        const auto gaps = idleSpans(model, 1, {0, 10});
        QCOMPARE(gaps, (QVector<TimeSpan>{{1, 6}, {8, 10}}));
        const IdleGap first = explainIdle(model, 1, gaps[0]);
        QCOMPARE(first.waiting, 2);
        QCOMPARE(first.resource, QString("profile"));
        QCOMPARE(first.holder, 1);
        QCOMPARE(idleText(model, first), QString("core 1 was idle for 5.00 s: resnet18 was waiting for profile, held by mnist"));
        QCOMPARE(idleText(model, explainIdle(model, 1, gaps[1])), QString("core 1 was idle for 2.00 s: nothing was ready for it"));
        const auto idle = totalsOf(model, {1, 1, {0, 10}}).idle;
        QCOMPARE(idle.size(), 2);
        QVERIFY(idle[0].reason.contains("held by mnist") && idle[0].seconds == 5 && idle[0].gaps == 1);
    }

    void idleForWantOfATurn() {
        TimelineModel model = machine();
        model.add({{0, Kind::build, {0}, 2, 4, 5, 0}});
        const IdleGap gap = explainIdle(model, 1, {1, 5});
        QVERIFY(gap.waiting == 0 && gap.resource.isEmpty() && gap.holder == -1);
        QVERIFY(idleText(model, gap).contains("resnet18 was ready, but it was not its turn"));
        QCOMPARE(explainIdle(model, 2, {0, 5}).waiting, -1); // a build needs no slot for measurements
        QVERIFY(idleSpans(model, 0, {4.2, 4.8}).isEmpty());
    }

    // A moment's wait does not explain a long gap; several waits one after the other do.
    void idleMostlyForWantOfWork() {
        TimelineModel model = machine();
        model.add({{0, Kind::build, {0}, 9.9, 10, 11, 0}});
        QCOMPARE(explainIdle(model, 1, {0, 10}).waiting, -1);
        QCOMPARE(explainIdle(model, 1, {9.85, 10}).waiting, 0);
        model.add({{1, Kind::build, {0}, 1, 4, 5, 0}, {1, Kind::build, {0}, 3, 7, 8, 0}});
        QCOMPARE(explainIdle(model, 1, {0, 10}).waiting, 2);
    }

    void waitsForBothCores() {
        TimelineModel model = machine();
        model.add({{0, Kind::build, {0}, 0, 0, 3, 0}, {0, Kind::profile, {0, 1, 2}, 0.5, 3, 4, 0}});
        const IdleGap gap = explainIdle(model, 1, {0, 3});
        QCOMPARE(gap.resource, QString("core"));
        QVERIFY(idleReason(model, gap).endsWith("held by the same job"));
    }

    // While nothing ends: what runs holds its units, what waits says so.
    void whatWaitsNowExplainsIdleTime() {
        TimelineModel model = machine();
        model.add({{0, Kind::build, {1}, 0, 0, 1, 1}});
        model.setRunning({{1, Kind::profile, {0, 2}, 0, 0, 0, 6}});
        model.setWaiting({{0, Kind::profile, {{"core", 1}, {"profile", 1}}, {}, 1}});
        model.setNow(9);
        QCOMPARE(idleSpans(model, 0, {0, 9}), QVector<TimeSpan>());
        QCOMPARE(idleSpans(model, 1, {0, 9}), (QVector<TimeSpan>{{1, 9}}));
        const IdleGap gap = explainIdle(model, 1, {1, 9});
        QVERIFY(gap.job == 0 && gap.waiting == -1 && gap.holder == 1 && gap.resource == "profile");
        QCOMPARE(idleText(model, gap), QString("core 1 was idle for 8.00 s: resnet18 was waiting for profile, held by mnist"));
        const AreaTotals totals = totalsOf(model, {0, 2, {0, 9}});
        QVERIFY(totals.tracks[0].busy == 9 && totals.tracks[1].busy == 1 && totals.tracks[2].busy == 9 && totals.slices == 2 && totals.load() == 19);
        QCOMPARE(totals.idle.size(), 1);
        QVERIFY(totals.idle[0].reason == "resnet18 was waiting for profile, held by mnist" && totals.idle[0].seconds == 8);
        // It has its turn: no slice of it has ended, and it is known all the same what the core was idle for.
        model.setRunning({{0, Kind::profile, {1, 2}, 1, 9, 0, 2}});
        model.setWaiting({});
        model.add({{1, Kind::profile, {0, 2}, 0, 0, 9, 6}});
        model.setNow(11);
        QCOMPARE(idleText(model, explainIdle(model, 1, {1, 9})), QString("core 1 was idle for 8.00 s: resnet18 was waiting for profile, held by mnist"));
        QCOMPARE(idleText(model, explainIdle(model, 0, {9, 11})), QString("core 0 was idle for 2.00 s: nothing was ready for it"));
        QCOMPARE(totalsOf(model, {0, 2, {8, 11}}).load(), 6.0);
        QCOMPARE(totalsOf(model, {0, 2, {0, 5}}).tracks[1].busy, 1.0); // runs later
    }

    void waitsForWhatHasNoTracks() {
        TimelineModel model = machine();
        model.setWaiting({{0, Kind::build, {{"core", 2}}, "memory", 2}});
        model.setNow(10);
        QCOMPARE(idleReason(model, explainIdle(model, 0, {2, 10})), QString("resnet18 was waiting for memory"));
        QCOMPARE(idleReason(model, explainIdle(model, 2, {2, 10})), QString("nothing was ready for it")); // a build needs no slot for measurements
        QCOMPARE(explainIdle(model, 0, {0, 4.5}).job, 0);
        QCOMPARE(explainIdle(model, 0, {0, 3.5}).job, -1); // mostly nothing waited
        model.setRunning({{1, Kind::build, {1}, 1, 1, 0, 0}});
        QCOMPARE(idleReason(model, explainIdle(model, 0, {2, 10})), QString("resnet18 was waiting for core, held by mnist")); // it is seen that one is missing
        model.setRunning({});
        model.setWaiting({{0, Kind::build, {{"core", 2}}, {}, 2}});
        QCOMPARE(idleReason(model, explainIdle(model, 0, {2, 10})), QString("resnet18 was ready, but it was not its turn"));
        TimelineJob paused = job("resnet18");
        paused.state = TimelineJob::State::paused;
        model.setJobs({paused, job("mnist")});
        QCOMPARE(idleReason(model, explainIdle(model, 0, {2, 10})), QString("resnet18 was ready, but it is paused"));
    }

    // Those of slices and those that go on, one after the other and at a time.
    void waitsOfAllKindsCountOnce() {
        TimelineModel model = machine();
        model.add({{1, Kind::build, {0}, 0, 2, 3, 0}, {1, Kind::build, {0}, 3, 5, 5.5, 0}});
        model.setRunning({{1, Kind::build, {0}, 5.5, 6, 0, 0}});
        model.setNow(10);
        QCOMPARE(explainIdle(model, 1, {0, 10}).job, -1); // 4.5 of 10 s
        model.setWaiting({{0, Kind::build, {{"core", 1}}, {}, 8}, {0, Kind::profile, {{"core", 1}}, {}, 8.5}});
        const IdleGap gap = explainIdle(model, 1, {0, 10});
        QVERIFY(gap.job == 1 && gap.waiting == 0); // the longest, and the first of two as long
        model.setWaiting({{0, Kind::build, {{"core", 1}}, {}, 7}});
        QVERIFY(explainIdle(model, 1, {0, 10}).job == 0 && explainIdle(model, 1, {0, 10}).waiting == -1);
    }

    void whatMakesNoSenseDoesNotWait() {
        TimelineModel model = machine();
        model.setWaiting({{7, Kind::build, {{"core", 1}}, {}, 1}, {-1, Kind::build, {}, {}, 1}, {0, Kind::build, {{"core", 1}}, {}, kNaN}, {0, static_cast<Kind>(9), {{"core", 1}}, {}, 1}});
        QVERIFY(model.waiting().isEmpty());
        model.setRunning({{0, Kind::build, {7}, 0, 1, 0, 0}, {7, Kind::build, {0}, 0, 1, 0, 0}, {0, Kind::build, {0}, 0, kNaN, 0, 0}, {1, Kind::build, {1}, 2, 2, 0, 0}, {1, Kind::build, {0}, 1, 1, 0, 0}});
        QVERIFY(model.running().size() == 2 && model.running()[0].begin == 1 && model.running()[1].end == 2);
        model.setWaiting({{0, Kind::build, {{"moon", 1}}, {}, 3}}); // later than now, for nothing that there is
        QCOMPARE(explainIdle(model, 2, {0, 2}).job, -1);
        model.setTracks({{"core 0", "core"}});
        QVERIFY(model.running().isEmpty() && model.waiting().isEmpty());
    }

    // Of a session in another program only what has ended is known.
    void whatNobodyTells() {
        TimelineModel model = machine();
        model.add({{0, Kind::build, {0}, 0, 0, 2, 0}, {0, Kind::build, {0}, 5, 5, 6, 0}});
        model.setUntold(true);
        model.setNow(10);
        QVERIFY(idleReason(model, explainIdle(model, 0, {6, 10})).contains("is told once it is done"));
        QVERIFY(idleReason(model, explainIdle(model, 1, {0, 10})).contains("is told once it is done"));
        QCOMPARE(idleReason(model, explainIdle(model, 0, {2, 5})), QString("nothing was ready for it"));
        model.setUntold(false);
        QCOMPARE(idleReason(model, explainIdle(model, 0, {6, 10})), QString("nothing was ready for it"));
    }

    void manyGapsAreStillAllCounted() {
        TimelineModel model = machine();
        QVector<TimelineSlice> slices;
        for (int i = 0; i < 2000; ++i)
            slices.push_back({0, Kind::build, {0}, i * 1.0, i + 0.0, i + 0.5, 0});
        model.add(slices);
        const auto idle = totalsOf(model, {0, 0, {0, 2000}}).idle;
        qint64 gaps = 0;
        for (const IdleTotal& sum : idle)
            gaps += sum.gaps;
        QCOMPARE(gaps, qint64(2000));
        QVERIFY(std::any_of(idle.begin(), idle.end(), [](const IdleTotal& sum) { return sum.reason == "short gaps"; }));
    }
};

QTEST_APPLESS_MAIN(TimelineModelTest)
#include "tst_timeline_model.moc"
