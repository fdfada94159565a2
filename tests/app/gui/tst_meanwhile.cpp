// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/export_page.h"
#include "app/gui/graph_page.h"
#include "app/gui/tune_page.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/export/export_form.h"
#include "widgets/graph/graph_view.h"
#include <QAction>
#include <QContextMenuEvent>
#include <QFile>
#include <QFileDialog>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>

using namespace tunesmith;

// A person acts while other work is under way, and each result stays with its own model.
class TstMeanwhile : public QObject {
    Q_OBJECT

    static QMessageBox* question(MainWindow& window) { return window.findChild<QMessageBox*>(QStringLiteral("replaceQuestion")); }

private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void aTuningBeginsWhileAModelIsRead_data() {
        QTest::addColumn<QString>("answer");
        QTest::addColumn<QString>("title");
        QTest::newRow("the tuning goes on") << "Cancel" << "mlp - Tunesmith";
        QTest::newRow("the model is shown") << "Stop and open" << "encoder - Tunesmith";
    }
    void aTuningBeginsWhileAModelIsRead() {
        QFETCH(const QString, answer);
        QFETCH(const QString, title);
        WindowFixture fixture;
        MainWindow& window = fixture.window();
        TunePage* page = readyToTune(fixture, BudgetKind::seconds, 300);
        QVERIFY(page);
        window.openSample(QStringLiteral("encoder"));
        page->start();
        QVERIFY(page->running());
        QTRY_VERIFY_WITH_TIMEOUT(question(window) || window.windowTitle().startsWith(QStringLiteral("encoder")), kPatience);
        QCOMPARE(window.windowTitle(), QStringLiteral("mlp - Tunesmith"));
        press(question(window), answer);
        QTRY_COMPARE_WITH_TIMEOUT(window.windowTitle(), title, kPatience);
        QCOMPARE(page->running(), answer == QStringLiteral("Cancel"));
        page->stop();
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kPatience);
    }

    void aModelIsClosedWhileItsFileIsChosen() {
        WindowFixture fixture;
        MainWindow& window = fixture.window();
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        window.findChild<QAction*>(QStringLiteral("saveOnnx"))->trigger();
        auto* dialog = window.findChild<QFileDialog*>();
        QVERIFY(dialog);
        window.closeModel();
        const QString path = fixture.path(QStringLiteral("mlp.onnx"));
        emit dialog->fileSelected(path);
        dialog->reject();
        QTRY_VERIFY_WITH_TIMEOUT(fixture.notice().contains(QStringLiteral("mlp.onnx")), kPatience);
        QVERIFY(fixture.open(path));
    }

    void aModelIsClosedDuringItsExport_data() {
        QTest::addColumn<QString>("next");
        QTest::newRow("none") << "";
        QTest::newRow("another") << "encoder";
    }
    void aModelIsClosedDuringItsExport() {
        QFETCH(const QString, next);
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        ExportPage* page = fixture.window().exportPage();
        page->form()->setFolder(fixture.path(QStringLiteral("out")));
        page->form()->findChild<QPushButton*>(QStringLiteral("export"))->click();
        QVERIFY(page->job().running());
        fixture.window().closeModel();
        page->job().stop();
        QVERIFY(next.isEmpty() || fixture.open(next));
        QTRY_VERIFY_WITH_TIMEOUT(!page->job().running(), kPatience);
        for (const ExportCheck& check : page->form()->checks())
            QVERIFY2(next.isEmpty() || check.state == CheckState::waiting, qPrintable(check.name)); // nothing is known of this one
        QVERIFY(next.isEmpty() || page->form()->problem().isEmpty());
    }

    // A menu's event loop stands on the view that it belongs to.
    void theTuningEndsUnderAMenu() {
        WindowFixture fixture;
        QPointer<MainWindow> window = &fixture.window();
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 1);
        QVERIFY(page);
        page->start();
        QVERIFY(!window->close());
        press(window->findChild<QMessageBox*>(QStringLiteral("closeQuestion")), QStringLiteral("Keep running"));
        window->showNormal();
        window->showPage(MainWindow::Page::graph);
        GraphView* view = window->graphPage()->view();
        QTRY_VERIFY_WITH_TIMEOUT(!QApplication::activeModalWidget(), kPatience);
        QVERIFY(page->running());
        QContextMenuEvent event(QContextMenuEvent::Mouse, QPoint(5, 5), view->mapToGlobal(QPoint(5, 5)));
        QApplication::sendEvent(view, &event); // until the menu is gone
        QTRY_VERIFY_WITH_TIMEOUT(!window, kPatience);
    }

    // Else what still works runs into statics that are being destroyed.
    void theLastVisibleWindowClosesBeforeAHiddenOne() {
        WindowFixture fixture;
        QPointer<MainWindow> hidden = &fixture.window(), visible = new MainWindow(fixture.store());
        visible->show();
        QApplication::setQuitOnLastWindowClosed(true);
        QTimer::singleShot(0, this, [&] {
            hidden->openSample(QStringLiteral("resnet18"));
            hidden->close();
            visible->close();
        });
        QApplication::exec();
        QApplication::setQuitOnLastWindowClosed(false);
        QVERIFY(!hidden && !visible);
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstMeanwhile>("tst_meanwhile", argc, argv);
}
#include "tst_meanwhile.moc"
