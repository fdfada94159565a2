// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/export_page.h"
#include "app/gui/settings.h"
#include "app/gui/tune_page.h"
#include "core/workbench/history.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/export/export_form.h"
#include "widgets/tune/budget_form.h"
#include "widgets/tune/convergence_plot.h"
#include "widgets/tune/workload_table.h"
#include <QAction>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>
#include <QToolButton>

using namespace tunesmith;

class TstTuningWindow : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void tuningShowsTheCurveAndKeepsIt() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 4);
        QVERIFY(page);
        QVERIFY(page->findChild<WorkloadTable*>()->model()->rowCount() >= 3);
        QSignalSpy tuned(page, &TunePage::tuned), problem(page, &TunePage::problem);
        page->start();
        QVERIFY(page->running());
        QVERIFY(!page->commands().front()->isEnabled());
        QTRY_VERIFY_WITH_TIMEOUT(tuned.count() + problem.count() > 0, kPatience);
        QVERIFY2(problem.isEmpty(), problem.isEmpty() ? "" : qPrintable(problem.first().first().toString()));
        const int seen = dots(page);
        QVERIFY(seen > 0);
        const QString headline = page->findChild<QLabel*>(QStringLiteral("headline"))->text();
        QVERIFY2(headline.contains(QStringLiteral("before")), qPrintable(headline));
        QVERIFY2(fixture.notice().endsWith(headline), qPrintable(fixture.notice()));

        TunePage* again = fixture.reopen().tunePage();
        QSignalSpy shown(again, &TunePage::historyShown);
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        QVERIFY(!shown.isEmpty() || shown.wait(kPatience));
        QCOMPARE(dots(again), seen);
        QCOMPARE(again->findChild<QLabel*>(QStringLiteral("headline"))->text(), headline);
    }

    void stoppedRunIsResumedAfterReopening() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 12);
        QVERIFY(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 0, kPatience);
        page->pause();
        QVERIFY(page->state() == TunePage::State::pausing);
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kPatience);
        const auto runs = tuningRuns(fixture.store().toStdString());
        QVERIFY(runs.ok());
        QCOMPARE(runs->size(), std::size_t(1));
        QVERIFY(runs->front().resumable);

        TunePage* again = fixture.reopen().tunePage();
        QSignalSpy shown(again, &TunePage::historyShown);
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        QVERIFY(!shown.isEmpty() || shown.wait(kPatience));
        const int before = dots(again);
        QVERIFY(before > 0);
        QSignalSpy tuned(again, &TunePage::tuned);
        again->resume();
        QVERIFY(again->running());
        QTRY_VERIFY_WITH_TIMEOUT(tuned.count() > 0, kPatience);
        QVERIFY(dots(again) > before);
        const auto after = tuningRuns(fixture.store().toStdString());
        QVERIFY(after.ok());
        QCOMPARE(after->size(), std::size_t(1)); // the same run, gone on with
    }

    void closingWhileTuningAsks() {
        WindowFixture fixture;
        QPointer<MainWindow> window = &fixture.window();
        TunePage* page = readyToTune(fixture, BudgetKind::seconds, 300);
        QVERIFY(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 0, kPatience);
        QVERIFY(!window->close());
        press(window->findChild<QMessageBox*>(QStringLiteral("closeQuestion")), QStringLiteral("Cancel"));
        QTest::qWait(20);
        QVERIFY(window && window->isVisible() && page->running());
        QTRY_VERIFY(!window->findChild<QMessageBox*>(QStringLiteral("closeQuestion")));
        QVERIFY(!window->close());
        press(window->findChild<QMessageBox*>(QStringLiteral("closeQuestion")),
              QStringLiteral("Stop and save"));
        QTRY_VERIFY_WITH_TIMEOUT(!window, kPatience);
        const auto runs = tuningRuns(fixture.store().toStdString());
        QVERIFY(runs.ok() && runs->size() == 1 && runs->front().resumable);
    }

    void keptRunningTheWindowClosesAtTheEnd() {
        WindowFixture fixture;
        QPointer<MainWindow> window = &fixture.window();
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 12);
        QVERIFY(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 0, kPatience);
        QVERIFY(!window->close());
        press(window->findChild<QMessageBox*>(QStringLiteral("closeQuestion")),
              QStringLiteral("Keep running"));
        QVERIFY(window->isMinimized());
        QVERIFY(page->running());
        QTRY_VERIFY_WITH_TIMEOUT(!window, kPatience);
        const auto runs = tuningRuns(fixture.store().toStdString());
        QVERIFY(runs.ok() && runs->size() == 1);
        QCOMPARE(QString::fromStdString(runs->front().state), QStringLiteral("COMPLETED"));
        QVERIFY(runs->front().afterMs); // measured before the window went
    }

    void cancelInTheStatusBarStops() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::seconds, 300);
        QVERIFY(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 0, kPatience);
        int pressed = 0;
        for (auto* cancel : fixture.window().findChildren<QToolButton*>(QStringLiteral("cancel")))
            if (cancel->isVisible()) {
                QTest::mouseClick(cancel, Qt::LeftButton);
                ++pressed;
            }
        QCOMPARE(pressed, 1); // only what runs has a button
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kPatience);
        QVERIFY(dots(page) > 0);
    }

    void openingWhileTuningAsks() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::seconds, 300);
        QVERIFY(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 0, kPatience);
        QSignalSpy opened(&fixture.window(), &MainWindow::modelOpened);
        fixture.window().openSample(QStringLiteral("encoder"));
        press(fixture.window().findChild<QMessageBox*>(QStringLiteral("replaceQuestion")),
              QStringLiteral("Stop and open"));
        QTRY_VERIFY_WITH_TIMEOUT(opened.count() > 0, kPatience);
        QVERIFY(!page->running());
        QCOMPARE(fixture.window().windowTitle(), QStringLiteral("encoder - Tunesmith"));
    }

    void unwritableStoreIsSaid() {
        WindowFixture fixture;
        QVERIFY(QDir().mkpath(fixture.store())); // a folder where the file should be
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 2);
        QVERIFY(page);
        QSignalSpy problem(page, &TunePage::problem);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(problem.count() > 0, kPatience);
        QTRY_VERIFY(!page->running());
        QVERIFY2(fixture.notice().contains(QStringLiteral("trials.db")), qPrintable(fixture.notice()));
    }

    void exportWritesACheckedModule() {
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        fixture.window().showPage(MainWindow::Page::exportModule);
        ExportPage* page = fixture.window().exportPage();
        page->form()->setFolder(fixture.path(QStringLiteral("out")));
        page->form()->setName(QStringLiteral("small"));
        QSignalSpy exported(page, &ExportPage::exported), problem(page, &ExportPage::problem);
        QTest::mouseClick(page->form()->findChild<QPushButton*>(QStringLiteral("export")), Qt::LeftButton);
        QVERIFY(!page->form()->problem().isEmpty()); // no second one meanwhile
        QTRY_VERIFY_WITH_TIMEOUT(exported.count() + problem.count() > 0, kPatience);
        QVERIFY2(problem.isEmpty(), problem.isEmpty() ? "" : qPrintable(problem.first().first().toString()));
        QVERIFY(QFile::exists(fixture.path(QStringLiteral("out/small/module.json"))));
        QVERIFY2(fixture.notice().contains(QStringLiteral("small")), qPrintable(fixture.notice()));
        QVERIFY(page->form()->problem().isEmpty());
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstTuningWindow>("tst_tuning_window", argc, argv);
}
#include "tst_tuning_window.moc"
