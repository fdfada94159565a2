// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/status_progress.h"
#include "widgets/base/foreign_text.h"
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>
#include <algorithm>
#include <cmath>

namespace tunesmith {

QString remainingText(double seconds) {
    if (seconds < 0)
        return {};
    const auto tr = [](const char* text, int n) {
        return QCoreApplication::translate("tunesmith::StatusProgress", text, nullptr, n);
    };
    if (seconds < 90)
        return tr("%n s left", std::max(1, static_cast<int>(std::lround(seconds))));
    if (seconds < 90 * 60)
        return tr("about %n min left", static_cast<int>(std::lround(seconds / 60)));
    return tr("about %n h left", static_cast<int>(std::lround(seconds / 3600)));
}

StatusProgress::StatusProgress(QWidget* parent)
    : QWidget(parent), job_(new QLabel(this)), bar_(new QProgressBar(this)), remaining_(new QLabel(this)),
      cancel_(new QToolButton(this)) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(4, 0, 4, 0);
    row->setSpacing(8);
    for (QWidget* widget : std::initializer_list<QWidget*>{job_, bar_, remaining_, cancel_})
        row->addWidget(widget);
    job_->setTextFormat(Qt::PlainText);
    bar_->setMaximumWidth(220);
    bar_->setAccessibleName(tr("Progress of the running job"));
    remaining_->setForegroundRole(QPalette::PlaceholderText);
    cancel_->setText(tr("Cancel"));
    cancel_->setObjectName(QStringLiteral("cancel"));
    cancel_->setFocusPolicy(Qt::TabFocus);
    cancel_->setAccessibleName(tr("Cancel the running job"));
    connect(cancel_, &QToolButton::clicked, this, [this] {
        cancel_->setEnabled(false);
        cancel_->setText(tr("Cancelling…"));
        emit cancelRequested();
    });
    hide();
}

void StatusProgress::start(const QString& job) {
    job_->setText(job);
    cancel_->setEnabled(true);
    cancel_->setText(tr("Cancel"));
    cancel_->setToolTip(plainToolTip(tr("Stop: %1").arg(job)));
    running_.start();
    setProgress(-1);
    show();
}

void StatusProgress::setProgress(double fraction, double remainingSeconds) {
    const bool known = fraction >= 0;
    bar_->setRange(0, known ? 1000 : 0);
    bar_->setTextVisible(known);
    if (known) {
        bar_->setValue(static_cast<int>(std::lround(std::min(fraction, 1.0) * 1000)));
        bar_->setFormat(tr("%1 %").arg(static_cast<int>(std::min(fraction, 1.0) * 100)));
    }
    const double elapsed = static_cast<double>(running_.elapsed()) / 1000;
    if (remainingSeconds < 0 && fraction > 0.02 && elapsed > 1)
        remainingSeconds = elapsed * (1 - fraction) / fraction;
    remaining_->setText(remainingText(remainingSeconds));
}

void StatusProgress::finish() {
    hide();
}

} // namespace tunesmith
