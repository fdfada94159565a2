// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/sorted_rows.h"
#include "widgets/base/row_table_model.h"
#include "widgets/base/table_copy.h"
#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>

namespace tunesmith {

void showSortedRows(QTableView& table, QAbstractItemModel& rows, QSortFilterProxyModel& sorted) {
    sorted.setSourceModel(&rows);
    sorted.setSortRole(kSortRole);
    sorted.setSortCaseSensitivity(Qt::CaseInsensitive);
    table.setModel(&sorted);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setAlternatingRowColors(true);
    table.setShowGrid(false);
    table.setWordWrap(false);
    table.setTabKeyNavigation(false);
    table.setFrameShape(QFrame::NoFrame);
    table.setSortingEnabled(true);
    table.horizontalHeader()->setSortIndicatorClearable(true);
    table.sortByColumn(-1, Qt::AscendingOrder);
    table.horizontalHeader()->setHighlightSections(false);
    table.verticalHeader()->hide();
    addTableCopy(table);
}

} // namespace tunesmith
