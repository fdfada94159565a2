// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/base/theme.h"
#include "widgets/tune/space_view.h"
#include <QHelpEvent>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolTip>

using namespace tunesmith;

namespace {

// The best of all is 2 ms with tile 4; unroll 1 always failed; winograd2 was not tried.
SpaceMap sample() {
    const SpaceKnob tile{"tile", {{"2", 1, 8.0}, {"4", 4, 2.0}, {"8", 0, kUnknown}}};
    const SpaceKnob unroll{"unroll", {{"0", 3, 2.0}, {"1", 2, kUnknown}}};
    return {{{"direct", 6, 4, 2.0, {tile, unroll}}, {"winograd2", 3, 0, kUnknown, {{"tile", {{"2", 0, kUnknown}}}}}}, 5, 2, 0};
}

int pixels(const QImage& image, const QColor& color) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            count += image.pixelColor(x, y).rgb() == color.rgb();
    return count;
}

} // namespace

class SpaceViewTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        QuietTest::start();
        Theme::instance().setMode(Theme::Mode::light);
    }
    void cleanup() { QuietTest::finish(); }

    void saysHowMuchWasTried_data() {
        QTest::addColumn<qint64>("trials");
        QTest::addColumn<qint64>("foreign");
        QTest::addColumn<bool>("parts");
        QTest::addColumn<QString>("expected");
        QTest::newRow("some") << qint64(5) << qint64(0) << true << "4 of 9 configs were tried; trials: 5, failed: 2";
        QTest::newRow("of another space") << qint64(7) << qint64(2) << true << "not shown: 2";
        QTest::newRow("no space") << qint64(0) << qint64(0) << false << "no configuration space";
    }
    void saysHowMuchWasTried() {
        QFETCH(qint64, trials);
        QFETCH(qint64, foreign);
        QFETCH(bool, parts);
        QFETCH(QString, expected);
        SpaceMap map = sample();
        map.trials = trials;
        map.foreign = foreign;
        if (!parts)
            map.parts.clear();
        SpaceView view;
        view.showMap(map);
        QVERIFY2(view.title().contains(expected), qPrintable(view.title()));
        QCOMPARE(view.accessibleDescription(), view.title());
        QCOMPARE(view.grid()->isVisibleTo(&view), parts);
    }

    void nothingTried() {
        SpaceMap map = sample();
        map.parts.removeFirst();
        map.trials = map.failed = 0;
        SpaceView view;
        view.showMap(map);
        QCOMPARE(view.title(), QString("None of 3 configs was tried"));
        view.showMessage("Choose a workload");
        QVERIFY(!view.grid()->isVisibleTo(&view) && view.grid()->map().parts.isEmpty());
        QCOMPARE(view.accessibleDescription(), QString("Choose a workload"));
    }

    void cellsSayWhatTheyMean_data() {
        QTest::addColumn<int>("row");
        QTest::addColumn<int>("value");
        QTest::addColumn<QString>("expected");
        QTest::newRow("slow") << 0 << 0 << "tile = 2 of direct: tries: 1, best time 8.00 ms, 4.00 times the best of all";
        QTest::newRow("best") << 0 << 1 << "tile = 4 of direct: tries: 4, best time 2.00 ms, the best of all";
        QTest::newRow("untried") << 0 << 2 << "tile = 8 of direct: never tried";
        QTest::newRow("failed") << 1 << 1 << "unroll = 1 of direct: tries: 2, all of them failed";
        QTest::newRow("other part") << 2 << 0 << "tile = 2 of winograd2: never tried";
        QTest::newRow("none") << -1 << -1 << "";
    }
    void cellsSayWhatTheyMean() {
        QFETCH(int, row);
        QFETCH(int, value);
        QFETCH(QString, expected);
        SpaceGrid grid;
        grid.setMap(sample());
        QCOMPARE(grid.cellText({row, value}), expected);
    }

    void keysMoveTheCurrentCell() {
        SpaceView view;
        view.resize(500, 300);
        view.showMap(sample());
        view.show();
        SpaceGrid* grid = view.grid();
        QSignalSpy moved(grid, &SpaceGrid::currentChanged);
        QVERIFY(!grid->current().valid());
        QTest::keyClick(grid, Qt::Key_Down);
        QCOMPARE(grid->current(), (SpaceCell{0, 0}));
        QTest::keyClick(grid, Qt::Key_Right);
        QVERIFY2(view.detail().startsWith("tile = 4"), qPrintable(view.detail()));
        QCOMPARE(grid->accessibleDescription(), view.detail());
        QTest::keyClick(grid, Qt::Key_End);
        QVERIFY(view.detail().endsWith("never tried"));
        QTest::keyClick(grid, Qt::Key_Down);
        QTest::keyClick(grid, Qt::Key_Down);
        QVERIFY2(view.detail().contains("winograd2"), qPrintable(view.detail()));
        QCOMPARE(moved.count(), 5);
        QTest::keyClick(grid, Qt::Key_Down);
        QCOMPARE(moved.count(), 5); // there is no way
    }

    void theMouseChoosesAndAsks() {
        SpaceGrid grid;
        grid.resize(500, 300);
        grid.setMap(sample());
        grid.show();
        const QPoint at = grid.cells().cellRect({0, 1}).center().toPoint();
        QTest::mousePress(grid.viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(grid.current(), (SpaceCell{0, 1}));
        QTest::mousePress(grid.viewport(), Qt::LeftButton, {}, {1, 1}); // beside the cells
        QCOMPARE(grid.current(), (SpaceCell{0, 1}));
        QHelpEvent ask(QEvent::ToolTip, at, grid.viewport()->mapToGlobal(at));
        QApplication::sendEvent(grid.viewport(), &ask);
        QVERIFY2(QToolTip::text().contains("tile = 4"), qPrintable(QToolTip::text()));
        QToolTip::hideText();
    }

    void theCurrentCellOutlivesNewTrials() {
        SpaceGrid grid;
        SpaceMap map = sample();
        grid.setMap(map);
        grid.setCurrent({1, 1});
        map.parts[0].knobs[1].values[1] = {"1", 3, 2.5};
        QSignalSpy said(&grid, &SpaceGrid::currentChanged);
        grid.setMap(map);
        QCOMPARE(grid.current(), (SpaceCell{1, 1}));
        QVERIFY(said.last()[0].toString().contains("2.50 ms"));
        grid.setMap({});
        QVERIFY(!grid.current().valid());
    }

    void coloursTellTimes() {
        SpaceGrid grid;
        grid.setMap(sample());
        const auto color = [&](int row, int value) { return grid.cellColor(grid.map().parts[0].knobs[row].values[value]); };
        QCOMPARE(color(0, 1), Theme::instance().ramp(1));
        QCOMPARE(color(0, 0), Theme::instance().ramp(0));
        QVERIFY(!color(0, 2).isValid() && !color(1, 1).isValid());
        for (const auto mode : {Theme::Mode::light, Theme::Mode::dark}) {
            Theme::instance().setMode(mode);
            SpaceView view;
            view.resize(500, 320);
            view.showMap(sample());
            const QImage image = view.grab().toImage();
            QVERIFY(pixels(image, Theme::instance().ramp(1)) > 200);
            QVERIFY(pixels(image, Theme::instance().color(Theme::Role::surface)) > 5000);
        }
    }

    void hugeSpacesScroll() {
        SpaceMap map;
        SpaceKnob large{"large", {}};
        for (int i = 0; i < 20000; ++i)
            large.values.push_back({QString::number(i), i % 3, i % 3 ? 1.0 + i : kUnknown});
        map.parts = {{"part", 1e18, 13000, 2.0, {large, large}}};
        SpaceView view;
        view.resize(400, 300);
        view.showMap(map);
        view.show();
        SpaceGrid* grid = view.grid();
        QVERIFY(grid->verticalScrollBar()->maximum() > 10000);
        grid->setCurrent({1, 19999});
        const QRectF rect = grid->cells().cellRect({1, 19999}).translated(0, -grid->verticalScrollBar()->value());
        QVERIFY(QRectF(grid->viewport()->rect()).contains(rect));
        QVERIFY(!view.grab().isNull());
        QFont larger = view.font();
        larger.setPointSizeF(30);
        view.setFont(larger);
        QVERIFY(!view.grab().isNull());
    }
};

QTEST_MAIN(SpaceViewTest)
#include "tst_space_view.moc"
