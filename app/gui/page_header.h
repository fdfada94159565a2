// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QAction>
#include <QKeySequence>

class QHBoxLayout;
class QLabel;
class QWidget;

namespace tunesmith {

// What pages that run something have in common: commands, which are also buttons, below a line that says what is going on and one that says more.

template <typename Page>
QAction* pageCommand(Page* page, const char* name, const QString& text, const QKeySequence& keys, const QString& tip, void (Page::*run)()) {
    auto* action = new QAction(text, page);
    action->setObjectName(QLatin1String(name));
    action->setShortcut(keys);
    action->setStatusTip(tip);
    action->setToolTip(tip);
    QObject::connect(action, &QAction::triggered, page, run);
    return action;
}

void styleHeadlines(QLabel* headline, QLabel* detail); // plain text, which never widens the window
QHBoxLayout* commandButtons(const QList<QAction*>& commands, QWidget* parent);

} // namespace tunesmith
