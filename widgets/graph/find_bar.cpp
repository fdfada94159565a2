// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/graph/find_bar.h"
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

namespace tunesmith {

FindBar::FindBar(QWidget* parent) : QFrame(parent), input_(new QLineEdit(this)), count_(new QLabel(this)) {
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 6, 6, 6);
    input_->setPlaceholderText(tr("Find operator, name, shape…"));
    input_->setAccessibleName(tr("Find nodes"));
    input_->setClearButtonEnabled(true);
    input_->setMinimumWidth(fontMetrics().averageCharWidth() * 32);
    count_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000 / 0000")));
    count_->setAlignment(Qt::AlignCenter);
    row->addWidget(input_);
    row->addWidget(count_);
    const auto button = [&](const QString& text, const QString& name, auto pressed) {
        auto* made = new QToolButton(this);
        made->setText(text);
        made->setToolTip(name);
        made->setAccessibleName(name);
        made->setAutoRaise(true);
        made->setFocusPolicy(Qt::TabFocus);
        connect(made, &QToolButton::clicked, this, pressed);
        row->addWidget(made);
    };
    button(QStringLiteral("▲"), tr("Previous hit (Shift+F3)"), [this] { emit step(-1); });
    button(QStringLiteral("▼"), tr("Next hit (F3)"), [this] { emit step(1); });
    button(QStringLiteral("✕"), tr("Close (Esc)"), [this] { emit closed(); });
    connect(input_, &QLineEdit::textChanged, this, &FindBar::textChanged);
    hide();
}

QString FindBar::text() const {
    return input_->text();
}

void FindBar::popup() {
    show();
    raise();
    input_->setFocus();
    input_->selectAll();
}

void FindBar::setHits(int current, int count) {
    if (input_->text().isEmpty())
        count_->clear();
    else if (count == 0)
        count_->setText(tr("No hit"));
    else
        count_->setText(tr("%1 / %2").arg(current).arg(count));
    adjustSize();
}

void FindBar::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Escape:
        emit closed();
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Down:
        emit step(event->modifiers() & Qt::ShiftModifier ? -1 : 1);
        return;
    case Qt::Key_Up:
        emit step(-1);
        return;
    default:
        QFrame::keyPressEvent(event);
    }
}

} // namespace tunesmith
