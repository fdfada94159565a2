// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/notice_bar.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

namespace tunesmith {
namespace {

constexpr int kShown = 500; // characters; Copy details has all

} // namespace

NoticeBar::NoticeBar(QWidget* parent)
    : QFrame(parent), text_(new QLabel(this)), show_(new QPushButton(tr("Show"), this)),
      copy_(new QPushButton(tr("Copy details"), this)), close_(new QToolButton(this)) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(18, 7, 8, 7);
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setSizePolicy(QSizePolicy::Ignored,
                         QSizePolicy::Preferred); // long words must not widen the window
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(text_, 1);
    row->addWidget(show_);
    row->addWidget(copy_);
    row->addWidget(close_);
    show_->setObjectName(QStringLiteral("show"));
    copy_->setObjectName(QStringLiteral("copy"));
    close_->setObjectName(QStringLiteral("dismiss"));
    close_->setText(QStringLiteral("✕"));
    close_->setAutoRaise(true);
    close_->setFocusPolicy(Qt::TabFocus);
    close_->setToolTip(tr("Dismiss (Esc)"));
    close_->setAccessibleName(tr("Dismiss this message"));
    connect(show_, &QPushButton::clicked, this, &NoticeBar::showRequested);
    connect(copy_, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(details_); });
    connect(close_, &QToolButton::clicked, this, &NoticeBar::dismiss);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
    hide();
}

void NoticeBar::showMessage(Kind kind, const QString& text, const QString& details, const QString& showText) {
    kind_ = kind;
    details_ = details;
    const QString shown = oneLine(text, kShown);
    text_->setText(shown);
    show_->setText(showText);
    show_->setVisible(!showText.isEmpty());
    copy_->setVisible(!details.isEmpty());
    const QString kinds[] = {tr("Information"), tr("Success"), tr("Warning"), tr("Error")};
    setAccessibleName(tr("%1: %2").arg(kinds[static_cast<int>(kind)], shown));
    show();
    update();
}

QColor NoticeBar::tone() const {
    using Role = Theme::Role;
    constexpr Role roles[] = {Role::accent, Role::success, Role::warning, Role::error};
    return Theme::instance().color(roles[static_cast<int>(kind_)]);
}

void NoticeBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Theme::mix(tone(), Theme::instance().color(Theme::Role::window), 0.5));
    painter.setBrush(Theme::mix(Theme::instance().color(Theme::Role::surface), tone(), 0.12));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    painter.setPen(Qt::NoPen);
    painter.setBrush(tone());
    painter.drawRoundedRect(QRectF(6, 7, 4, height() - 14), 2, 2);
}

void NoticeBar::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape)
        dismiss();
    else
        QFrame::keyPressEvent(event);
}

void NoticeBar::dismiss() {
    hide();
    emit dismissed();
}

} // namespace tunesmith
