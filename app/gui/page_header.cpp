// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/page_header.h"
#include "widgets/base/theme.h"
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace tunesmith {

void styleHeadlines(QLabel* headline, QLabel* detail) {
    QFont large = Theme::scaled(headline->font(), 1.35);
    large.setWeight(QFont::DemiBold);
    headline->setFont(large);
    detail->setForegroundRole(QPalette::PlaceholderText);
    for (QLabel* label : {headline, detail}) {
        label->setTextFormat(Qt::PlainText);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // long words must not widen the window
    }
}

QHBoxLayout* commandButtons(const QList<QAction*>& commands, QWidget* parent) {
    auto* buttons = new QHBoxLayout;
    for (QAction* action : commands) {
        auto* button = new QToolButton(parent);
        button->setDefaultAction(action);
        button->setFocusPolicy(Qt::TabFocus);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setMinimumHeight(parent->fontMetrics().height() * 2);
        buttons->addWidget(button);
    }
    return buttons;
}

} // namespace tunesmith
