// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/screenshots.h"
#include "app/gui/graph_page.h"
#include "app/gui/optimize_page.h"
#include "app/gui/timeline_page.h"
#include "app/gui/tune_page.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/optimize/replay_view.h"
#include "widgets/optimize/rule_panel.h"
#include "widgets/timeline/timeline_view.h"
#include <QApplication>
#include <QDockWidget>
#include <QFile>
#include <QTimer>
#include <cstdio>
#include <string_view>

namespace tunesmith {
namespace {

bool settled(MainWindow& window) {
    return !window.busyOpening() && !window.optimizePage()->running() && !window.tunePage()->running() &&
           !window.timelinePage()->running() && !window.timelinePage()->reading() && !window.tunePage()->reading();
}

// The node of most operations: something worth reading in the properties.
void selectWidest(MainWindow& window) {
    const OpenModelPtr model = window.model();
    if (!model || model->picture.nodes.empty())
        return;
    const auto& nodes = model->picture.nodes;
    const auto busiest = std::max_element(nodes.begin(), nodes.end(),
                                          [](const auto& a, const auto& b) { return a.flops < b.flops; });
    window.graphPage()->view()->select(busiest - nodes.begin(), false);
}

// The first rule of the list, at a rewrite early on the way.
void showARewrite(MainWindow& window) {
    const OptimizePage* page = window.optimizePage();
    page->rules()->table()->selectRow(0);
    page->replay()->setStep(std::min(3, static_cast<int>(page->replay()->replay().steps.size())));
}

// Everything selected, so that its totals can be read.
void sumUpTheTimeline(MainWindow& window) {
    window.timelinePage()->view()->action(QStringLiteral("selectShown"))->trigger();
}

struct Shot {
    MainWindow::Page page;
    const char* dock; // of the page, to be in front; null: as it is at first
    const char* name;
};

constexpr Shot kShots[] = {{MainWindow::Page::models, nullptr, "models"},
                           {MainWindow::Page::graph, nullptr, "graph"},
                           {MainWindow::Page::optimize, nullptr, "optimize"},
                           {MainWindow::Page::optimize, "difference", "optimize-difference"},
                           {MainWindow::Page::optimize, "refusals", "optimize-refusals"},
                           {MainWindow::Page::tune, nullptr, "tune"},
                           {MainWindow::Page::tune, "roofline", "tune-roofline"},
                           {MainWindow::Page::tune, "kernel", "tune-kernel"},
                           {MainWindow::Page::tune, "strategies", "tune-strategies"},
                           {MainWindow::Page::tune, "space", "tune-space"},
                           {MainWindow::Page::timeline, "jobs", "timeline"},
                           {MainWindow::Page::timeline, "area", "timeline-area"},
                           {MainWindow::Page::timeline, "sweep", "timeline-sweep"},
                           {MainWindow::Page::exportModule, nullptr, "export"}};

void arrange(MainWindow& window, const Shot& shot) {
    selectWidest(window);
    window.showPage(shot.page);
    if (shot.page == MainWindow::Page::optimize)
        showARewrite(window);
    if (shot.page == MainWindow::Page::timeline && shot.dock == std::string_view("area"))
        sumUpTheTimeline(window);
    if (!shot.dock)
        return;
    window.tunePage()->selectFirst();
    QWidget* page = window.tunePage();
    if (shot.page == MainWindow::Page::optimize)
        page = window.optimizePage();
    if (shot.page == MainWindow::Page::timeline)
        page = window.timelinePage();
    if (auto* dock = page->findChild<QDockWidget*>(QLatin1String(shot.dock)))
        dock->raise();
}

bool write(MainWindow& window, const QDir& folder, const Shot& shot) {
    const QString path = folder.filePath(QLatin1String(shot.name) + QStringLiteral(".png"));
    QFile::remove(path); // else a link there would have what it names written to
    QFile file(path);
    const bool written = file.open(QIODevice::WriteOnly | QIODevice::NewOnly) && window.grab().save(&file, "PNG") && file.flush();
    if (!written)
        std::fprintf(stderr, "tunesmith: cannot write %s: %s\n", qPrintable(path), qPrintable(file.errorString()));
    return written;
}

} // namespace

void takeScreenshots(MainWindow& window, const QDir& folder) {
    folder.mkpath(QStringLiteral("."));
    auto* timer = new QTimer(&window);
    timer->setInterval(400); // each page has time to be laid out and its plots to be drawn
    QObject::connect(timer, &QTimer::timeout, &window, [&window, folder, timer, next = std::size_t(0)]() mutable {
        if (!settled(window))
            return;
        if (next > 0 && !write(window, folder, kShots[next - 1]))
            return QApplication::exit(1);
        if (next == std::size(kShots)) {
            timer->stop();
            return QApplication::exit(0);
        }
        arrange(window, kShots[next++]);
    });
    timer->start();
}

} // namespace tunesmith
