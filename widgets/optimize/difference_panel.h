// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/row_table_model.h"
#include "widgets/optimize/optimize_data.h"
#include <QWidget>

class QLabel;

namespace tunesmith {

class PlainTable;

// Before and after: how often each operator occurs, and which nodes went and came.
class DifferencePanel : public QWidget {
    Q_OBJECT
public:
    explicit DifferencePanel(QWidget* parent = nullptr);

    void setDifference(const QVector<OperatorEntry>& operators, const QVector<NodeChange>& nodes);
    const QVector<OperatorEntry>& operators() const { return operators_->rows(); }
    const QVector<NodeChange>& nodes() const { return nodes_->rows(); }

signals:
    void nodeChosen(qint64 node, bool before); // before: it is in the original only

private:
    RowTableModel<OperatorEntry>* operators_;
    RowTableModel<NodeChange>* nodes_;
    PlainTable *operatorTable_, *nodeTable_;
};

// Why rules were not applied where they were found.
class RefusalPanel : public QWidget {
    Q_OBJECT
public:
    explicit RefusalPanel(QWidget* parent = nullptr);
    void setRefusals(const QVector<RefusalEntry>& refusals, const QString& whenNone);
    const QVector<RefusalEntry>& refusals() const { return model_->rows(); }

private:
    RowTableModel<RefusalEntry>* model_;
    PlainTable* table_;
    QLabel* none_;
};

} // namespace tunesmith
