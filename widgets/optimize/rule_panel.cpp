// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/rule_panel.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/optimize/plain_table.h"
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTextBrowser>
#include <algorithm>

namespace tunesmith {
namespace {

QVector<TableColumn<RuleEntry>> ruleColumns(const std::shared_ptr<QString>& unit) {
    using Row = const RuleEntry&;
    const auto tr = [](const char* text) { return RuleModel::tr(text); };
    return {
        {tr("Rule"), tr("Checked rules may be used; the next run does without the others"), [](Row r) { return r.key; }, nullptr, kLeft,
         [](Row r) { return r.key; }},
        {tr("Times"), tr("Steps of the best way that apply it"), [](Row r) { return r.count; }, nullptr, kRight},
        {tr("Gain"), tr("What those steps changed the cost by, together"),
         [unit](Row r) { return r.count > 0 ? gainText(r.gain, *unit) : QString(); }, [](Row r) { return r.gain; }, kRight},
        {tr("Equation"), tr("What is replaced by what"), [](Row r) { return r.equation; }, nullptr, kLeft,
         [](Row r) { return r.equation; }},
    };
}

} // namespace

RuleModel::RuleModel(QObject* parent) : RuleModel(std::make_shared<QString>(), parent) {}

RuleModel::RuleModel(std::shared_ptr<QString> unit, QObject* parent) : RowTableModel(ruleColumns(unit), parent), unit_(std::move(unit)) {}

QVariant RuleModel::data(const QModelIndex& index, int role) const {
    if (role == Qt::CheckStateRole && index.column() == 0)
        return static_cast<int>(rows()[index.row()].without ? Qt::Unchecked : Qt::Checked);
    if (role == Qt::ForegroundRole && rows()[index.row()].without)
        return Theme::instance().color(Theme::Role::disabled);
    return RowTableModel::data(index, role);
}

bool RuleModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::CheckStateRole || index.column() != 0)
        return false;
    QVector<RuleEntry> changed = rows();
    changed[index.row()].without = value.toInt() == Qt::Unchecked;
    const RuleEntry entry = changed[index.row()];
    setRows(changed);
    emit withoutToggled(entry.key, entry.without);
    return true;
}

Qt::ItemFlags RuleModel::flags(const QModelIndex& index) const {
    return RowTableModel::flags(index) | (index.column() == 0 ? Qt::ItemIsUserCheckable : Qt::NoItemFlags);
}

