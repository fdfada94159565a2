// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/dialogs.h"
#include "app/gui/export_page.h"
#include "app/gui/graph_page.h"
#include "app/gui/models_page.h"
#include "app/gui/settings.h"
#include "app/gui/tune_page.h"
#include "tests/app/gui/tiny_onnx.h"
#include "tests/app/gui/window_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/export/export_form.h"
#include "widgets/graph/graph_view.h"
#include "widgets/graph/properties_panel.h"
#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStandardPaths>
#include <QTest>
#include <QThread>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>
#include <algorithm>
#include <atomic>

using namespace tunesmith;

namespace {

void write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
}

} // namespace

class TstMainWindow : public QObject {
    Q_OBJECT
    // One node wears the badge, and the notice's button selects it.
    static void verifyShownNode(WindowFixture& fixture, const QString& badge, const QString& title) {
        GraphView* view = fixture.window().graphPage()->view();
        int badges = 0;
        for (const GraphNode& node : view->scene().nodes)
            badges += node.badge == badge;
        QCOMPARE(badges, 1);
        QTest::mouseClick(
            fixture.window().findChild<NoticeBar*>()->findChild<QPushButton*>(QStringLiteral("show")),
            Qt::LeftButton);
        QVERIFY(view->selectedNode());
        QCOMPARE(view->selectedNode()->title, title);
    }

private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void samplesShowTheirGraph_data() {
        QTest::addColumn<int>("atLeast");
        QTest::newRow("mlp") << 5;
        QTest::newRow("resnet18") << 60;
        QTest::newRow("mobilenet_v2") << 140;
        QTest::newRow("encoder") << 100;
    }
    void samplesShowTheirGraph() {
        QFETCH(int, atLeast);
        WindowFixture fixture;
        MainWindow& window = fixture.window();
        QVERIFY(window.page() == MainWindow::Page::models);
        QVERIFY(fixture.open(QTest::currentDataTag()));
        QVERIFY(window.page() == MainWindow::Page::graph);
        const GraphScene& scene = window.graphPage()->view()->scene();
        QVERIFY(scene.nodes.size() >= atLeast);
        const ModelInfo& info = window.model()->model.info();
        QCOMPARE(static_cast<std::size_t>(scene.nodes.size()),
                 info.inputs.size() + static_cast<std::size_t>(info.nodes) + info.outputs.size());
        QVERIFY(scene.edges.size() >= atLeast - 1);
        for (const GraphNode& node : scene.nodes)
            QVERIFY2(node.rect.isValid() && QRectF({}, scene.size).contains(node.rect),
                     qPrintable(node.title));
        QCOMPARE(window.windowTitle(), QStringLiteral("%1 - Tunesmith").arg(QTest::currentDataTag()));
        QCOMPARE(fixture.notice(), QString());
        QVERIFY(settings::recentFiles().isEmpty()); // a sample is no file
    }

    void selectingShowsProperties() {
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        GraphPage* page = fixture.window().graphPage();
        QVERIFY(page->view()->find(QStringLiteral("Gemm")) > 0);
        page->view()->select(page->view()->hits().front());
        const QString shown = page->findChild<PropertiesPanel*>()->asTsv();
        QVERIFY2(shown.contains(QStringLiteral("Weights")), qPrintable(shown));
        QVERIFY2(shown.contains(QStringLiteral("784")), qPrintable(shown));
    }

