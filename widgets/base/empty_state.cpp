// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/empty_state.h"
#include "widgets/base/theme.h"
#include <QAction>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace tunesmith {

constexpr int kLineLength = 100; // characters; longer ones read badly

EmptyState::EmptyState(const QIcon& icon, const QString& title, const QString& sentence, QWidget* parent)
    : QWidget(parent), heading_(new QLabel(this)), text_(new QLabel(this)), button_(new QPushButton(this)) {
    auto* picture = new QLabel(this);
    picture->setPixmap(icon.pixmap(QSize(48, 48), devicePixelRatioF()));
    QFont font = Theme::scaled(heading_->font(), 1.4);
    font.setWeight(QFont::DemiBold);
    heading_->setFont(font);
    heading_->setTextFormat(Qt::PlainText);
    text_->setTextFormat(Qt::PlainText);
    text_->setWordWrap(true);
    text_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // long words must not widen the window
    text_->setAlignment(Qt::AlignHCenter);
    text_->setMaximumWidth(fontMetrics().averageCharWidth() * kLineLength);
    text_->setForegroundRole(QPalette::PlaceholderText);
    button_->setObjectName(QStringLiteral("action"));
    button_->setDefault(true);
    button_->hide();
    auto* column = new QVBoxLayout(this);
    column->setSpacing(10);
    column->addStretch(2);
    column->addWidget(picture, 0, Qt::AlignHCenter);
    column->addWidget(heading_, 0, Qt::AlignHCenter);
    auto* line = new QHBoxLayout; // keeps a text that may be narrower than its room in the middle
    line->addStretch(1);
    line->addWidget(text_, 1000);
    line->addStretch(1);
    column->addLayout(line);
    column->addWidget(button_, 0, Qt::AlignHCenter);
    picture->setVisible(!icon.isNull());
    column->addStretch(3);
    setText(title, sentence);
}

void EmptyState::setText(const QString& title, const QString& sentence) {
    heading_->setText(title);
    text_->setText(sentence);
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
