// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/plain_table.h"
#include "widgets/base/row_table_model.h"
#include "widgets/base/sorted_rows.h"
#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <algorithm>

namespace tunesmith {

PlainTable::PlainTable(QAbstractItemModel* model, int wide, QWidget* parent) : QTableView(parent), sorted_(new QSortFilterProxyModel(this)), wide_(wide) {
    showSortedRows(*this, *model, *sorted_);
    setSelectionMode(QAbstractItemView::SingleSelection);
    horizontalHeader()->setSectionResizeMode(wide_, QHeaderView::Stretch);
    horizontalHeader()->setMinimumSectionSize(fontMetrics().averageCharWidth() * 6);
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() * 7 / 4);
    connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this, &PlainTable::currentKeyChanged);
}

QVariant PlainTable::currentKey() const {
    return currentIndex().data(kRowKeyRole);
}

void PlainTable::setCurrentKey(const QVariant& key) {
    for (int row = 0; row < sorted_->rowCount(); ++row)
        if (sorted_->index(row, 0).data(kRowKeyRole) == key)
            return selectRow(row);
    setCurrentIndex({});
}

void PlainTable::fitColumns() {
    for (int column = 0; column < sorted_->columnCount(); ++column)
        if (column != wide_) {
            resizeColumnToContents(column);
            setColumnWidth(column, std::min(columnWidth(column) + 12, fontMetrics().averageCharWidth() * 40));
        }
}

} // namespace tunesmith