    void sampleButtonsAndMenus() {
        WindowFixture fixture;
        MainWindow& window = fixture.window();
        QStringList menus;
        for (const QAction* action : window.menuBar()->actions())
            menus << QString(action->text()).remove(QLatin1Char('&'));
        QCOMPARE(menus, (QStringList{"File", "Edit", "View", "Run", "Tools", "Window", "Help"}));
        QSignalSpy opened(&window, &MainWindow::modelOpened);
        QTest::mouseClick(window.findChild<QPushButton*>(QStringLiteral("sample:mlp")), Qt::LeftButton);
        QVERIFY(opened.wait(60000));
        QTest::keyClick(&window, Qt::Key_W, Qt::ControlModifier);
        QVERIFY(!window.model());
        QVERIFY(window.page() == MainWindow::Page::models);
        QCOMPARE(window.windowTitle(), QStringLiteral("Tunesmith"));
        QTest::keyClick(&window, Qt::Key_3, Qt::ControlModifier);
        QVERIFY(window.page() == MainWindow::Page::optimize);
        QTest::keyClick(&window, Qt::Key_5, Qt::ControlModifier);
        QVERIFY(window.page() == MainWindow::Page::timeline);
        QTest::keyClick(&window, Qt::Key_6, Qt::ControlModifier);
        QVERIFY(window.page() == MainWindow::Page::exportModule);
    }

    void droppedFileIsOpenedAndRemembered() {
        WindowFixture fixture;
        const QString file = fixture.path(QStringLiteral("dropped one.onnx"));
        QVERIFY(writeSample("mlp", file.toStdString()).ok());
        QSignalSpy opened(&fixture.window(), &MainWindow::modelOpened);
        drop(fixture.window(), {QUrl::fromLocalFile(file)});
        QVERIFY(opened.wait(60000));
        QCOMPARE(fixture.window().windowTitle(), QStringLiteral("dropped one - Tunesmith"));
        QCOMPARE(settings::recentFiles(), QStringList{file});
    }

    void linksFromTheWebAreNotAccepted() {
        WindowFixture fixture;
        QMimeData data;
        data.setUrls({QUrl(QStringLiteral("https://example.org/model.onnx"))});
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        enter.ignore();
        QApplication::sendEvent(&fixture.window(), &enter);
        QVERIFY(!enter.isAccepted());
    }

    void missingRecentFilesAreGrey() {
        WindowFixture fixture;
        const QString here = fixture.path(QStringLiteral("here.onnx")),
                      gone = fixture.path(QStringLiteral("gone.onnx"));
        QVERIFY(writeSample("mlp", here.toStdString()).ok());
        settings::addRecentFile(gone);
        settings::addRecentFile(here);
        settings::addRecentFile(gone); // moves to the front, once
        QCOMPARE(settings::recentFiles(), (QStringList{gone, here}));
        ModelsPage* page = fixture.reopen().modelsPage();
        QTRY_VERIFY(page->findChild<QPushButton*>(QStringLiteral("recent:here.onnx")));
        QVERIFY(page->findChild<QPushButton*>(QStringLiteral("recent:here.onnx"))->isEnabled());
        QVERIFY(!page->findChild<QPushButton*>(QStringLiteral("recent:gone.onnx"))->isEnabled());
        const auto* menu = fixture.window().findChild<QMenu*>(QStringLiteral("recentMenu"));
        QVERIFY(!menu->actions().at(0)->isEnabled());
        QVERIFY(menu->actions().at(1)->isEnabled());
    }

    void unsupportedOperatorsAreNamed() {
        WindowFixture fixture;
        const QString file = fixture.path(QStringLiteral("odd.onnx"));
        write(file, tinyOnnx("Wobble", "4"));
        QVERIFY(fixture.open(file));
        QVERIFY2(fixture.notice().contains(QStringLiteral("1 of 1")), qPrintable(fixture.notice()));
        QVERIFY2(fixture.notice().contains(QStringLiteral("Wobble")), qPrintable(fixture.notice()));
        verifyShownNode(fixture, QStringLiteral("not supported"), QStringLiteral("Wobble"));
        QVERIFY(!fixture.window().tunePage()->commands().front()->isEnabled());
        QVERIFY(!fixture.window().exportPage()->form()->problem().isEmpty());
    }

    void whatIsNotCompiledIsNamed() {
        WindowFixture fixture;
        const QString file = fixture.path(QStringLiteral("random.onnx"));
        write(file, tinyOnnx("RandomNormalLike", "4"));
        QVERIFY(fixture.open(file));
        QVERIFY2(fixture.notice().contains(QStringLiteral("RandomNormalLike (1)")),
                 qPrintable(fixture.notice()));
        verifyShownNode(fixture, QStringLiteral("not compiled"), QStringLiteral("RandomNormalLike"));
        const QString properties = fixture.window().graphPage()->findChild<PropertiesPanel*>()->asTsv();
        QVERIFY2(properties.contains(QStringLiteral("Not compiled\treason\tnode 'the_node'")),
                 qPrintable(properties));
    }

