// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/budget_form.h"
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpressionValidator>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QThread>

namespace tunesmith {

BudgetForm::BudgetForm(QWidget* parent)
    : QWidget(parent), kind_(new QComboBox(this)), strategy_(new QComboBox(this)),
      amount_(new QSpinBox(this)), threads_(new QSpinBox(this)), seed_(new QLineEdit(this)),
      help_(new QLabel(this)) {
    kind_->addItems({tr("Trials per workload"), tr("Trials in total"), tr("Time")});
    kind_->setToolTip(tr("What limits the tuning (--trials-per-workload, --trials, --time)"));
    amount_->setGroupSeparatorShown(true);
    threads_->setToolTip(tr("Threads that the tuned kernels will use, one run for each (--threads)"));
    setMaximumThreads(QThread::idealThreadCount());
    seed_->setText(QStringLiteral("1"));
    seed_->setToolTip(tr("The same seed repeats the same search (--seed)"));
    seed_->setValidator(
        new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]{1,18}")), seed_));
    help_->setWordWrap(true);
    help_->setForegroundRole(QPalette::PlaceholderText);
    auto* budget = new QHBoxLayout;
    budget->addWidget(kind_, 1);
    budget->addWidget(amount_, 1);
    auto* form = new QFormLayout(this);
    form->addRow(tr("&Budget:"), budget);
    form->addRow(tr("&Strategy:"), strategy_);
    form->addRow(QString(), help_);
    form->addRow(tr("&Threads:"), threads_);
    form->addRow(tr("S&eed:"), seed_);
    if (auto* label = qobject_cast<QLabel*>(form->labelForField(budget)))
        label->setBuddy(kind_);
    kind_->setAccessibleName(tr("Kind of budget"));
    amount_->setAccessibleName(tr("Amount of the budget"));
    strategy_->setAccessibleName(tr("Search strategy"));
    threads_->setAccessibleName(tr("Threads"));
    seed_->setAccessibleName(tr("Seed"));
    kindChanged();
    connect(kind_, &QComboBox::currentIndexChanged, this, &BudgetForm::kindChanged);
    connect(strategy_, &QComboBox::currentIndexChanged, this, [this](int index) {
        help_->setText(strategy_->itemData(index, Qt::ToolTipRole).toString());
        emit changed();
    });
    for (auto* spin : {amount_, threads_})
        connect(spin, &QSpinBox::valueChanged, this, &BudgetForm::changed);
    connect(seed_, &QLineEdit::textChanged, this, &BudgetForm::changed);
}

void BudgetForm::kindChanged() {
    const auto kind = static_cast<BudgetKind>(kind_->currentIndex());
    if (kind != shown_)
        remembered_[static_cast<int>(shown_)] = amount_->value();
    shown_ = kind;
    {
        const QSignalBlocker quiet(amount_);
        amount_->setRange(1, kind == BudgetKind::seconds ? 7 * 24 * 3600 : 10'000'000);
        amount_->setSuffix(kind == BudgetKind::seconds ? tr(" s") : tr(" trials"));
        amount_->setValue(remembered_[static_cast<int>(kind)]);
    }
    emit changed();
}

void BudgetForm::setStrategies(const QVector<StrategyChoice>& strategies) {
    const QString before = strategy_->currentData().toString();
    {
        const QSignalBlocker quiet(strategy_);
        strategy_->clear();
        for (const auto& strategy : strategies) {
            strategy_->addItem(strategy.name, strategy.key);
            strategy_->setItemData(strategy_->count() - 1, strategy.help, Qt::ToolTipRole);
        }
        strategy_->setCurrentIndex(std::max(0, strategy_->findData(before)));
    }
    help_->setText(strategy_->currentData(Qt::ToolTipRole).toString());
    emit changed();
}

void BudgetForm::setMaximumThreads(int threads) {
    threads_->setRange(threads > 1 ? 0 : 1, std::max(1, threads));
    threads_->setSpecialValueText(threads > 1 ? tr("1, then %1").arg(threads) : QString());
}

BudgetChoice BudgetForm::choice() const {
    return {static_cast<BudgetKind>(kind_->currentIndex()), amount_->value(),
            strategy_->currentData().toString(), threads_->value(), seed_->text().toULongLong()};
}

void BudgetForm::setChoice(const BudgetChoice& choice) {
    remembered_[static_cast<int>(choice.kind)] = choice.amount;
    kind_->setCurrentIndex(static_cast<int>(choice.kind));
    amount_->setValue(choice.amount);
    if (const int index = strategy_->findData(choice.strategy); index >= 0)
        strategy_->setCurrentIndex(index);
    threads_->setValue(choice.threads);
    seed_->setText(QString::number(choice.seed));
}

} // namespace tunesmith
