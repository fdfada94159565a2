// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/workload_table.h"
#include "widgets/base/sorted_rows.h"
#include "widgets/base/theme.h"
#include "widgets/tune/workload_delegates.h"
#include <QCoreApplication>
#include <QEvent>
#include <QHeaderView>
#include <QLocale>
#include <QSortFilterProxyModel>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

QString tr(const char* text) {
    return QCoreApplication::translate("tunesmith::WorkloadTable", text);
}

QString number(double value, int decimals, const QString& unit = {}) {
    return std::isfinite(value) ? QLocale().toString(value, 'f', decimals) + unit : QStringLiteral("–");
}

double sortable(double value) {
    return std::isfinite(value) ? value : std::numeric_limits<double>::max();
}

QVector<TableColumn<WorkloadEntry>> workloadColumns() {
    using Row = const WorkloadEntry&;
    const auto bar = [](Row r) { return QVariant(r.budget > 0 ? double(r.done) / r.budget : 0.0); };
    return {
        {tr("Workload"), tr("The layer, or the first of several equal ones"), [](Row r) { return r.name; },
         nullptr, Qt::AlignLeft | Qt::AlignVCenter, [](Row r) { return r.name; }},
        {tr("Operator"), tr("What is computed"), [](Row r) { return r.op; }},
        {tr("Shape"), tr("Shapes and attributes that the kernel is made for"), [](Row r) { return r.shape; },
         nullptr, Qt::AlignLeft | Qt::AlignVCenter, [](Row r) { return r.shape; }},
        {tr("Space"), tr("Number of configs that can be tried"), [](Row r) { return spaceText(r.space); },
         [](Row r) { return r.space; }, kRight},
        {tr("Trials"), tr("Trials done of the budget"),
         [](Row r) { // the final is one more, beyond the budget
             return r.budget > 0 ? tr("%1 / %2").arg(r.done).arg(qMax(r.budget, r.done))
                                 : QString::number(r.done);
         },
         bar},
        {tr("Best so far"), tr("Best time over the trials, logarithmic; lower is better"),
         [](Row r) { return msText(r.bestMs); }, [](Row r) { return QVariant::fromValue(r.bestSoFar); }},
        {tr("First"), tr("Time of the untuned kernel"), [](Row r) { return msText(r.firstMs); },
         [](Row r) { return sortable(r.firstMs); }, kRight},
        {tr("Best"), tr("Time of the best kernel"), [](Row r) { return msText(r.bestMs); },
         [](Row r) { return sortable(r.bestMs); }, kRight},
        {tr("Speed-up"), tr("First divided by best"),
         [](Row r) { return number(r.speedup(), 2, QStringLiteral(" ×")); },
         [](Row r) { return sortable(r.speedup()); }, kRight},
        {tr("GFLOP/s"), tr("Arithmetic per second of the best kernel"),
         [](Row r) { return number(r.gflops, 1); }, [](Row r) { return sortable(r.gflops); }, kRight},
        {tr("State"), tr("What happens to this workload now"), [](Row r) { return stateName(r.state); },
         [](Row r) { return static_cast<int>(r.state); }},
    };
}

// Curves are sorted by what they have won.
class WorkloadSorter : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

protected:
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override {
        if (left.column() != WorkloadModel::curve)
            return QSortFilterProxyModel::lessThan(left, right);
        return QSortFilterProxyModel::lessThan(left.siblingAtColumn(WorkloadModel::speedup),
                                               right.siblingAtColumn(WorkloadModel::speedup));
    }
};

} // namespace

WorkloadModel::WorkloadModel(QObject* parent) : RowTableModel(workloadColumns(), parent) {}

WorkloadTable::WorkloadTable(QWidget* parent)
    : QTableView(parent), model_(new WorkloadModel(this)), sorted_(new WorkloadSorter(this)) {
    setAccessibleName(QTableView::tr("Workloads"));
    showSortedRows(*this, *model_, *sorted_);
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    horizontalHeader()->setStretchLastSection(true);
    setItemDelegateForColumn(WorkloadModel::trials, new BarDelegate(this));
    setItemDelegateForColumn(WorkloadModel::curve, new SparklineDelegate(this));
    setItemDelegateForColumn(WorkloadModel::state, new StateDelegate(this));
    applyFont();
    connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this] { emit currentKeyChanged(currentKey()); });
    connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void WorkloadTable::applyFont() {
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() * 7 / 4);
}

void WorkloadTable::changeEvent(QEvent* event) {
    QTableView::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        applyFont();
}

void WorkloadTable::setRows(const QVector<WorkloadEntry>& rows) {
    const QString key = currentKey();
    model_->setRows(rows);
    if (!key.isEmpty() && currentKey() != key)
        setCurrentKey(key);
    if (sized_ || rows.isEmpty())
        return;
    sized_ = true;
    resizeColumnsToContents();
    const int em = fontMetrics().averageCharWidth();
    for (const auto& [column, widest] : {std::pair{WorkloadModel::name, 26}, {WorkloadModel::shape, 36}})
        setColumnWidth(column, std::min(columnWidth(column), em * widest));
    setColumnWidth(WorkloadModel::trials, em * 20);
    setColumnWidth(WorkloadModel::curve, em * 18);
}

QString WorkloadTable::currentKey() const {
    return currentIndex().data(kRowKeyRole).toString();
}

void WorkloadTable::setCurrentKey(const QString& key) {
    for (int row = 0; row < sorted_->rowCount(); ++row)
        if (sorted_->index(row, 0).data(kRowKeyRole).toString() == key) {
            selectRow(row);
            return;
        }
    setCurrentIndex({});
}

} // namespace tunesmith