    void computedConstantsAreRowsOfTheirReader() {
        WindowFixture fixture;
        const QString file = fixture.path(QStringLiteral("constant.onnx"));
        write(file, tinyWithConstant());
        QVERIFY2(fixture.open(file), qPrintable(fixture.notice()));
        GraphPage* page = fixture.window().graphPage();
        QCOMPARE(page->view()->scene().nodes.size(), 3); // x, Add, y
        QCOMPARE(page->view()->find(QStringLiteral("Identity")), 0);
        QCOMPARE(page->view()->find(QStringLiteral("Add")), 1);
        page->view()->select(page->view()->hits().front());
        QVERIFY(
            page->findChild<PropertiesPanel*>()->asTsv().contains(QStringLiteral("Weights\tv\t4\tfloat32")));
    }

    void openDimensionsAreAskedFor() {
        WindowFixture fixture;
        const QString file = fixture.path(QStringLiteral("open.onnx"));
        write(file, tinyOnnx("Relu", "length"));
        QVERIFY(fixture.open(file));
        QVERIFY2(fixture.notice().contains(QStringLiteral("length")), qPrintable(fixture.notice()));
        QVERIFY(!fixture.window().tunePage()->commands().front()->isEnabled());
        fixture.window().findChild<QAction*>(QStringLiteral("dimensions"))->trigger();
        auto* dialog = fixture.window().findChild<DimensionsDialog*>();
        QVERIFY(dialog);
        dialog->findChild<QSpinBox*>(QStringLiteral("length"))->setValue(16);
        QSignalSpy opened(&fixture.window(), &MainWindow::modelOpened);
        dialog->accept();
        QVERIFY(opened.wait(60000));
        QVERIFY(fixture.window().model()->model.info().openDimensions.empty());
        QCOMPARE(fixture.notice(), QString());
        QVERIFY(fixture.window().tunePage()->commands().front()->isEnabled());
    }

