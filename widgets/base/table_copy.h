// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>

class QAbstractItemView;
class QAction;

namespace tunesmith {

// The selected cells (all of them when none is) with their headers, tabs between columns: pastes into any
// spreadsheet.
QString tableAsTsv(const QAbstractItemView& view);

// A Copy action with the standard shortcut and a context menu of the view's own actions.
QAction* addTableCopy(QAbstractItemView& view);

} // namespace tunesmith
