// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/gallery_timeline.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/base/theme.h"
#include "widgets/timeline/timeline_totals.h"
#include "widgets/timeline/timeline_view.h"
#include <QAccessible>
#include <QHelpEvent>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>

using namespace tunesmith;
using Kind = TimelineSlice::Kind;

namespace {

TimelineJob job(const QString& name, int color) {
    TimelineJob made;
    made.key = color;
    made.name = name;
    made.color = color;
    return made;
}

// Two cores and the slot for measurements; mnist measures while resnet18 waits for the slot.
void fill(TimelineView& view) {
    view.setTracks({{"core 0", "core"}, {"core 1", "core"}, {"profile", "profile"}});
    view.setJobs({job("resnet18", 0), job("mnist", 1)});
    view.addSlices({{0, Kind::build, {1}, 0, 0, 2, 2}, {1, Kind::profile, {0, 2}, 0, 0, 6, 5}, {0, Kind::profile, {1, 2}, 2, 6, 9, 4}, {1, Kind::update, {0}, 6, 6, 10, 0}});
}

std::unique_ptr<TimelineView> shownView() {
    auto view = std::make_unique<TimelineView>();
    view->resize(900, 260);
    fill(*view);
    view->show();
    view->activateWindow();
    view->setFocus();
    if (!QTest::qWaitForWindowActive(view.get()))
        qFatal("the window does not become active");
    return view;
}

QImage pictureOf(TimelineView& view) {
    return view.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

int pixels(const QImage& image, const QColor& color) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
        count += static_cast<int>(std::count(line, line + image.width(), color.rgb()));
    }
    return count;
}

void wheel(TimelineView& view, QPointF at, int turned, Qt::KeyboardModifiers modifiers = {}) {
    QWheelEvent event(at, view.viewport()->mapToGlobal(at), {}, {0, turned}, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
    QApplication::sendEvent(view.viewport(), &event);
}

void drag(TimelineView& view, QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(view.viewport(), Qt::LeftButton, modifiers, from);
    for (int i = 1; i <= 4; ++i) {
        const QPointF at = from + (to - from) * i / 4;
        QMouseEvent move(QEvent::MouseMove, at, view.viewport()->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, modifiers);
        QApplication::sendEvent(view.viewport(), &move);
    }
    QTest::mouseRelease(view.viewport(), Qt::LeftButton, modifiers, to);
}

} // namespace

class TimelineViewTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        QuietTest::start();
        Theme::instance().setMode(Theme::Mode::light);
    }
    void cleanup() { QuietTest::finish(); }

    void emptyViewsAreDrawn() {
        TimelineView view;
        QVERIFY(!view.grab().isNull());
        view.resize(1, 1);
        QVERIFY(!view.grab().isNull());
        view.resize(600, 200);
        view.setTracks({{"core 0", "core"}});
        for (const int key : {Qt::Key_Left, Qt::Key_Up, Qt::Key_Home, Qt::Key_W, Qt::Key_S, Qt::Key_F, Qt::Key_Return, Qt::Key_Escape})
            QTest::keyClick(&view, static_cast<Qt::Key>(key));
        QCOMPARE(view.selected(), -1);
        QVERIFY(view.textAt({300, 60}).isEmpty());
        view.select(5);
        view.select(-7);
        QCOMPARE(view.selected(), -1);
        QVERIFY(!view.grab().isNull());
    }

    void coloursTellJobs() {
        for (const auto mode : {Theme::Mode::light, Theme::Mode::dark}) {
            Theme::instance().setMode(mode);
            const auto view = shownView();
            const QImage image = pictureOf(*view);
            const auto fillOf = [&](int j, Kind kind) { return TimelinePainter::fillOf(view->model().jobs()[j], kind); };
            QVERIFY(pixels(image, fillOf(0, Kind::profile)) > 1000);
            QVERIFY(pixels(image, fillOf(1, Kind::profile)) > 1000);
            QVERIFY(pixels(image, fillOf(0, Kind::build)) > 500);
            QVERIFY(pixels(image, fillOf(1, Kind::update)) > 500);
            QVERIFY(pixels(image, Theme::instance().color(Theme::Role::surface)) > 5000); // idle
            view->select(1);
            QVERIFY(pixels(pictureOf(*view), fillOf(0, Kind::profile)) < pixels(image, fillOf(0, Kind::profile)) / 4); // the other job steps back
        }
    }

    void expectedTimesAreOutlined() {
        const auto view = shownView();
        const QImage with = pictureOf(*view);
        QTest::keyClick(view.get(), Qt::Key_E);
        QVERIFY(!view->showsExpected());
        QVERIFY(with != pictureOf(*view));
    }

    void keysZoomAndPan() {
        const auto view = shownView();
        const double all = view->scale().shown().length();
        QTest::keyClick(view.get(), Qt::Key_W);
        QTest::keyClick(view.get(), Qt::Key_W);
        const TimeSpan close = view->scale().shown();
        QVERIFY(close.length() < all * 0.6);
        QTest::keyClick(view.get(), Qt::Key_A);
        QVERIFY(view->scale().shown().begin < close.begin);
        QTest::keyClick(view.get(), Qt::Key_D);
        QVERIFY(std::abs(view->scale().shown().begin - close.begin) < 1e-9);
        for (int i = 0; i < 10; ++i)
            QTest::keyClick(view.get(), Qt::Key_S);
        QCOMPARE(view->scale().shown().length(), all); // no farther than everything
        for (int i = 0; i < 100; ++i)
            QTest::keyClick(view.get(), Qt::Key_D);
        QVERIFY(view->scale().shown().begin < 10);
    }

    void theWheelZoomsAtTheCursor() {
        const auto view = shownView();
        const QPointF at(500, 80);
        const double left = view->sliceRect(0).left() - view->scale().toX(0), time = view->scale().toTime(500 - left), before = view->scale().shown().length();
        wheel(*view, at, 480);
        QVERIFY(view->scale().shown().length() < before * 0.7);
        QVERIFY(std::abs(view->scale().toX(time) - (500 - left)) < 1e-6);
        const double begin = view->scale().shown().begin;
        wheel(*view, at, -120, Qt::ShiftModifier);
        QVERIFY(view->scale().shown().begin > begin);
    }

    void draggingPans() {
        const auto view = shownView();
        view->setScale(view->scale().zoomedAt(300, 4));
        const TimeSpan before = view->scale().shown();
        drag(*view, {600, 60}, {500, 60});
        QVERIFY(view->scale().shown().begin > before.begin);
        QCOMPARE(view->selected(), -1);
    }

    void arrowsWalkFromSliceToSlice() {
        const auto view = shownView();
        QSignalSpy chosen(view.get(), &TimelineView::selectionChanged);
        QTest::keyClick(view.get(), Qt::Key_Home);
        QCOMPARE(view->selected(), 1);
        QTest::keyClick(view.get(), Qt::Key_Right);
        QCOMPARE(view->selected(), 3);
        QTest::keyClick(view.get(), Qt::Key_Right);
        QCOMPARE(view->selected(), 3); // the last
        QTest::keyClick(view.get(), Qt::Key_Down);
        QCOMPARE(view->selected(), 2);
        QTest::keyClick(view.get(), Qt::Key_Left);
        QCOMPARE(view->selected(), 0);
        QTest::keyClick(view.get(), Qt::Key_End);
        QCOMPARE(view->selected(), 2);
        QTest::keyClick(view.get(), Qt::Key_Down);
        QCOMPARE(view->selected(), 2); // on both tracks
        QTest::keyClick(view.get(), Qt::Key_Left);
        QCOMPARE(view->selected(), 1); // on the track of the slot
        QCOMPARE(chosen.count(), 6);
        QTest::keyClick(view.get(), Qt::Key_Return);
        QCOMPARE(view->area().span, (TimeSpan{0, 6}));
        QTest::keyClick(view.get(), Qt::Key_Escape);
        QTest::keyClick(view.get(), Qt::Key_Escape);
        QVERIFY(view->selected() == -1 && view->area().empty());
    }

    void clicksSelect() {
        const auto view = shownView();
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->sliceRect(0).center().toPoint());
        QCOMPARE(view->selected(), 0);
        const QRectF second = view->sliceRect(2);
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, QPoint(static_cast<int>(second.left()) - 40, static_cast<int>(second.center().y())));
        QCOMPARE(view->selected(), -1); // idle
        QTest::keyClick(view.get(), Qt::Key_F);
        QTest::mouseDClick(view->viewport(), Qt::LeftButton, {}, view->sliceRect(0).center().toPoint());
        view->select(0);
        QTest::keyClick(view.get(), Qt::Key_F);
        QVERIFY(view->scale().shown().length() < 3);
        QTest::keyClick(view.get(), Qt::Key_F, Qt::ShiftModifier);
        QVERIFY(view->scale().shown().length() > 10);
    }

    void selectingBringsIntoView() {
        const auto view = shownView();
        view->setScale(TimeScale::fitting({0, 1}, 500));
        view->select(3);
        const TimeSpan shown = view->scale().shown();
        QVERIFY(shown.end > 6 && shown.begin < 10);
        view->select(0, false);
        QCOMPARE(view->scale().shown(), shown);
    }

    void tipsSayWhatItIs() {
        const auto view = shownView();
        const QString text = view->textAt(view->sliceRect(2).center());
        for (const char* part : {"resnet18 · profile", "core 1, profile", "took 3.00 s, expected 4.00 s (25 % shorter)", "waited 4.00 s", "from 6.00 s to 9.00 s"})
            QVERIFY2(text.contains(QString::fromUtf8(part)), qPrintable(text));
        const QPointF gap(view->sliceRect(2).left() - 30, view->sliceRect(2).center().y());
        QCOMPARE(view->textAt(gap), QString("core 1 was idle for 4.00 s: resnet18 was waiting for profile, held by mnist"));
        QVERIFY(view->textAt({2, 2}).isEmpty());
        QHelpEvent ask(QEvent::ToolTip, gap.toPoint(), view->viewport()->mapToGlobal(gap.toPoint()));
        QApplication::sendEvent(view->viewport(), &ask);
        QVERIFY(QToolTip::text().contains("held by mnist"));
        QToolTip::hideText();
    }

    void areasAreSummedUp() {
        const auto view = shownView();
        TimelineTotals totals;
        totals.watch(view.get());
        QVERIFY(totals.title().contains("Drag with Shift") && totals.stages().isEmpty());
        const double left = view->sliceRect(0).left(), middle = view->sliceRect(2).left();
        drag(*view, QPoint(static_cast<int>(left) - 10, static_cast<int>(view->sliceRect(1).center().y())), QPoint(static_cast<int>(middle), static_cast<int>(view->sliceRect(2).center().y())),
             Qt::ShiftModifier);
        QVERIFY(view->area().firstTrack == 0 && view->area().lastTrack == 1);
        QVERIFY(std::abs(view->area().span.end - 6) < 0.1 && view->area().span.begin == 0);
        QTRY_COMPARE(totals.tracks().size(), 2);
        QVERIFY2(totals.title().contains("2 tracks"), qPrintable(totals.title()));
        QCOMPARE(totals.stages().first().job, QString("resnet18"));
        QVERIFY(std::any_of(totals.idle().begin(), totals.idle().end(), [](const IdleTotalRow& row) { return row.key.contains("held by mnist"); }));
        QTest::keyClick(view.get(), Qt::Key_A, Qt::ControlModifier);
        QTRY_COMPARE(totals.tracks().size(), 3);
        const QImage picture = pictureOf(*view);
        view->setArea({0, 99, {0, 1}}); // tracks that there are not
        QVERIFY(view->area().empty() && picture != pictureOf(*view));
        QTRY_VERIFY(totals.tracks().isEmpty());
        view->setArea({0, 2, {0, 1}});
        view->setTracks({{"gpu", "gpu"}}); // while the area may be looked at
        QTRY_VERIFY(totals.tracks().isEmpty());
        QVERIFY(!totals.grab().isNull());
    }

    void whatComesIsShown() {
        const auto view = shownView();
        view->setLive(TimelineView::Live::here);
        view->setNow(20);
        QTRY_VERIFY(view->scale().shown().end > 20);
        const QRectF last = view->sliceRect(2);
        const QPointF behind(last.right() + 60, last.center().y());
        QVERIFY(view->textAt(behind).startsWith("Nothing runs on core 1"));
        QVERIFY(view->textAt(behind).endsWith("nothing was ready for it"));
        view->setRunning({{1, Kind::profile, {0, 2}, 9, 9, 0, 4}});
        view->setWaiting({{0, Kind::profile, {{"core", 1}, {"profile", 1}}, {}, 9.5}, {9, Kind::build, {{"core", 1}}, {}, 9}});
        QCOMPARE(view->textAt(behind), QString("Nothing runs on core 1, for 11.0 s now: resnet18 was waiting for profile, held by mnist"));
        view->setWaiting({{0, Kind::build, {{"core", 1}}, "memory", 9}});
        QVERIFY(view->textAt(behind).endsWith("resnet18 was waiting for memory"));
        view->setRunning({{1, Kind::profile, {1, 2}, 19, 19.9, 0, 4}}); // behind the gap
        QCOMPARE(view->textAt(behind), QString("core 1 was idle for 10.9 s: resnet18 was waiting for memory"));
        view->setRunning({});
        view->setWaiting({});
        const QImage before = pictureOf(*view);
        view->setRunning({{1, Kind::profile, {1, 2}, 9, 9.5, 0, 4}, {9, Kind::build, {0}, 9, 10, 0, 0}, {0, Kind::build, {77}, 9, 10, 0, 0}});
        QVERIFY(pictureOf(*view) != before);
        QCOMPARE(view->textAt(behind), QString("mnist · profile\nruns for 10.5 s, expected 4.00 s"));
        view->setRunning({});
        QCOMPARE(view->addSlices({{0, Kind::build, {0}, 20, 20, 40, 0}, {7, Kind::build, {0}, 0, 1, 2, 0}}), 1);
        QTRY_VERIFY(view->scale().shown().end > 40);
        view->setScale(view->scale().zoomedAt(0, 8)); // somewhere early
        QTest::keyClick(view.get(), Qt::Key_A);
        QVERIFY(!view->follows());
        const TimeSpan elsewhere = view->scale().shown();
        view->setNow(80);
        QTest::qWait(80);
        QCOMPARE(view->scale().shown(), elsewhere);
        QTest::keyClick(view.get(), Qt::Key_L);
        QVERIFY(view->follows());
        QVERIFY(view->scale().shown().end >= 80 && view->scale().shown().begin > elsewhere.begin);
        view->setLive(TimelineView::Live::no);
        QVERIFY(!view->action("follow")->isEnabled());
    }

    void manyTracksScroll() {
        TimelineView view;
        view.resize(600, 200);
        const SampleTimeline sample = sampleTimeline(64, 6, 3000);
        view.setTracks(sample.tracks);
        view.setJobs(sample.jobs);
        QCOMPARE(view.addSlices(sample.slices), 0);
        view.show();
        QVERIFY(view.verticalScrollBar()->maximum() > 500);
        int last = -1;
        for (int i = 0; i < view.model().size(); ++i)
            if (view.model().slice(i).tracks.contains(64))
                last = i;
        view.select(last);
        QTest::keyClick(&view, Qt::Key_End);
        QVERIFY(!view.grab().isNull());
        QTest::keyClick(&view, Qt::Key_PageDown);
        QVERIFY(view.verticalScrollBar()->value() > 0);
        wheel(view, {300, 100}, -2400, Qt::ControlModifier);
        QCOMPARE(view.verticalScrollBar()->value(), view.verticalScrollBar()->maximum());
    }

    void extremesAreDrawn() {
        const auto view = shownView();
        view->addSlices({{0, Kind::other, {0}, 1e9, 1e9, 1e9, 1e300}, {1, Kind::profile, {1}, -50, 2e9, 2e9 + 1e-3, 1e-9}});
        view->setJobs({job(QString("<b>long</b>\n").repeated(100000), 0), job("", 5000)});
        for (int slice = 0; slice < view->model().size(); ++slice) {
            view->select(slice);
            for (int i = 0; i < 60; ++i) {
                QTest::keyClick(view.get(), Qt::Key_W);
                if (i % 20 == 0)
                    QVERIFY(!view->grab().isNull());
            }
            QTest::keyClick(view.get(), Qt::Key_F);
            QVERIFY(!view->grab().isNull());
        }
        QFont large = view->font();
        large.setPointSizeF(40);
        view->setFont(large);
        QVERIFY(!view->grab().isNull());
        QVERIFY(view->sliceText(0).size() < 1000);
        view->setScale(TimeScale::fitting({std::numeric_limits<double>::quiet_NaN(), 1}, 100));
        QVERIFY(std::isfinite(view->scale().shown().end));
    }

    void screenReadersReadIt() {
        const auto view = shownView();
        view->select(2);
        QAccessibleInterface* reader = QAccessible::queryAccessibleInterface(view.get());
        QVERIFY(reader);
        QCOMPARE(reader->text(QAccessible::Name), QString("Timeline"));
        QVERIFY(reader->text(QAccessible::Value).startsWith("resnet18 · profile, core 1"));
        QVERIFY(reader->text(QAccessible::Description).contains("Slices: 4"));
        view->select(-1);
        QCOMPARE(reader->text(QAccessible::Value), QString("No slice selected"));
    }
};

QTEST_MAIN(TimelineViewTest)
#include "tst_timeline_view.moc"