    // A widget for each of a hundred thousand would take the window's time and memory.
    void onlySomeOfManyDimensionsHaveRows() {
        ModelInfo info;
        for (int i = 0; i < 100'000; ++i)
            info.openDimensions.push_back("d" + std::to_string(i));
        const Dimensions bound{{"d7", 3}, {"d99999", 4}};
        QElapsedTimer clock;
        clock.start();
        const DimensionsDialog dialog(info, bound);
        QVERIFY2(clock.elapsed() < 2000, qPrintable(QString::number(clock.elapsed())));
        const auto boxes = dialog.findChildren<QSpinBox*>();
        QCOMPARE(boxes.size(), 64);
        QVERIFY(dialog.dimensions() == bound);
        boxes.front()->setValue(5);
        QCOMPARE(dialog.dimensions().at("d0"), 5);
        QCOMPARE(dialog.dimensions().size(), std::size_t(3));
        QVERIFY(dialog.findChild<QLabel*>(QString(), Qt::FindDirectChildrenOnly)->text().contains(QStringLiteral("100000")));
    }

    void closingWhileOpeningLeavesNothing() {
        WindowFixture fixture;
        QPointer<MainWindow> window = &fixture.window();
        window->openSample(QStringLiteral("resnet18"));
        window->close();
        QVERIFY(!window->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(!window, 60000);
    }

    // Other windows go on meanwhile, and so does this one's loop.
    void closingWaitsForNobodyInTheLoop() {
        WindowFixture fixture;
        QPointer<MainWindow> window = &fixture.window();
        std::atomic<bool> goesOn = true;
        for (Job* job : window->tunePage()->quietJobs()) // a window may be closed while any one of them runs
            if (job != &window->tunePage()->historyJob())
                job->start(
                    QStringLiteral("what cannot be stopped"),
                    [&goesOn](const Work&) {
                        for (int i = 0; i < 5000 && goesOn; ++i)
                            QThread::msleep(1);
                        return 0;
                    },
                    [](int) {});
        QTimer::singleShot(100, this, [&goesOn] { goesOn = false; });
        QElapsedTimer timer;
        timer.start();
        window->close();
        QVERIFY(!window->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(!window, 10000);
        QVERIFY2(timer.elapsed() < 3000, qPrintable(QString::number(timer.elapsed())));
    }

    void newestOpenWins() {
        WindowFixture fixture;
        QSignalSpy opened(&fixture.window(), &MainWindow::modelOpened);
        fixture.window().openSample(QStringLiteral("resnet18"));
        fixture.window().openSample(QStringLiteral("mlp"));
        QVERIFY(opened.wait(60000));
        QTest::qWait(100);
        QCOMPARE(opened.count(), 1);
        QCOMPARE(fixture.window().windowTitle(), QStringLiteral("mlp - Tunesmith"));
    }

    void findOpensTheGraphPage() {
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        fixture.window().showPage(MainWindow::Page::exportModule);
        fixture.window().graphPage()->view()->action(QStringLiteral("find"))->trigger();
        QVERIFY(fixture.window().page() == MainWindow::Page::graph);
    }

    void layoutIsRememberedAndReset() {
        WindowFixture fixture;
        fixture.window().graphPage()->propertiesDock()->hide();
        MainWindow& again = fixture.reopen();
        QVERIFY(again.graphPage()->propertiesDock()->isHidden());
        again.resetLayout();
        QVERIFY(!again.graphPage()->propertiesDock()->isHidden());
    }

    void docksComeBackSideBySide() {
        WindowFixture fixture;
        fixture.window().showPage(MainWindow::Page::tune);
        const QList<QDockWidget*> docks = fixture.window().tunePage()->docks();
        QCOMPARE(docks.size(), 7); // the last four are tabs of the third
        docks[0]->setFloating(true);
        fixture.window().tunePage()->addDockWidget(Qt::LeftDockWidgetArea, docks[1]);
        docks[2]->hide();
        fixture.window().resetLayout();
        QTest::qWait(20);
        for (int i = 0; i < 3; ++i) {
            QVERIFY(docks[i]->isVisible() && !docks[i]->isFloating());
            QCOMPARE(docks[i]->y(), docks[0]->y());
            QVERIFY(i == 0 || docks[i]->x() > docks[i - 1]->geometry().right());
        }
    }

    void settingsApplyAtOnce() {
        WindowFixture fixture;
        fixture.window().findChild<QAction*>(QStringLiteral("settings"))->trigger();
        auto* dialog = fixture.window().findChild<SettingsDialog*>();
        QVERIFY(dialog);
        dialog->findChild<QComboBox*>(QStringLiteral("theme"))->setCurrentIndex(2);
        QVERIFY(Theme::instance().isDark());
        const auto pages = fixture.window().findChild<QToolBar*>(QStringLiteral("pages"))->findChildren<QToolButton*>();
        const auto areReadable = [&] {
            return std::ranges::all_of(pages, [](const QToolButton* page) { return page->palette().buttonText() == QApplication::palette().buttonText(); });
        };
        QVERIFY(pages.size() >= 6 && areReadable());
        dialog->findChild<QComboBox*>(QStringLiteral("theme"))->setCurrentIndex(1);
        QVERIFY(!Theme::instance().isDark() && areReadable());
        dialog->close();
    }

    void everyCommandExplainsItself() {
        WindowFixture fixture;
        for (const char* name : {"open", "saveOnnx", "closeModel", "settings", "checkStore", "resetLayout",
                                 "startTuning", "pauseTuning", "resumeTuning", "stopTuning"}) {
            const auto* action = fixture.window().findChild<QAction*>(QLatin1String(name));
            QVERIFY2(action, name);
            QVERIFY2(!action->statusTip().isEmpty(), name);
        }
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstMainWindow>("tst_main_window", argc, argv);
}
#include "tst_main_window.moc"
