// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/optimize/optimize_data.h"
#include <QWidget>

class QComboBox;
class QCustomPlot;
class QLabel;

namespace tunesmith {

// Best cost so far over time or over expanded graphs, one line for each search of a model, so that they can be compared. All are of the same cost.
class CostPlot : public QWidget {
    Q_OBJECT
public:
    explicit CostPlot(QWidget* parent = nullptr);

    void setCurves(const QVector<CostCurve>& curves, const QString& unit, const QString& remark = {}); // remark: what is not drawn, and why
    void setOverSeconds(bool seconds);
    QCustomPlot* plot() const { return plot_; }

private:
    void redraw();
    void fitAxes();
    QString description() const;

    QLabel* remark_;
    QComboBox* over_;
    QCustomPlot* plot_;
    QVector<CostCurve> curves_;
    QString unit_;
};

// The pure part. Points of a step line over seconds or expansions; it begins at the first cost.
QVector<QPointF> costLine(const CostCurve& curve, bool overSeconds);

} // namespace tunesmith
