// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/docked_page.h"
#include <QDockWidget>

namespace tunesmith {
namespace {

bool isColumn(Qt::DockWidgetArea area) {
    return area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea;
}

} // namespace

DockedPage::DockedPage(const QString& name, QWidget* parent) : QMainWindow(parent) {
    setObjectName(name);
    setWindowFlags(Qt::Widget);
}

QDockWidget* DockedPage::addDock(const char* name, const QString& title, QWidget* widget,
                                 Qt::DockWidgetArea area, Place place) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(QLatin1String(name));
    dock->setWidget(widget);
    docks_.push_back(dock);
    areas_.push_back(area);
    places_.push_back(place);
    return dock;
}

void DockedPage::resetLayout() {
    for (int i = 0; i < docks_.size(); ++i) {
        addDockWidget(areas_[i], docks_[i]);
        docks_[i]->setFloating(false);
        docks_[i]->show();
        if (i == 0 || areas_[i] != areas_[i - 1])
            continue;
        if (places_[i] == Place::tab)
            tabifyDockWidget(docks_[i - 1], docks_[i]);
        else
            splitDockWidget(docks_[i - 1], docks_[i], isColumn(areas_[i]) ? Qt::Vertical : Qt::Horizontal);
    }
    for (int i = 0; i + 1 < docks_.size(); ++i)
        if (places_[i] == Place::beside && places_[i + 1] == Place::tab)
            docks_[i]->raise(); // the first of those that share a place
    sized_ = false;
    if (isVisible())
        sizeAtFirst();
}

bool DockedPage::recallLayout(const QByteArray& state, int version) {
    sized_ = restoreState(state, version);
    return sized_;
}

// Sizes of docks mean something only once the page has its own.
void DockedPage::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    if (!sized_)
        QMetaObject::invokeMethod(this, &DockedPage::sizeAtFirst, Qt::QueuedConnection);
}

void DockedPage::sizeAtFirst() {
    sized_ = true;
    sizeDocks();
}

} // namespace tunesmith
