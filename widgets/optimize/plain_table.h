// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTableView>

class QAbstractItemModel;
class QSortFilterProxyModel;

namespace tunesmith {

// A table of a RowTableModel as all of them look here: whole rows, sortable, copied as TSV; the model's own order until a header is clicked.
class PlainTable : public QTableView {
    Q_OBJECT
public:
    PlainTable(QAbstractItemModel* model, int wide, QWidget* parent = nullptr); // wide: the column that takes the room that is left

    QVariant currentKey() const; // invalid: none
    void setCurrentKey(const QVariant& key);
    void fitColumns(); // to what is in them

signals:
    void currentKeyChanged();

private:
    QSortFilterProxyModel* sorted_;
    int wide_;
};

} // namespace tunesmith
