// SPDX-License-Identifier: GPL-3.0-or-later
// Menus, the bar of pages, and the commands that are only in a menu.
#include "app/gui/dialogs.h"
#include "app/gui/export_page.h"
#include "app/gui/graph_page.h"
#include "app/gui/icons.h"
#include "app/gui/main_window.h"
#include "app/gui/models_page.h"
#include "app/gui/optimize_page.h"
#include "app/gui/settings.h"
#include "app/gui/timeline_page.h"
#include "app/gui/tune_page.h"
#include "core/workbench/history.h"
#include "core/workbench/version.h"
#include "widgets/base/command_palette.h"
#include "widgets/graph/graph_view.h"
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QToolBar>

namespace tunesmith {

QAction* MainWindow::addCommand(QMenu* menu, const char* name, const QString& text, const QKeySequence& keys,
                                const QString& tip, std::function<void()> run) {
    auto* action = menu->addAction(text);
    action->setObjectName(QLatin1String(name));
    action->setShortcut(keys);
    action->setStatusTip(tip);
    connect(action, &QAction::triggered, this, std::move(run));
    return action;
}

void MainWindow::createPageBar() {
    bar_ = new QToolBar(tr("Pages"), this);
    bar_->setObjectName(QStringLiteral("pages"));
    bar_->setMovable(false);
    bar_->setContextMenuPolicy(Qt::PreventContextMenu);
    bar_->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
    bar_->setIconSize({28, 28});
    pageActions_ = new QActionGroup(this);
    const QString names[kPages] = {tr("&Models"), tr("&Graph"), tr("O&ptimize"), tr("&Tune"), tr("T&imeline"), tr("&Export")};
    for (int i = 0; i < kPages; ++i) {
        auto* action = bar_->addAction(names[i]);
        action->setCheckable(true);
        action->setShortcut(QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)));
        action->setStatusTip(tr("Go to the page %1").arg(QString(names[i]).remove(QLatin1Char('&'))));
        pageActions_->addAction(action);
        bar_->widgetForAction(action)->setMinimumSize(72, 62);
        bar_->widgetForAction(action)->setFocusPolicy(Qt::TabFocus);
        connect(action, &QAction::triggered, this, [this, i] { showPage(static_cast<Page>(i)); });
    }
    addToolBar(Qt::LeftToolBarArea, bar_);
    connect(&Theme::instance(), &Theme::changed, this, &MainWindow::refreshPageBar);
    refreshPageBar();
}

void MainWindow::refreshPageBar() {
    bar_->setStyleSheet({}); // what has a style sheet keeps the colours in which it got it
    bar_->setStyleSheet(QStringLiteral("QToolBar { border: none; padding: 6px; spacing: 6px; }")); // no gradient of Fusion's
    constexpr Glyph kGlyphs[kPages] = {Glyph::models, Glyph::graph, Glyph::optimize, Glyph::tune, Glyph::timeline, Glyph::exportModule};
    for (int i = 0; i < kPages; ++i)
        pageActions_->actions()[i]->setIcon(glyphIcon(kGlyphs[i]));
}

void MainWindow::createMenus() {
    createFileMenu();
    createEditMenu();
    createViewMenu();
    auto* run = menuBar()->addMenu(tr("&Run"));
    run->addActions(optimize_->commands());
    for (QAction* action : optimize_->commands())
        connect(action, &QAction::triggered, this, [this] { showPage(Page::optimize); });
    run->addSeparator();
    run->addActions(tune_->commands());
    for (QAction* action : tune_->commands())
        connect(action, &QAction::triggered, this, [this] { showPage(Page::tune); });
    run->addSeparator();
    run->addActions(timeline_->commands());
    for (QAction* action : timeline_->commands())
        connect(action, &QAction::triggered, this, [this] { showPage(Page::timeline); });
    createHelpMenus();
}

