// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/optimize_bar.h"
#include "widgets/base/foreign_text.h"
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QSpinBox>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

void fill(QComboBox* box, const QVector<NamedChoice>& choices) {
    box->clear();
    for (const NamedChoice& choice : choices) {
        box->addItem(choice.name);
        box->setItemData(box->count() - 1, plainToolTip(choice.help), Qt::ToolTipRole);
    }
}

// The tool tip of a closed box says what is chosen.
void tellChoice(QComboBox* box, const QString& help) {
    const QString chosen = box->currentData(Qt::ToolTipRole).toString();
    box->setToolTip(chosen.isEmpty() ? help : help + QStringLiteral("<p>") + box->currentText().toHtmlEscaped() + QStringLiteral(": ") + chosen);
    box->setAccessibleDescription(chosen);
}

} // namespace

OptimizeBar::OptimizeBar(QWidget* parent)
    : QWidget(parent), search_(new QComboBox(this)), cost_(new QComboBox(this)), rules_(new QComboBox(this)), alpha_(new QDoubleSpinBox(this)),
      seconds_(new QDoubleSpinBox(this)), budget_(new QSpinBox(this)), progress_(new QProgressBar(this)) {
    alpha_->setRange(1, 10);
    alpha_->setSingleStep(0.05);
    budget_->setRange(1, 100'000'000);
    budget_->setGroupSeparatorShown(true);
    budget_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    seconds_->setRange(0, 7 * 24 * 3600);
    seconds_->setDecimals(0);
    seconds_->setSuffix(tr(" s"));
    seconds_->setSpecialValueText(tr("no limit"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    const QString searchHelp = tr("How the graphs that rules lead to are searched"), costHelp = tr("What makes a graph cheaper than another"),
                  rulesHelp = tr("Which rules the search chooses from");
    addField(row, tr("&Search:"), search_, tr("Search"), searchHelp);
    addField(row, tr("&Cost:"), cost_, tr("Cost"), costHelp);
    addField(row, tr("R&ules:"), rules_, tr("Rules"), rulesHelp);
    addField(row, tr("&Alpha:"), alpha_, tr("Alpha"),
             tr("Graphs up to so many times as dear as the best are looked at further: 1 takes only what is better at once, more gets over hills"));
    addField(row, tr("&Budget:"), budget_, tr("Budget of graphs"), tr("So many graphs are expanded, at most"));
    addField(row, tr("T&ime:"), seconds_, tr("Limit of time"), tr("The search takes so many seconds, at most; with a limit, the same search may end elsewhere another time"));
    row->addWidget(progress_, 1);
    row->addStretch(0);
    progress_->setAccessibleName(tr("Progress of the optimization"));
    progress_->setMinimumWidth(fontMetrics().averageCharWidth() * 10);
    progress_->setMaximumWidth(fontMetrics().averageCharWidth() * 60);
    connect(search_, &QComboBox::currentIndexChanged, this, [=, this] { tellChoice(search_, searchHelp); });
    connect(cost_, &QComboBox::currentIndexChanged, this, [=, this] { tellChoice(cost_, costHelp); });
    connect(rules_, &QComboBox::currentIndexChanged, this, [=, this] { tellChoice(rules_, rulesHelp); });
    setBusy(false);
}

void OptimizeBar::addField(QHBoxLayout* row, const QString& label, QWidget* field, const QString& name, const QString& help) {
    auto* text = new QLabel(label, this);
    text->setBuddy(field);
    field->setAccessibleName(name);
    field->setToolTip(help);
    row->addWidget(text);
    row->addWidget(field);
}

void OptimizeBar::setSearches(const QVector<NamedChoice>& searches) {
    fill(search_, searches);
}

void OptimizeBar::setCosts(const QVector<NamedChoice>& costs) {
    fill(cost_, costs);
}

void OptimizeBar::setRuleSets(const QVector<NamedChoice>& sets) {
    fill(rules_, sets);
}

void OptimizeBar::setChoice(const OptimizeChoice& choice) {
    search_->setCurrentText(choice.search);
    cost_->setCurrentText(choice.cost);
    alpha_->setValue(choice.alpha);
    budget_->setValue(static_cast<int>(std::min<qint64>(choice.budget, budget_->maximum())));
    seconds_->setValue(choice.seconds);
    rules_->setCurrentText(choice.rules);
}

OptimizeChoice OptimizeBar::choice() const {
    return {search_->currentText(), cost_->currentText(), alpha_->value(), budget_->value(), seconds_->value(), rules_->currentText()};
}

void OptimizeBar::setBusy(bool busy) {
    for (QWidget* field : std::initializer_list<QWidget*>{search_, cost_, rules_, alpha_, seconds_, budget_})
        field->setEnabled(!busy);
    progress_->setVisible(busy);
    setProgress({}, -1);
}

void OptimizeBar::setProgress(const QString& phase, double fraction) {
    progress_->setRange(0, fraction < 0 ? 0 : 1000);
    progress_->setValue(static_cast<int>(std::lround(std::clamp(fraction, 0., 1.) * 1000)));
    progress_->setFormat(phase);
    progress_->setToolTip(plainToolTip(phase));
}

} // namespace tunesmith
