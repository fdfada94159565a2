// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/screenshots.h"
#include "app/gui/graph_page.h"
#include "app/gui/tune_page.h"
#include "widgets/graph/graph_view.h"
#include <QApplication>
#include <QTimer>
#include <cstdio>

namespace tunesmith {
namespace {

bool settled(MainWindow& window) {
    return !window.busyOpening() && !window.tunePage()->running() &&
           !window.tunePage()->historyJob().running();
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

bool shoot(MainWindow& window, const QDir& folder, int page) {
    static const QString kNames[MainWindow::kPages] = {QStringLiteral("models"), QStringLiteral("graph"),
                                                       QStringLiteral("tune"), QStringLiteral("export")};
    const QString path = folder.filePath(kNames[page] + QStringLiteral(".png"));
    const bool written = window.grab().save(path);
    if (!written)
        std::fprintf(stderr, "tunesmith: cannot write %s\n", qPrintable(path));
    return written;
}

} // namespace

void takeScreenshots(MainWindow& window, const QDir& folder) {
    folder.mkpath(QStringLiteral("."));
    auto* timer = new QTimer(&window);
    timer->setInterval(400); // each page has time to be laid out and its plots to be drawn
    QObject::connect(timer, &QTimer::timeout, &window, [&window, folder, timer, page = -1]() mutable {
        if (page < 0 && !settled(window))
            return;
        if (page >= 0 && !shoot(window, folder, page))
            return QApplication::exit(1);
        if (++page == MainWindow::kPages) {
            timer->stop();
            return QApplication::exit(0);
        }
        selectWidest(window);
        window.showPage(static_cast<MainWindow::Page>(page));
    });
    timer->start();
}

} // namespace tunesmith
