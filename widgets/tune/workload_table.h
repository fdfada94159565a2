// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/row_table_model.h"
#include "widgets/tune/tune_data.h"
#include <QTableView>

class QSortFilterProxyModel;

namespace tunesmith {

class WorkloadModel : public RowTableModel<WorkloadEntry> {
public:
    enum Column { name, op, shape, space, trials, curve, first, best, speedup, gflops, state };
    explicit WorkloadModel(QObject* parent = nullptr);
};

// One row per workload with its progress, its best-so-far as a sparkline, and what was won. Sortable; the
// current row is the selection that other views follow.
class WorkloadTable : public QTableView {
    Q_OBJECT
public:
    explicit WorkloadTable(QWidget* parent = nullptr);

    void setRows(const QVector<WorkloadEntry>& rows); // selection and sorting stay
    QString currentKey() const;
    void setCurrentKey(const QString& key);

signals:
    void currentKeyChanged(const QString& key);

protected:
    void changeEvent(QEvent* event) override;

private:
    void applyFont();
    WorkloadModel* model_;
    QSortFilterProxyModel* sorted_;
    bool sized_ = false;
};

} // namespace tunesmith