RulePanel::RulePanel(QWidget* parent)
    : QWidget(parent), model_(new RuleModel(this)), table_(new PlainTable(model_, 3, this)), card_(new QTextBrowser(this)), wish_(new QLabel(this)),
      again_(new QPushButton(tr("Ru&n again"), this)) {
    auto* parts = new QSplitter(Qt::Vertical, this);
    parts->setChildrenCollapsible(false);
    parts->addWidget(table_);
    parts->addWidget(card_);
    parts->setStretchFactor(0, 2);
    parts->setStretchFactor(1, 3);
    auto* strip = new QHBoxLayout;
    strip->setContentsMargins(8, 4, 8, 6);
    strip->addWidget(wish_, 1);
    strip->addWidget(again_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(parts, 1);
    column->addLayout(strip);
    table_->setObjectName(QStringLiteral("ruleTable"));
    table_->setAccessibleName(tr("Rules that were applied"));
    card_->setAccessibleName(tr("The selected rule"));
    card_->setFrameShape(QFrame::NoFrame);
    card_->document()->setDocumentMargin(10);
    wish_->setWordWrap(true);
    wish_->setTextFormat(Qt::PlainText);
    again_->setToolTip(tr("Search again with the rules that are checked"));
    again_->setObjectName(QStringLiteral("runAgain"));
    connect(table_, &PlainTable::currentKeyChanged, this, [this] {
        showCard();
        emit selectionChanged();
    });
    connect(table_, &PlainTable::activated, this, [this] {
        if (current() && !current()->steps.isEmpty())
            emit stepRequested(current()->steps.front());
    });
    connect(model_, &RuleModel::withoutToggled, this, &RulePanel::refreshWish);
    connect(again_, &QPushButton::clicked, this, &RulePanel::runRequested);
    connect(&Theme::instance(), &Theme::changed, this, &RulePanel::showCard);
    setRules({}, {});
}

void RulePanel::setRules(const QVector<RuleEntry>& rules, const QString& unit) {
    unit_ = unit;
    model_->setUnit(unit);
    model_->setRows({});
    model_->setRows(rules);
    table_->fitColumns();
    shown_ = without();
    refreshWish();
    showCard();
}

QStringList RulePanel::without() const {
    QStringList names;
    for (const RuleEntry& rule : model_->rows())
        if (rule.without)
            names << rule.key;
    return names;
}

void RulePanel::setWithout(const QString& rule, bool without) {
    for (int row = 0; row < model_->rows().size(); ++row)
        if (model_->rows()[row].key == rule)
            model_->setData(model_->index(row, 0), without ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

void RulePanel::setBusy(bool busy) {
    busy_ = busy;
    refreshWish();
}

void RulePanel::refreshWish() {
    const bool wished = without() != shown_;
    wish_->setVisible(wished);
    again_->setVisible(wished);
    again_->setEnabled(!busy_);
    wish_->setText(without().isEmpty() ? tr("The next run uses all rules.") : tr("The next run does without %1.").arg(without().join(QStringLiteral(", "))));
}

const RuleEntry* RulePanel::current() const {
    const QString key = table_->currentKey().toString();
    const auto& rows = model_->rows();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const RuleEntry& rule) { return rule.key == key; });
    return found == rows.end() ? nullptr : &*found;
}

void RulePanel::select(const QString& rule) {
    table_->setCurrentKey(rule);
}

QString RulePanel::cardText() const {
    return card_->toPlainText();
}

void RulePanel::showCard() {
    const RuleEntry* rule = current();
    const QString hint = model_->rows().isEmpty() ? tr("Rules that make the graph cheaper are listed here once it was optimized.")
                                                  : tr("Select a rule to see what it replaces, under which conditions, and where.");
    const QString muted = Theme::instance().color(Theme::Role::muted).name();
    card_->setHtml(rule ? cardHtml(*rule) : QStringLiteral("<p style='color:%1'>%2</p>").arg(muted, hint.toHtmlEscaped()));
}

QString RulePanel::cardHtml(const RuleEntry& rule) const {
    const QString muted = Theme::instance().color(Theme::Role::muted).name();
    const auto section = [&](const QString& title, const QString& html) {
        return QStringLiteral("<p style='margin-top:6px; margin-bottom:0'><span style='color:%1'>%2</span><br>%3</p>").arg(muted, title.toHtmlEscaped(), html);
    };
    const auto list = [](const QStringList& lines) {
        QStringList escaped;
        for (const QString& line : lines)
            escaped << QStringLiteral("• ") + oneLine(line, kValueLength).toHtmlEscaped();
        return escaped.join(QStringLiteral("<br>"));
    };
    QString html = QStringLiteral("<b>%1</b>").arg(rule.key.toHtmlEscaped());
    QStringList equation = rule.equation.toHtmlEscaped().split(QStringLiteral(" = "));
    html += section(tr("Equation"), QStringLiteral("<code>%1</code>").arg(equation.join(QStringLiteral("<br>= "))));
    if (rule.count > 0 || !rule.conditions.isEmpty()) // else they are not known
        html += section(tr("Holds when"), rule.conditions.isEmpty() ? tr("always").toHtmlEscaped() : list(rule.conditions));
    if (!rule.evidence.isEmpty())
        html += section(tr("Known from"), rule.evidence.toHtmlEscaped());
    if (rule.count == 0)
        return html + section(tr("Used"), tr("not in the best way").toHtmlEscaped());
    QStringList steps;
    for (const int step : rule.steps.mid(0, 20))
        steps << QString::number(step);
    const QString places = steps.join(QStringLiteral(", ")) + (rule.steps.size() > 20 ? QStringLiteral(" …") : QString());
    html += section(tr("Used"), tr("times: %1 · cost: %2 · steps: %3").arg(rule.count).arg(gainText(rule.gain, unit_), places).toHtmlEscaped());
    return rule.followed.isEmpty() ? html : html + section(tr("Simplifications that followed"), list(rule.followed));
}

} // namespace tunesmith
