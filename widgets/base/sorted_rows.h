// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QAbstractItemModel;
class QSortFilterProxyModel;
class QTableView;

namespace tunesmith {

// The look and the ways of a table of rows: whole rows are chosen and copied, a click on a heading sorts by it, a third one gives back the model's order.
// The proxy is between the model and the table and knows how columns are compared.
void showSortedRows(QTableView& table, QAbstractItemModel& rows, QSortFilterProxyModel& sorted);

} // namespace tunesmith
