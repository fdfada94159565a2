// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/empty_state.h"
#include "widgets/base/theme.h"
#include <QAction>
#include <QIcon>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace tunesmith {

EmptyState::EmptyState(const QIcon& icon, const QString& title, const QString& sentence, QWidget* parent)
    : QWidget(parent), button_(new QPushButton(this)) {
    auto* picture = new QLabel(this);
    picture->setPixmap(icon.pixmap(QSize(48, 48), devicePixelRatioF()));
    auto* heading = new QLabel(title, this);
    QFont font = Theme::scaled(heading->font(), 1.4);
    font.setWeight(QFont::DemiBold);
    heading->setFont(font);
    auto* text = new QLabel(sentence, this);
    text->setWordWrap(true);
    text->setAlignment(Qt::AlignHCenter);
    text->setForegroundRole(QPalette::PlaceholderText);
    button_->setObjectName(QStringLiteral("action"));
    button_->setDefault(true);
    button_->hide();
    auto* column = new QVBoxLayout(this);
    column->setSpacing(10);
    column->addStretch(2);
    column->addWidget(picture, 0, Qt::AlignHCenter);
    column->addWidget(heading, 0, Qt::AlignHCenter);
    column->addWidget(text);
    column->addWidget(button_, 0, Qt::AlignHCenter);
    picture->setVisible(!icon.isNull());
    column->addStretch(3);
    setAccessibleName(title);
    setAccessibleDescription(sentence);
}

void EmptyState::setAction(QAction* action) {
    action_ = action;
    const auto follow = [this] {
        button_->setText(action_->text());
        button_->setToolTip(action_->toolTip());
        button_->setEnabled(action_->isEnabled());
        button_->setVisible(true);
    };
    follow();
    connect(action, &QAction::changed, this, follow);
    connect(button_, &QPushButton::clicked, action, &QAction::trigger);
}

} // namespace tunesmith
