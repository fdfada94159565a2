// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/tune/space_geometry.h"
#include <cmath>

using namespace tunesmith;

namespace {

using Direction = SpaceLayout::Direction;

SpaceKnob knob(const QString& name, int values) {
    SpaceKnob made{name, {}};
    for (int i = 0; i < values; ++i)
        made.values.push_back({QString::number(i), 0, kUnknown});
    return made;
}

// Two parts: rows of 3 and 40 cells, then one without any and one of 2.
SpaceMap twoWays() {
    return {{{"direct", 120, 3, 2.0, {knob("tile", 3), knob("unroll", 40)}}, {"winograd2", 6, 0, kUnknown, {knob("none", 0), knob("block", 2)}}},
            5, 1, 0};
}

SpaceLayout layoutOf(const SpaceMap& map, double width = 400) {
    return SpaceLayout(map, {width, 16, [](const QString& text) { return 7.0 * static_cast<double>(text.size()); }});
}

} // namespace

class SpaceGeometryTest : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void sums() {
        SpaceMap map = twoWays();
        QCOMPARE(map.configs(), 126.0);
        QCOMPARE(map.tried(), 3);
        QCOMPARE(map.bestMs(), 2.0);
        map.parts[1].bestMs = 1.5;
        QCOMPARE(map.bestMs(), 1.5);
        QVERIFY(std::isnan(SpaceMap().bestMs()));
    }

    void shades_data() {
        QTest::addColumn<double>("ms");
        QTest::addColumn<double>("best");
        QTest::addColumn<double>("expected");
        QTest::newRow("the best") << 2.0 << 2.0 << 1.0;
        QTest::newRow("twice") << 4.0 << 2.0 << 0.5;
        QTest::newRow("slowest") << 8.0 << 2.0 << 0.0;
        QTest::newRow("slower than that") << 800.0 << 2.0 << 0.0;
        QTest::newRow("faster than the best") << 1.0 << 2.0 << 1.0;
        QTest::newRow("no time") << kUnknown << 2.0 << kUnknown;
        QTest::newRow("no best") << 2.0 << kUnknown << kUnknown;
        QTest::newRow("zero") << 0.0 << 2.0 << kUnknown;
        QTest::newRow("endless") << double(INFINITY) << 2.0 << kUnknown;
    }
    void shades() {
        QFETCH(double, ms);
        QFETCH(double, best);
        QFETCH(double, expected);
        const double shade = shadeOf(ms, best);
        QVERIFY2(std::isnan(expected) ? std::isnan(shade) : std::abs(shade - expected) < 1e-12, qPrintable(QString::number(shade)));
    }

    void rowsFollowOneAnother() {
        const SpaceLayout layout = layoutOf(twoWays());
        QCOMPARE(layout.headers().size(), 2);
        QCOMPARE(layout.rows().size(), 4);
        double bottom = 0;
        for (const SpaceLayout::Row& row : layout.rows()) {
            QVERIFY(row.rect.top() >= bottom);
            bottom = row.rect.bottom();
        }
        QVERIFY(layout.height() >= bottom);
        QVERIFY(layout.headers()[1].rect.top() >= layout.rows()[1].rect.bottom());
        QVERIFY(layout.headers()[1].rect.bottom() <= layout.rows()[2].rect.top());
    }

    void cellsStayInTheirRow_data() {
        QTest::addColumn<double>("width");
        for (const double width : {2000.0, 400.0, 150.0})
            QTest::addRow("%d pixels", static_cast<int>(width)) << width;
    }
    void cellsStayInTheirRow() {
        QFETCH(double, width);
        const SpaceLayout layout = layoutOf(twoWays(), width);
        for (int i = 0; i < layout.rows().size(); ++i) {
            const SpaceLayout::Row& row = layout.rows()[i];
            for (int value = 0; value < row.cells; ++value) {
                const QRectF rect = layout.cellRect({i, value});
                QVERIFY(row.rect.adjusted(0, 0, 0.5, 0.5).contains(rect));
                QVERIFY(rect.left() >= row.label.right());
                QCOMPARE(layout.cellAt(rect.center()), (SpaceCell{i, value}));
                if (value > 0)
                    QVERIFY(!rect.intersects(layout.cellRect({i, value - 1})));
            }
        }
    }

    void betweenCellsIsNothing() {
        const SpaceLayout layout = layoutOf(twoWays());
        const QRectF first = layout.cellRect({0, 0});
        QVERIFY(!layout.cellAt(first.topRight() + QPointF(1.5, 5)).valid());
        QVERIFY(!layout.cellAt(layout.rows()[0].label.center()).valid());
        QVERIFY(!layout.cellAt(layout.headers()[0].rect.center()).valid());
        QVERIFY(!layout.cellAt({-5, -5}).valid() && !layout.cellAt({9999, 9999}).valid());
        QVERIFY(!layout.cellAt(layout.cellRect({0, 2}).center() + QPointF(40, 0)).valid()); // behind the last
    }

    void arrowsReachEveryCell() {
        const SpaceLayout layout = layoutOf(twoWays());
        QVERIFY(layout.rows()[1].perLine < 40);
        const SpaceCell first = layout.step({}, Direction::down);
        QCOMPARE(first, (SpaceCell{0, 0}));
        QCOMPARE(layout.step(first, Direction::left), first);
        QCOMPARE(layout.step(first, Direction::up), first);
        QCOMPARE(layout.step(first, Direction::right), (SpaceCell{0, 1}));
        QCOMPARE(layout.step(first, Direction::last), (SpaceCell{0, 2}));
        QCOMPARE(layout.step({0, 2}, Direction::right), (SpaceCell{0, 2}));
        QCOMPARE(layout.step({1, 30}, Direction::first), (SpaceCell{1, 0}));
        const int perLine = layout.rows()[1].perLine;
        QCOMPARE(layout.step({1, 0}, Direction::down), (SpaceCell{1, perLine})); // its second line
        QCOMPARE(layout.step({1, perLine}, Direction::up), (SpaceCell{1, 0}));
        QCOMPARE(layout.step({1, 39}, Direction::down).row, 3); // past the row without cells
        QCOMPARE(layout.step({3, 0}, Direction::up).row, 1);
        QVERIFY(layout.step({3, 0}, Direction::up).value >= 39 / perLine * perLine); // its last line
        QCOMPARE(layout.step({3, 1}, Direction::down), (SpaceCell{3, 1}));
    }

    void aCellThatIsGoneIsReplaced() {
        const SpaceLayout layout = layoutOf(twoWays());
        QCOMPARE(layout.nearest({0, 99}), (SpaceCell{0, 2}));
        QCOMPARE(layout.nearest({99, 0}), (SpaceCell{0, 0}));
        QCOMPARE(layout.nearest({2, 0}), (SpaceCell{0, 0})); // a row without cells
        const SpaceLayout none = layoutOf({});
        QVERIFY(!none.nearest({0, 0}).valid() && !none.step({}, Direction::down).valid());
        QCOMPARE(none.height(), 0.0);
    }

    void onlyWhatIsSeenIsVisited() {
        const SpaceLayout layout = layoutOf({{{"large", 1e5, 0, kUnknown, {knob("a", 3), knob("b", 100000)}}}, 0, 0, 0});
        const SpaceLayout::Row& large = layout.rows()[1];
        const double middle = large.rect.center().y();
        const auto rows = layout.rowsIn(middle, middle + 200);
        QCOMPARE(rows, (QPair<int, int>{1, 2}));
        const auto [from, to] = layout.cellsIn(1, middle, middle + 200);
        QVERIFY(from > 1000 && to > from && to - from < 20 * large.perLine);
        QVERIFY(layout.cellRect({1, from}).top() <= middle && layout.cellRect({1, to - 1}).bottom() >= middle + 190);
        QCOMPARE(layout.cellsIn(1, -1e9, 1e9), (QPair<int, int>{0, 100000}));
        QCOMPARE(layout.cellsIn(1, -50, -10).second, 0);
    }

    void longTextsAreNoReasonToGrow() {
        SpaceMap map = twoWays();
        map.parts[0].knobs[0].name = QString("n").repeated(1000);
        map.parts[0].knobs[0].values[0].text = QString("v").repeated(1000);
        const SpaceLayout layout = layoutOf(map, 300);
        QVERIFY(layout.rows()[0].label.right() < 150);
        QVERIFY(layout.cellRect({0, 0}).right() <= 300);
    }
};

QTEST_MAIN(SpaceGeometryTest)
#include "tst_space_geometry.moc"
