// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/main_window.h"
#include "app/gui/optimize_page.h"
#include "app/gui/screenshots.h"
#include "app/gui/settings.h"
#include "app/gui/timeline_page.h"
#include "app/gui/tune_page.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/standard_streams.h"
#include "core/workbench/start.h"
#include "core/workbench/version.h"
#include "widgets/optimize/optimize_bar.h"
#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <cstdio>

using namespace tunesmith;

namespace {

void addOptions(QCommandLineParser& options) {
    options.setApplicationDescription(
        QCoreApplication::translate("main", "Tunes neural networks for this machine."));
    options.addHelpOption();
    options.addVersionOption();
    options.addPositionalArgument("FILE", "ONNX models or tensor expressions (FILE.te) to open, one window each; jobs, sweeps or problems of plugins (FILE.toml) to run.", "[FILE…]");
    options.addOptions({{"sample", "Open the built-in sample NAME.", "NAME"},
                        {"optimize", "Optimize the graph by COST as soon as the model is open.", "COST"},
                        {"tune", "Start tuning as soon as the model is open."},
                        {"jobs", "Run the jobs of FILE.toml on the Timeline page.", "FILE"},
                        {"sweep", "Run every combination that FILE.toml lists on the Timeline page.", "FILE"},
                        {"store", "Trial store to use (default: the user's data folder).", "FILE"},
                        {"theme", "light, dark or system (default: as set).", "THEME"},
                        {"screenshot", "Write a picture of each page to DIR and quit.", "DIR"}});
}

// False: the option has no such value; said on stderr.
bool applyTheme(const QCommandLineParser& options) {
    bool known = true;
    const QString name = options.value("theme");
    Theme::instance().setMode(options.isSet("theme") ? settings::themeFromName(name, &known)
                                                     : settings::theme());
    if (!known)
        std::fprintf(stderr, "tunesmith: --theme is light, dark or system, not '%s'\n", printable(name.toStdString()).c_str());
    return known;
}

// Starts once the tasks are known and the stored runs are shown.
void tuneWhenOpen(MainWindow& window) {
    QObject::connect(
        window.tunePage(), &TunePage::historyShown, &window,
        [&window] {
            window.showPage(MainWindow::Page::tune);
            window.tunePage()->start();
        },
        Qt::SingleShotConnection);
}

void optimizeWhenOpen(MainWindow& window, const QString& cost) {
    QObject::connect(
        &window, &MainWindow::modelOpened, &window,
        [&window, cost] {
            OptimizePage* page = window.optimizePage();
            OptimizeChoice choice = page->bar()->choice();
            choice.cost = cost;
            page->bar()->setChoice(choice);
            window.showPage(MainWindow::Page::optimize);
            page->start();
        },
        Qt::SingleShotConnection);
}

MainWindow& openWindow(const QCommandLineParser& options) {
    auto* window = new MainWindow(options.value("store"));
    if (options.isSet("optimize"))
        optimizeWhenOpen(*window, options.value("optimize"));
    if (options.isSet("tune"))
        tuneWhenOpen(*window);
    window->show();
    return *window;
}

} // namespace

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    QApplication::setOrganizationName("Tunesmith");
    QApplication::setApplicationName("Tunesmith");
    QApplication::setApplicationVersion(QString::fromStdString(versionText()));
    QApplication::setWindowIcon(QIcon(":/tunesmith.svg"));
    QCommandLineParser options;
    addOptions(options);
    if (!options.parse(QApplication::arguments())) {
        std::fprintf(stderr, "tunesmith: %s\n", printable(options.errorText().toStdString()).c_str());
        return 2;
    }
    options.process(app); // --help and --version end here
    if (!applyTheme(options))
        return 2;
    setLogSink([](LogLevel level, const std::string& message) {
        if (level >= LogLevel::warning)
            std::fprintf(stderr, "tunesmith: %s\n", message.c_str());
    });
    beginProgram();
    MainWindow& first = openWindow(options);
    if (options.isSet("sample"))
        first.openSample(options.value("sample"));
    for (const char* work : {"jobs", "sweep"})
        if (options.isSet(work)) {
            first.showPage(MainWindow::Page::timeline);
            first.timelinePage()->run(options.value(work));
        }
    const QStringList files = options.positionalArguments();
    for (int i = 0; i < files.size(); ++i)
        (i == 0 && !options.isSet("sample") ? first : openWindow(options)).openFile(files[i]);
    if (options.isSet("screenshot"))
        takeScreenshots(first, QDir(options.value("screenshot")));
    return QApplication::exec();
}
