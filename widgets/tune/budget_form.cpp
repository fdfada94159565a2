// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/budget_form.h"
#include "widgets/base/foreign_text.h"
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpressionValidator>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QThread>
#include <QToolButton>

namespace tunesmith {
namespace {

constexpr int kThreadsRole = Qt::UserRole + 1; // of a device
constexpr int kMostDevices = 64;

// The choice stays where it is still offered.
void fill(QComboBox* box, const QVector<StrategyChoice>& choices) {
    const QSignalBlocker quiet(box);
    const QString before = box->currentData().toString();
    box->clear();
    for (const StrategyChoice& choice : choices) {
        box->addItem(choice.name, choice.key);
        box->setItemData(box->count() - 1, choice.help, Qt::ToolTipRole);
    }
    box->setCurrentIndex(std::max(0, box->findData(before)));
}

void choose(QComboBox* box, const QString& key) {
    if (const int index = box->findData(key); index >= 0)
        box->setCurrentIndex(index);
}

} // namespace

BudgetForm::BudgetForm(QWidget* parent)
    : QWidget(parent), kind_(new QComboBox(this)), strategy_(new QComboBox(this)),
      space_(new QComboBox(this)), device_(new QComboBox(this)), amount_(new QSpinBox(this)), threads_(new QSpinBox(this)), devices_(new QSpinBox(this)), seed_(new QLineEdit(this)),
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
    space_->setToolTip(tr("Whose schedules are searched; a resumed run keeps its own (--space)"));
    help_->setWordWrap(true);
    help_->setForegroundRole(QPalette::PlaceholderText);
    auto* budget = new QHBoxLayout;
    budget->addWidget(kind_, 1);
    budget->addWidget(amount_, 1);
    auto* form = new QFormLayout(this);
    form->addRow(tr("&Budget:"), budget);
    form->addRow(tr("&Strategy:"), strategy_);
    form->addRow(QString(), help_);
    form->addRow(tr("S&pace:"), space_);
    form->addRow(tr("&On:"), createPlace());
    form->addRow(tr("&Threads:"), threads_);
    form->addRow(tr("S&eed:"), seed_);
    if (auto* label = qobject_cast<QLabel*>(form->labelForField(budget)))
        label->setBuddy(kind_);
    kind_->setAccessibleName(tr("Kind of budget"));
    amount_->setAccessibleName(tr("Amount of the budget"));
    strategy_->setAccessibleName(tr("Search strategy"));
    space_->setAccessibleName(tr("Space of schedules"));
    threads_->setAccessibleName(tr("Threads"));
    seed_->setAccessibleName(tr("Seed"));
    kindChanged();
    setDevices({});
    connect(kind_, &QComboBox::currentIndexChanged, this, &BudgetForm::kindChanged);
    connect(strategy_, &QComboBox::currentIndexChanged, this, [this](int index) {
        help_->setText(strategy_->itemData(index, Qt::ToolTipRole).toString());
        emit changed();
    });
    connect(space_, &QComboBox::currentIndexChanged, this, &BudgetForm::changed);
    connect(device_, &QComboBox::currentIndexChanged, this, &BudgetForm::placeChanged);
    for (auto* spin : {amount_, threads_, devices_})
        connect(spin, &QSpinBox::valueChanged, this, &BudgetForm::changed);
    connect(seed_, &QLineEdit::textChanged, this, &BudgetForm::changed);
}

QWidget* BudgetForm::createPlace() {
    auto* place = new QWidget(this);
    auto* row = new QHBoxLayout(place);
    row->setContentsMargins(0, 0, 0, 0);
    device_->setToolTip(tr("Where kernels are built and measured (--device)"));
    device_->setAccessibleName(tr("Machine"));
    devices_->setRange(1, kMostDevices);
    devices_->setPrefix(tr("at most "));
    devices_->setToolTip(tr("Workloads are divided between so many devices (--devices)"));
    devices_->setAccessibleName(tr("Most devices at a time"));
    auto* more = new QToolButton(this);
    more->setText(tr("…"));
    more->setToolTip(tr("Devices that a tracker lends"));
    more->setAccessibleName(more->toolTip());
    more->setFocusPolicy(Qt::TabFocus);
    connect(more, &QToolButton::clicked, this, &BudgetForm::devicesWanted);
    row->addWidget(device_, 2);
    row->addWidget(devices_, 1);
    row->addWidget(more);
    place->setFocusProxy(device_);
    return place;
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
    fill(strategy_, strategies);
    help_->setText(strategy_->currentData(Qt::ToolTipRole).toString());
    emit changed();
}

void BudgetForm::setSpaces(const QVector<StrategyChoice>& spaces) {
    fill(space_, spaces);
    emit changed();
}

void BudgetForm::setMaximumThreads(int threads) {
    machineThreads_ = threads;
    placeChanged();
}

// What was chosen stays chosen where it is still there.
void BudgetForm::setDevices(const QVector<DeviceOption>& devices) {
    const QString before = device_->currentData().toString();
    {
        const QSignalBlocker quiet(device_);
        device_->clear();
        device_->addItem(tr("This machine"), QString());
        for (const DeviceOption& device : devices) {
            device_->addItem(device.name, device.key);
            device_->setItemData(device_->count() - 1, plainToolTip(device.help), Qt::ToolTipRole);
            device_->setItemData(device_->count() - 1, device.threads, kThreadsRole);
        }
        device_->setCurrentIndex(std::max(0, device_->findData(before)));
    }
    placeChanged();
}

void BudgetForm::placeChanged() {
    const bool here = device_->currentIndex() <= 0;
    const int threads = here ? machineThreads_ : device_->currentData(kThreadsRole).toInt();
    devices_->setVisible(!here);
    threads_->setRange(threads > 1 ? 0 : 1, std::max(1, threads));
    threads_->setSpecialValueText(threads > 1 ? tr("1, then %1").arg(threads) : QString());
    emit changed();
}

BudgetChoice BudgetForm::choice() const {
    return {static_cast<BudgetKind>(kind_->currentIndex()), amount_->value(),
            strategy_->currentData().toString(), threads_->value(), seed_->text().toULongLong(),
            space_->currentData().toString(), device_->currentData().toString(), devices_->value()};
}

void BudgetForm::setChoice(const BudgetChoice& choice) {
    remembered_[static_cast<int>(choice.kind)] = choice.amount;
    kind_->setCurrentIndex(static_cast<int>(choice.kind));
    amount_->setValue(choice.amount);
    choose(strategy_, choice.strategy);
    choose(space_, choice.space);
    choose(device_, choice.device); // before the threads, of which it may have more
    devices_->setValue(choice.devices);
    threads_->setValue(choice.threads);
    seed_->setText(QString::number(choice.seed));
}

} // namespace tunesmith
