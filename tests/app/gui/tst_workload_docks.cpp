// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/space_dock.h"
#include "app/gui/strategy_dock.h"
#include "app/gui/tune_page.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/app/gui/window_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/tune/workload_table.h"
#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QSignalSpy>
#include <QTest>

using namespace tunesmith;

namespace {

using Choice = WorkloadReader::Choice;

void raise(TunePage* page, const char* dock) { page->findChild<QDockWidget*>(QLatin1String(dock))->raise(); }

void choose(TunePage* page, const QString& strategy) {
    auto* form = page->findChild<BudgetForm*>();
    BudgetChoice choice = form->choice();
    choice.strategy = strategy;
    form->setChoice(choice);
}

// To its end, and until what is stored is shown.
bool tune(TunePage* page, const QString& strategy) {
    choose(page, strategy);
    QSignalSpy tuned(page, &TunePage::tuned);
    page->start();
    return page->running() && QTest::qWaitFor([&] { return !tuned.isEmpty() && !page->reading(); }, kPatience);
}

} // namespace

// The docks of the Tune page about the chosen workload.
class TstWorkloadDocks : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void readsWhatIsSeenOnce() {
        QVector<QString> read;
        WorkloadReader reader([&read](const Choice& choice) { read.push_back(choice.workload); }, nullptr);
        reader.choose({QStringLiteral("a"), 1, 1});
        QVERIFY(read.isEmpty()); // nobody looks
        reader.setSeen(true);
        reader.setSeen(false);
        reader.setSeen(true);
        reader.choose({QStringLiteral("a"), 1, 1});
        QCOMPARE(read, QVector<QString>{QStringLiteral("a")});
        reader.choose({QStringLiteral("a"), 1, 1}, true); // something was stored
        reader.choose({QStringLiteral("a"), 2, 1});
        QCOMPARE(read.size(), 3);
        reader.setSeen(false);
        reader.choose({});
        QCOMPARE(read.last(), QString()); // what is shown must go in any case
    }

    void growthIsReadNowAndThen() {
        int reads = 0;
        WorkloadReader reader([&reads](const Choice&) { ++reads; }, nullptr);
        reader.choose({QStringLiteral("a"), 1, 1});
        reader.setSeen(true);
        QCOMPARE(reads, 1);
        for (int i = 0; i < 20; ++i) {
            reader.grow();
            QTest::qWait(1);
        }
        QCOMPARE(reads, 1);
        QTRY_COMPARE_WITH_TIMEOUT(reads, 2, 2 * WorkloadReader::kGrowMs);
        reader.grow();
        reader.setSeen(false);
        QTest::qWait(WorkloadReader::kGrowMs + 200);
        QCOMPARE(reads, 2);
        reader.setSeen(true); // what was missed
        QCOMPARE(reads, 3);
    }

    void whatComesTooLateIsDropped() {
        QStringList shown;
        WorkloadReader reader([](const Choice&) {}, nullptr);
        reader.setSeen(true);
        reader.choose({QStringLiteral("a"), 1, 1});
        reader.start(QStringLiteral("slow"), [](const Work&) { return 7; }, [&](int) { shown << QStringLiteral("a"); });
        reader.choose({QStringLiteral("b"), 1, 1});
        QTRY_VERIFY(!reader.job().running());
        QVERIFY(shown.isEmpty());
        reader.start(QStringLiteral("slow"), [](const Work&) { return 7; }, [&](int) { shown << QStringLiteral("b"); });
        QTRY_COMPARE(shown, QStringList{QStringLiteral("b")});
    }

    void strategiesKeepTheirColour() {
        const auto runs = strategyRuns({{1, "random", 3, 1, {{1, 2.0}}}, {2, "from elsewhere", 1, 0, {{1, 1.0}}}, {3, "random", 0, 0, {}}});
        QCOMPARE(runs.size(), 3);
        QVERIFY(runs[0].strategy != QStringLiteral("random")); // its name for people
        QCOMPARE(runs[0].category, runs[2].category);
        QVERIFY(runs[0].category != runs[1].category);
        QCOMPARE(runs[1].strategy, QStringLiteral("from elsewhere"));
        QVERIFY(runs[0].trials == 3 && runs[0].failed == 1 && runs[0].best == QVector<QPointF>({{1, 2}}));
    }

    void showTheChosenWorkload() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 6, 1);
        QVERIFY(page);
        auto* strategies = page->findChild<StrategyDock*>();
        auto* space = page->findChild<SpaceDock*>();
        QVERIFY(strategies->title().startsWith(QStringLiteral("Choose")) && space->title().startsWith(QStringLiteral("Choose")));
        raise(page, "strategies");
        page->selectFirst();
        QTRY_VERIFY2(strategies->title().startsWith(QStringLiteral("No run")), qPrintable(strategies->title()));
        raise(page, "space");
        QTRY_VERIFY2(space->title().startsWith(QStringLiteral("No run")), qPrintable(space->title()));

        QVERIFY(tune(page, QStringLiteral("random")));
        QTRY_VERIFY2(space->title().contains(QStringLiteral("configs were tried; trials: ")), qPrintable(space->title()));
        QVERIFY(!space->grid()->cells().rows().isEmpty() && space->grid()->map().tried() > 0);
        QVERIFY(strategies->title().startsWith(QStringLiteral("No run"))); // nobody looks
        raise(page, "strategies");
        QTRY_VERIFY2(strategies->title().startsWith(QStringLiteral("Only Random")), qPrintable(strategies->title()));

        QVERIFY(tune(page, QStringLiteral("model-guided")));
        QTRY_COMPARE(strategies->lines(), 2);
        QVERIFY2(strategies->accessibleDescription().contains(QStringLiteral("runs: 1")), qPrintable(strategies->accessibleDescription()));
        fixture.window().findChild<QAction*>(QStringLiteral("closeModel"))->trigger();
        QVERIFY(strategies->title().startsWith(QStringLiteral("Choose")) && strategies->lines() == 0);
        QVERIFY(space->title().startsWith(QStringLiteral("Choose")) && space->grid()->map().parts.isEmpty());
    }

    void autotvmsSpaceIsShownInstead() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 3, 1);
        QVERIFY(page);
        auto* form = page->findChild<BudgetForm*>();
        BudgetChoice choice = form->choice();
        QCOMPARE(choice.space, QStringLiteral("tunesmith"));
        choice.space = QStringLiteral("autotvm");
        form->setChoice(choice);
        QCOMPARE(form->choice().space, QStringLiteral("autotvm"));
        const auto* table = page->findChild<WorkloadTable*>();
        const int rows = table->model()->rowCount();
        QVERIFY(tune(page, QStringLiteral("random")));
        QCOMPARE(table->model()->rowCount(), rows); // those of our own space are gone, not added to
        const auto* runs = page->findChild<QComboBox*>(QStringLiteral("runs"));
        QVERIFY2(runs->currentText().contains(QStringLiteral("AutoTVM")), qPrintable(runs->currentText()));
        raise(page, "space");
        page->selectFirst();
        const auto* space = page->findChild<SpaceDock*>();
        QTRY_VERIFY2(space->title().contains(QStringLiteral("configs were tried")), qPrintable(space->title()));
        QVERIFY(space->grid()->map().tried() > 0);
    }

    void aRunningSearchGrows() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 1000, 1, QStringLiteral("encoder"));
        QVERIFY(page);
        page->selectFirst();
        raise(page, "space");
        page->start();
        auto* space = page->findChild<SpaceDock*>();
        QTRY_VERIFY_WITH_TIMEOUT(space->grid()->map().trials > 0, kPatience);
        const qint64 before = space->grid()->map().trials;
        QTRY_VERIFY_WITH_TIMEOUT(space->grid()->map().trials > before, kPatience);
        QVERIFY(page->running());
        page->stop();
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kPatience);
    }

    void aBrokenStoreIsSaid() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 2, 1);
        QVERIFY(page);
        QFile store(fixture.store());
        QVERIFY(store.open(QIODevice::WriteOnly) && store.write("no database at all, and long enough to be looked at") > 0);
        store.close();
        raise(page, "strategies");
        page->selectFirst();
        auto* strategies = page->findChild<StrategyDock*>();
        QTRY_VERIFY2(strategies->title().contains(QStringLiteral("trials.db")), qPrintable(strategies->title()));
    }
};

int main(int argc, char** argv) { return windowTestMain<TstWorkloadDocks>("tst_workload_docks", argc, argv); }
#include "tst_workload_docks.moc"