void MainWindow::createFileMenu() {
    auto* menu = menuBar()->addMenu(tr("&File"));
    openAction_->setObjectName(QStringLiteral("open"));
    openAction_->setShortcut(QKeySequence::Open);
    openAction_->setStatusTip(tr("Open an ONNX file, or run a file of jobs or of a sweep"));
    connect(openAction_, &QAction::triggered, this, &MainWindow::chooseFile);
    menu->addAction(openAction_);
    auto* samples = menu->addMenu(tr("Open &Sample"));
    for (const SampleInfo& sample : sampleList()) {
        const QString name = QString::fromStdString(sample.name);
        auto* action = samples->addAction(name, this, [this, name] { openSample(name); });
        action->setStatusTip(QString::fromStdString(sample.description));
    }
    recentMenu_ = menu->addMenu(tr("Open &Recent"));
    recentMenu_->setObjectName(QStringLiteral("recentMenu"));
    menu->addSeparator();
    saveOnnxAction_ = addCommand(menu, "saveOnnx", tr("Save Graph as &ONNX…"), QKeySequence::SaveAs,
                                 tr("Write the graph as any runtime loads it"), [this] { saveOnnx(); });
    addCommand(menu, "exportModule", tr("&Export Module…"), Qt::CTRL | Qt::Key_E,
               tr("Write a tuned module that any C program can load"),
               [this] { showPage(Page::exportModule); });
    menu->addSeparator();
    closeAction_ = addCommand(menu, "closeModel", tr("&Close Model"), QKeySequence(Qt::CTRL | Qt::Key_W),
                              tr("Close the open model"), [this] { closeModel(); });
    addCommand(menu, "quit", tr("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), tr("Close all windows"), [] {
        QApplication::closeAllWindows();
    })->setMenuRole(QAction::QuitRole);
}

void MainWindow::createEditMenu() {
    auto* menu = menuBar()->addMenu(tr("&Edit"));
    auto* find = graph_->view()->action(QStringLiteral("find"));
    find->setShortcutContext(Qt::WindowShortcut); // also from the other pages
    connect(find, &QAction::triggered, this, [this] {
        showPage(Page::graph);
        graph_->view()->showFindBar();
    });
    for (const char* name : {"find", "findNext", "findPrevious"})
        menu->addAction(graph_->view()->action(QLatin1String(name)));
    menu->addSeparator();
    dimensionsAction_ =
        addCommand(menu, "dimensions", tr("&Dimensions…"), {}, tr("Give open sizes of the model a value"),
                   [this] { chooseDimensions(); });
    addCommand(menu, "settings", tr("&Settings…"), QKeySequence(Qt::CTRL | Qt::Key_Comma),
               tr("Theme and mouse wheel"),
               [this] {
                   auto* dialog = new SettingsDialog(this);
                   dialog->setAttribute(Qt::WA_DeleteOnClose);
                   connect(dialog, &SettingsDialog::changed, this, &MainWindow::applySettings);
                   dialog->open();
               })
        ->setMenuRole(QAction::PreferencesRole);
}

void MainWindow::createViewMenu() {
    auto* menu = menuBar()->addMenu(tr("&View"));
    menu->addActions(pageActions_->actions());
    menu->addSeparator();
    for (const char* name : {"fit", "actualSize", "zoomIn", "zoomOut", "exportImage"})
        menu->addAction(graph_->view()->action(QLatin1String(name)));
    menu->addSeparator();
    menu->addAction(graph_->propertiesDock()->toggleViewAction());
    for (QDockWidget* dock : optimize_->docks() + tune_->docks() + timeline_->docks())
        menu->addAction(dock->toggleViewAction());
    menu->addSeparator();
    addCommand(menu, "fullScreen", tr("F&ull Screen"), QKeySequence(Qt::Key_F11),
               tr("Use the whole screen, or go back"),
               [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
}

void MainWindow::createHelpMenus() {
    auto* tools = menuBar()->addMenu(tr("&Tools"));
    tools->addAction(CommandPalette::createAction(this));
    addCommand(tools, "checkStore", tr("Check the Trial &Store"), {},
               tr("Look for damage in the database of trials"), [this] { checkStore(); });
    auto* window = menuBar()->addMenu(tr("&Window"));
    addCommand(window, "newWindow", tr("&New Window"), QKeySequence(QKeySequence::New),
               tr("A second window for another model"), [this] { (new MainWindow(store_))->show(); });
    addCommand(window, "resetLayout", tr("&Reset Layout"), {}, tr("Put all docks where they were at first"),
               [this] { resetLayout(); });
    auto* help = menuBar()->addMenu(tr("&Help"));
    addCommand(help, "shortcuts", tr("&Keyboard Shortcuts"), QKeySequence(Qt::Key_F1),
               tr("All commands that have a key"), [this] { showShortcuts(); });
    addCommand(help, "about", tr("&About Tunesmith"), {}, tr("Version and licence"), [this] {
        showAbout();
    })->setMenuRole(QAction::AboutRole);
}

void MainWindow::refreshRecent() {
    const QStringList files = settings::recentFiles();
    models_->showRecent(files);
    recentMenu_->clear();
    for (const QString& file : files)
        recentMenu_->addAction(QDir::toNativeSeparators(file), this, [this, file] { openFile(file); })
            ->setData(file);
    recentMenu_->addSeparator();
    recentMenu_->addAction(tr("&Clear"), this, [this] {
        settings::clearRecentFiles();
        refreshRecent();
    });
    recentMenu_->setEnabled(!files.isEmpty());
}

void MainWindow::applySettings() {
    Theme::instance().setMode(settings::theme());
    graph_->view()->setWheelZooms(settings::wheelZooms());
}

void MainWindow::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Open a model"), {}, tr("Models, tensor expressions, jobs, sweeps and problems (*.onnx *.te *.toml);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openFile);
    dialog->open();
}

