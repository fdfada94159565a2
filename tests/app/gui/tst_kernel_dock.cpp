// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/kernel_dock.h"
#include "app/gui/tune_page.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/app/gui/window_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/tune/workload_table.h"
#include <QDockWidget>
#include <QPlainTextEdit>
#include <QTest>

using namespace tunesmith;

namespace {

constexpr int kSoon = 60000;

// The Tune page of a window with a model that was read, its inspector in front.
TunePage* inspecting(WindowFixture& fixture, const QString& model) {
    if (!fixture.open(model))
        return nullptr;
    fixture.window().showPage(MainWindow::Page::tune);
    TunePage* page = fixture.window().tunePage();
    if (!QTest::qWaitFor([page] { return !page->reading(); }, kSoon))
        return nullptr;
    page->findChild<QDockWidget*>(QStringLiteral("kernel"))->raise();
    return page;
}

KernelDock* inspector(TunePage* page) { return page->findChild<KernelDock*>(); }

} // namespace

// The kernel inspector in the window.
class TstKernelDock : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void showsTheKernelOfTheChosenWorkload() {
        WindowFixture fixture;
        TunePage* page = inspecting(fixture, QStringLiteral("mlp"));
        QVERIFY(page);
        QVERIFY(inspector(page)->summary().startsWith(QStringLiteral("Choose")));
        page->selectFirst();
        QTRY_VERIFY_WITH_TIMEOUT(inspector(page)->page(2)->toPlainText().contains(QStringLiteral("vfmadd")), kSoon);
        QVERIFY(inspector(page)->page(0)->toPlainText().contains(QStringLiteral("for ")));
        QVERIFY(inspector(page)->page(1)->toPlainText().contains(QStringLiteral("define ")));
        QVERIFY2(inspector(page)->summary().contains(QStringLiteral("multiply-adds")), qPrintable(inspector(page)->summary()));
        QVERIFY(!inspector(page)->page(2)->extraSelections().isEmpty());
        fixture.window().findChild<QAction*>(QStringLiteral("closeModel"))->trigger();
        QVERIFY(inspector(page)->summary().startsWith(QStringLiteral("Choose")));
        QVERIFY(inspector(page)->page(2)->toPlainText().isEmpty());
    }

    void aModelIsClosedWhileItsKernelIsBuilt() {
        WindowFixture fixture;
        TunePage* page = inspecting(fixture, QStringLiteral("mlp"));
        QVERIFY(page);
        page->selectFirst();
        QVERIFY(inspector(page)->job().running());
        fixture.window().closeModel();
        QTRY_VERIFY_WITH_TIMEOUT(!inspector(page)->job().running(), kSoon);
        QVERIFY2(inspector(page)->summary().startsWith(QStringLiteral("Choose")), qPrintable(inspector(page)->summary()));
    }

    void buildsNothingThatNobodySees() {
        WindowFixture fixture;
        TunePage* page = inspecting(fixture, QStringLiteral("mlp"));
        QVERIFY(page);
        page->findChild<QDockWidget*>(QStringLiteral("predicted"))->raise();
        page->selectFirst();
        QTest::qWait(50);
        QVERIFY(!inspector(page)->job().running() && inspector(page)->page(2)->toPlainText().isEmpty());
        page->findChild<QDockWidget*>(QStringLiteral("kernel"))->raise();
        QTRY_VERIFY_WITH_TIMEOUT(!inspector(page)->page(2)->toPlainText().isEmpty(), kSoon);
    }

    void leavesTheMachineToATuning() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 30, 1);
        QVERIFY(page);
        page->findChild<QDockWidget*>(QStringLiteral("kernel"))->raise();
        page->selectFirst();
        page->start();
        QVERIFY2(inspector(page)->summary().contains(QStringLiteral("not tuning")), qPrintable(inspector(page)->summary()));
        page->stop();
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kSoon);
        QTRY_VERIFY_WITH_TIMEOUT(!inspector(page)->page(2)->toPlainText().isEmpty(), kSoon);
    }
};

int main(int argc, char** argv) { return windowTestMain<TstKernelDock>("tst_kernel_dock", argc, argv); }
#include "tst_kernel_dock.moc"
