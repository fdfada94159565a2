// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/timeline/sweep_panel.h"
#include <QAction>
#include <QApplication>
#include <QHeaderView>
#include <QPointer>
#include <QSignalSpy>
#include <QTest>

using namespace tunesmith;

namespace {

SweepEntry entry(const char* key, const QStringList& values, double after, const char* subject = "") {
    SweepEntry made;
    made.key = QLatin1String(key);
    made.subject = QLatin1String(subject);
    made.values = values;
    made.afterMs = after;
    made.beforeMs = 2;
    made.state = std::isnan(after) ? TimelineJob::State::waiting : TimelineJob::State::done;
    return made;
}

QStringList column(const SweepPanel& panel, int place) {
    QStringList texts;
    const QAbstractItemModel* model = panel.table()->model();
    for (int row = 0; row < model->rowCount(); ++row)
        texts << model->index(row, place).data().toString();
    return texts;
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

} // namespace

// The table of a sweep.
class TstSweepPanel : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void theFastestOfEachSubjectIsMarked() {
        QVector<SweepEntry> entries{entry("a", {}, 1.5, "x"), entry("b", {}, 1.0, "x"), entry("c", {}, 1.0, "x"), entry("d", {}, 0.5, "y"), entry("e", {}, kNone, "y"), entry("f", {}, kNone, "z")};
        entries[4].best = true;
        markBest(entries);
        for (const SweepEntry& one : entries)
            QCOMPARE(one.best, one.key == QStringLiteral("b")); // "d" has no rival
        QVector<SweepEntry> none;
        markBest(none);
    }

    void columnsAreComparedAsWhatTheyAre() {
        SweepPanel panel;
        panel.setSweep(QStringLiteral("s"), {QStringLiteral("trials"), QStringLiteral("strategy")},
            {entry("a", {QStringLiteral("64"), QStringLiteral("random")}, 1), entry("b", {QStringLiteral("8"), QStringLiteral("grid")}, kNone), entry("c", {QStringLiteral("128"), QStringLiteral("64")}, 0.5)});
        PlainTable* table = panel.table();
        table->sortByColumn(0, Qt::AscendingOrder);
        QCOMPARE(column(panel, 0), (QStringList{QStringLiteral("8"), QStringLiteral("64"), QStringLiteral("128")}));
        table->sortByColumn(1, Qt::AscendingOrder);
        QCOMPARE(column(panel, 1), (QStringList{QStringLiteral("64"), QStringLiteral("grid"), QStringLiteral("random")}));
        const int after = table->model()->columnCount() - 2;
        QCOMPARE(column(panel, after).filter(QStringLiteral("★")).size(), 1);
        QCOMPARE(column(panel, after + 1).filter(QStringLiteral("4")).size(), 1); // 2 ms to 0.5 ms
        QVERIFY(panel.title().contains(QStringLiteral("2 of 3")));
        table->setCurrentKey(QStringLiteral("a"));
        panel.setEntries({entry("a", {QStringLiteral("64"), QStringLiteral("random")}, 1), entry("b", {QStringLiteral("8"), QStringLiteral("grid")}, 3), entry("c", {QStringLiteral("128"), QStringLiteral("64")}, 0.5)});
        QCOMPARE(table->currentKey().toString(), QStringLiteral("a"));
        QVERIFY(panel.title().contains(QStringLiteral("3 of 3")) && !panel.action(QStringLiteral("resumeSweep"))->isEnabled());
    }

    void whatIsWishedAndWhen() {
        SweepPanel panel;
        QVERIFY(!panel.action(QStringLiteral("exportSweep"))->isEnabled() && !panel.action(QStringLiteral("resumeSweep"))->isEnabled());
        SweepEntry failed = entry("a", {QStringLiteral("<b>x\ny</b>")}, kNone);
        failed.state = TimelineJob::State::failed;
        failed.problem = QStringLiteral("no <i>room</i>");
        panel.setSweep(QStringLiteral("s"), {QStringLiteral("model")}, {failed, entry("b", {}, kNone)}); // and one that lacks its value
        QCOMPARE(column(panel, 0), (QStringList{QStringLiteral("<b>x y</b>"), QString()}));
        QVERIFY(panel.title().contains(QStringLiteral("failed: 1")));
        QSignalSpy resumed(&panel, &SweepPanel::resumeRequested), exported(&panel, &SweepPanel::exportRequested);
        panel.action(QStringLiteral("exportSweep"))->trigger();
        panel.setRunning(true);
        panel.action(QStringLiteral("resumeSweep"))->trigger(); // not while it runs
        panel.setRunning(false);
        panel.action(QStringLiteral("resumeSweep"))->trigger();
        QVERIFY(exported.count() == 1 && resumed.count() == 1);
        const QPointer<PlainTable> table = panel.table();
        table->sortByColumn(1, Qt::DescendingOrder);
        panel.setSweep(QStringLiteral("t"), {}, {}); // another one, of nothing
        QVERIFY(table && table == panel.table()); // its menu may be open
        QVERIFY(table->horizontalHeader()->sortIndicatorSection() < 0 && table->horizontalHeader()->sectionResizeMode(0) == QHeaderView::Stretch);
        QVERIFY(panel.entries().isEmpty() && !panel.action(QStringLiteral("exportSweep"))->isEnabled());
    }
};

QTEST_MAIN(TstSweepPanel)
#include "tst_sweep_panel.moc"
