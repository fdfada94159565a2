// SPDX-License-Identifier: GPL-3.0-or-later
#include <QImage>
#include <QPainter>
#include <QTest>
#include <algorithm>
#include <ctime>

#include "tests/widgets/gallery_timeline.h"
#include "widgets/timeline/timeline_area.h"
#include "widgets/timeline/timeline_painter.h"

using namespace tunesmith;

namespace {

// Of this thread: what others do on the machine meanwhile is not counted.
class Stopwatch {
public:
    double milliseconds() const { return now() - begun_; }

private:
    static double now() {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
    }
    double begun_ = now();
};

} // namespace

// What a picture of a million slices takes: a full screen of an image, painted anew for each step of panning and zooming.
class BenchTimeline : public QObject {
    Q_OBJECT
    static constexpr int kSlices = 1'000'000, kFrames = 400, kWidth = 1800, kHeight = 900;

    TimelineModel model_;

private slots:
    void initTestCase() {
        const SampleTimeline sample = sampleTimeline(8, 6, kSlices);
        model_.setTracks(sample.tracks);
        model_.setJobs(sample.jobs);
        const Stopwatch once;
        QCOMPARE(model_.add(sample.slices), 0);
        qInfo("%d slices are taken at once in %.0f ms", model_.size(), once.milliseconds());
        TimelineModel live;
        live.setTracks(sample.tracks);
        live.setJobs(sample.jobs);
        const Stopwatch timer;
        for (int i = 0; i < kSlices; i += 100)
            live.add(sample.slices.mid(i, 100));
        qInfo("a hundred more take %.3f ms", timer.milliseconds() / (kSlices / 100.0));
    }

    void frames_data() {
        QTest::addColumn<double>("share");
        for (const double share : {1.0, 0.3, 0.03, 1e-3, 1e-4, 1e-5})
            QTest::newRow(qPrintable(QString::number(share))) << share;
        QTest::newRow("zooming") << 0.0;
    }
    void frames() {
        QFETCH(double, share);
        QImage image(kWidth, kHeight, QImage::Format_ARGB32_Premultiplied);
        TimelinePainter painter;
        painter.setFont(QFont());
        const TrackRows rows(model_.tracks(), kHeight - 30);
        const TimelinePainter::Place place{{0, 30, 120, kHeight - 30}, {120, 0, kWidth - 120, 30}, {120, 30, kWidth - 120, kHeight - 30}, 0};
        const TimeScale all = TimeScale::fitting(model_.span(), place.plot.width());
        TimeScale scale = share > 0 ? all.zoomedAt(700, 1 / share) : all;
        std::vector<double> times;
        for (int i = 0; i < kFrames; ++i) {
            scale = share > 0 ? scale.movedBy(i % 80 < 40 ? 37 : -37) : all.zoomedAt(900 + i % 13, std::pow(10, 6.0 * i / kFrames));
            const Stopwatch timer;
            QPainter device(&image);
            painter.paint(device, model_, scale, rows, place, {});
            device.end();
            times.push_back(timer.milliseconds());
        }
        std::sort(times.begin(), times.end());
        const double p5 = times[kFrames / 20], p95 = times[kFrames * 19 / 20];
        qInfo("%s of the run shown: a frame takes p5 %.2f ms, p95 %.2f ms", QTest::currentDataTag(), p5, p95);
        QVERIFY2(p95 < 1000.0 / 30, "less than 30 frames per second");
    }

    void totals() {
        for (const double share : {1.0, 0.1, 0.001}) {
            const Stopwatch all;
            AreaSum sum(model_, {0, static_cast<int>(model_.tracks().size()) - 1, {0, model_.span().end * share}});
            double longest = 0;
            for (bool more = true; more;) {
                const Stopwatch step;
                more = sum.step(50'000);
                longest = std::max(longest, step.milliseconds());
            }
            const Stopwatch last;
            const AreaTotals sums = sum.totals();
            qInfo("an area of %lld slices is summed up in %.1f ms, at most %.1f ms of them at once", static_cast<long long>(sums.slices), all.milliseconds(),
                  std::max(longest, last.milliseconds()));
            QVERIFY(std::max(longest, last.milliseconds()) < 50);
        }
    }
};

QTEST_MAIN(BenchTimeline)
#include "bench_timeline.moc"