void MainWindow::chooseDimensions() {
    auto* dialog = new DimensionsDialog(model_->model.info(), model_->dimensions, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog, source = QString::fromStdString(model_->model.source())] {
        const bool sample = source.startsWith(QLatin1String("sample:"));
        open(sample ? source.mid(7) : source, !sample, dialog->dimensions());
    });
    dialog->open();
}

void MainWindow::saveOnnx() {
    auto* dialog = new QFileDialog(this, tr("Save the graph"), {}, tr("ONNX models (*.onnx)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("onnx"));
    dialog->selectFile(QString::fromStdString(model_->model.name()));
    connect(dialog, &QFileDialog::fileSelected, this, [this, model = model_->model](const QString& path) { // that was open when it was asked for
        saving_.start(
            tr("Writing %1").arg(QFileInfo(path).fileName()),
            [model, path](const Work& work) {
                return exportModel(model, path.toStdString(), work);
            },
            [this, path](const Result<std::string>& done) {
                if (done.ok())
                    notify(NoticeBar::Kind::success,
                           tr("Saved %1, %2.").arg(QDir::toNativeSeparators(path), QString::fromStdString(*done)));
                else if (!done.error().isCancelled())
                    notifyError(QString::fromStdString(done.error().message));
            });
    });
    dialog->open();
}

void MainWindow::checkStore() {
    checking_.start(
        tr("Checking the trial store"),
        [store = store_.toStdString()](const Work&) { return tunesmith::checkStore(store); },
        [this](const Result<StoreHealth>& found) {
            if (!found.ok())
                return notifyError(QString::fromStdString(found.error().message));
            QStringList problems;
            for (const std::string& line : found->problems)
                problems << QString::fromStdString(line);
            if (problems.isEmpty())
                return notify(NoticeBar::Kind::success, tr("The trial store is sound: %1 trials in %2 runs.")
                                                            .arg(found->trials)
                                                            .arg(found->runs));
            notifyError(tr("The trial store is damaged: %1").arg(problems.join(QStringLiteral("; "))));
        });
}

void MainWindow::showShortcuts() {
    QString rows;
    QList<QAction*> all = CommandPalette::commands(this);
    all += graph_->view()->actions();
    QStringList seen;
    for (const QAction* action : std::as_const(all)) {
        const QString keys = action->shortcut().toString(QKeySequence::NativeText);
        const QString name = QString(action->text()).remove(QLatin1Char('&')).remove(QStringLiteral("…"));
        if (keys.isEmpty() || seen.contains(name))
            continue;
        seen << name;
        rows += QStringLiteral("<tr><td>%1&nbsp;&nbsp;&nbsp;</td><td><b>%2</b></td></tr>")
                    .arg(name.toHtmlEscaped(), keys.toHtmlEscaped());
    }
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Keyboard shortcuts"),
                                QStringLiteral("<table>%1</table>").arg(rows), QMessageBox::Close, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

void MainWindow::showAbout() {
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Tunesmith"),
                                tr("<h3>Tunesmith %1</h3><p>A workbench for tuning neural networks for the "
                                   "machine in front of you.</p>"
                                   "<p>Free software under the GNU General Public License, version 3 or "
                                   "later. Uses Qt %2 and QCustomPlot.</p>")
                                    .arg(QString::fromStdString(versionText()), QLatin1String(qVersion())),
                                QMessageBox::Close, this);
    box->setTextInteractionFlags(Qt::TextSelectableByMouse);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

} // namespace tunesmith
