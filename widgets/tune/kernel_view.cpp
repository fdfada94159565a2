// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/kernel_view.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include <QFontDatabase>
#include <QLabel>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTabWidget>
#include <QTextBlock>
#include <QVBoxLayout>

namespace tunesmith {

KernelView::KernelView(QWidget* parent) : QWidget(parent), title_(new QLabel(this)), schedule_(new QLabel(this)), tabs_(new QTabWidget(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    QFont bold = title_->font();
    bold.setWeight(QFont::DemiBold);
    title_->setFont(bold);
    schedule_->setForegroundRole(QPalette::PlaceholderText);
    for (QLabel* label : {title_, schedule_}) {
        label->setMinimumWidth(1); // also where a word of a foreign text is longer than the page
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        column->addWidget(label);
    }
    column->addWidget(tabs_, 1);
    tabs_->setDocumentMode(true);
    const std::array<QString, kPages> names{tr("Loops"), tr("LLVM IR"), tr("Assembly")};
    for (std::size_t i = 0; i < pages_.size(); ++i) {
        auto* page = pages_[i] = new QPlainTextEdit(this);
        page->setReadOnly(true);
        page->setLineWrapMode(QPlainTextEdit::NoWrap);
        page->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
        page->setTabStopDistance(page->fontMetrics().horizontalAdvance(QLatin1Char(' ')) * 8);
        page->setAccessibleName(names[i]);
        tabs_->addTab(page, names[i]);
    }
    setAccessibleName(tr("Kernel inspector"));
    connect(&Theme::instance(), &Theme::changed, this, &KernelView::markHotLoop);
    showMessage(tr("Choose a workload to see its kernel."));
}

void KernelView::showKernel(const KernelText& kernel) {
    title_->setText(kernel.hotLoop.isEmpty() ? kernel.title : tr("%1. %2").arg(kernel.title, kernel.hotLoop));
    schedule_->setText(kernel.schedule);
    pages_[0]->setPlainText(kernel.loops);
    pages_[1]->setPlainText(kernel.llvmIr);
    pages_[2]->setPlainText(kernel.assembly);
    hotLine_ = kernel.hotLine;
    hotLines_ = kernel.hotLines;
    schedule_->show();
    tabs_->show();
    markHotLoop();
    setAccessibleDescription(summary());
}

void KernelView::showMessage(const QString& message) {
    const QString text = oneLine(message, kValueLength);
    title_->setText(text);
    schedule_->clear();
    schedule_->hide();
    tabs_->hide();
    for (QPlainTextEdit* page : pages_)
        page->clear();
    hotLines_ = 0;
    markHotLoop();
    setAccessibleDescription(text);
}

QString KernelView::summary() const { return title_->text(); }

void KernelView::markHotLoop() {
    QPlainTextEdit* assembly = pages_[2];
    QList<QTextEdit::ExtraSelection> marks;
    for (int line = hotLine_; line < hotLine_ + hotLines_; ++line) {
        const QTextBlock block = assembly->document()->findBlockByNumber(line);
        if (!block.isValid())
            break;
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(block);
        mark.format.setBackground(Theme::mix(Theme::instance().category(0), Theme::instance().color(Theme::Role::surface), 0.8));
        mark.format.setProperty(QTextFormat::FullWidthSelection, true);
        marks.push_back(mark);
    }
    assembly->setExtraSelections(marks);
    if (hotLines_ > 0)
        assembly->verticalScrollBar()->setValue(std::max(0, hotLine_ - 2));
}

} // namespace tunesmith
