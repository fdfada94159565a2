// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/difference_panel.h"
#include "widgets/optimize/plain_table.h"
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

namespace tunesmith {
namespace {

QString signedNumber(qint64 number) {
    if (number == 0)
        return QStringLiteral("–");
    return number > 0 ? QStringLiteral("+%1").arg(number) : QStringLiteral("−%1").arg(-number);
}

QVector<TableColumn<OperatorEntry>> operatorColumns() {
    using Row = const OperatorEntry&;
    const auto tr = [](const char* text) { return DifferencePanel::tr(text); };
    return {{tr("Operator"), tr("What is computed"), [](Row r) { return r.key; }},
            {tr("Before"), tr("Nodes of it in the original"), [](Row r) { return r.before; }, nullptr, kRight},
            {tr("After"), tr("Nodes of it in the best graph"), [](Row r) { return r.after; }, nullptr, kRight},
            {tr("Change"), tr("After less before"), [](Row r) { return signedNumber(r.after - r.before); }, [](Row r) { return r.after - r.before; }, kRight}};
}

QVector<TableColumn<NodeChange>> nodeColumns() {
    using Row = const NodeChange&;
    const auto tr = [](const char* text) { return DifferencePanel::tr(text); };
    return {{tr("Node"), tr("Its name; choose one to see it in the picture"), [](Row r) { return r.name; }, nullptr, kLeft,
             [](Row r) { return r.name; }},
            {tr("Operator"), tr("What is computed"), [](Row r) { return r.op; }},
            {tr("What"), tr("Whether the rewrites brought it or took it away"), [tr](Row r) { return r.appeared ? tr("appeared") : tr("vanished"); }}};
}

QVector<TableColumn<RefusalEntry>> refusalColumns() {
    using Row = const RefusalEntry&;
    const auto tr = [](const char* text) { return RefusalPanel::tr(text); };
    return {{tr("Rule"), tr("A rule that was found and not applied, or nearly found"), [](Row r) { return r.rule; }},
            {tr("Places"), tr("In all graphs that were expanded; in the best one where the rule nearly fits"), [](Row r) { return r.count; }, nullptr, kRight},
            {tr("Why not"), tr("What the rule says about those places"), [](Row r) { return r.reason; }, nullptr, kLeft,
             [](Row r) { return r.reason; }}};
}

} // namespace

DifferencePanel::DifferencePanel(QWidget* parent)
    : QWidget(parent), operators_(new RowTableModel<OperatorEntry>(operatorColumns(), this)), nodes_(new RowTableModel<NodeChange>(nodeColumns(), this)),
      operatorTable_(new PlainTable(operators_, 0, this)), nodeTable_(new PlainTable(nodes_, 0, this)) {
    auto* parts = new QSplitter(Qt::Vertical, this);
    parts->setChildrenCollapsible(false);
    parts->addWidget(operatorTable_);
    parts->addWidget(nodeTable_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(parts);
    operatorTable_->setObjectName(QStringLiteral("operatorTable"));
    operatorTable_->setAccessibleName(tr("Operators before and after"));
    nodeTable_->setObjectName(QStringLiteral("nodeTable"));
    nodeTable_->setAccessibleName(tr("Nodes that vanished and appeared"));
    connect(nodeTable_, &PlainTable::currentKeyChanged, this, [this] {
        for (const NodeChange& change : nodes_->rows())
            if (nodeTable_->currentKey().isValid() && nodeTable_->currentKey().toLongLong() == change.key)
                return emit nodeChosen(change.key, !change.appeared);
    });
}

void DifferencePanel::setDifference(const QVector<OperatorEntry>& operators, const QVector<NodeChange>& nodes) {
    operators_->setRows(operators);
    nodes_->setRows(nodes);
    operatorTable_->fitColumns();
    nodeTable_->fitColumns();
}

RefusalPanel::RefusalPanel(QWidget* parent)
    : QWidget(parent), model_(new RowTableModel<RefusalEntry>(refusalColumns(), this)), table_(new PlainTable(model_, 2, this)), none_(new QLabel(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(none_);
    column->addWidget(table_, 1);
    none_->setMargin(12);
    none_->setWordWrap(true);
    none_->setTextFormat(Qt::PlainText);
    none_->setForegroundRole(QPalette::PlaceholderText);
    none_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    table_->setObjectName(QStringLiteral("refusalTable"));
    table_->setAccessibleName(tr("Rules that were found and not applied, or nearly found"));
}

void RefusalPanel::setRefusals(const QVector<RefusalEntry>& refusals, const QString& whenNone) {
    model_->setRows(refusals);
    table_->fitColumns();
    table_->setVisible(!refusals.isEmpty());
    none_->setVisible(refusals.isEmpty());
    none_->setText(whenNone);
}

} // namespace tunesmith
