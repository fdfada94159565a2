// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/throttle.h"
#include "widgets/tune/tune_data.h"
#include <QWidget>

class QCustomPlot;
class QCPGraph;
class QCPItemLine;
class QCPTextElement;

namespace tunesmith {

// How far to trust the cost model: each measured trial against what was predicted for it. A model of times
// shares one logarithmic scale, with a diagonal where it was right; one that only ranks (the larger its score
// the faster, comparable within one workload) has a scale of its own. The title gives the rank correlation,
// which is what the search lives on: 1 is a perfect order.
class PredictedMeasuredPlot : public QWidget {
    Q_OBJECT
public:
    enum class Scale { milliseconds, score };
    explicit PredictedMeasuredPlot(QWidget* parent = nullptr);

    void setScale(Scale scale); // of what was predicted; before trials are added

    void addTrials(const QVector<TrialPoint>& trials); // those without a prediction or a time are left out
    void clear();
    double correlation() const; // of all points, also of those that are not drawn; NaN below two points
    QString title() const;
    QCustomPlot* plot() const { return plot_; }
    int dots() const;

private:
    void restyle();
    void refresh();
    void fitAxes();
    void thin();

    QCustomPlot* plot_;
    QCPTextElement* title_;
    QCPGraph* dots_;
    QCPItemLine* diagonal_;
    QVector<double> predicted_, measured_;
    int stride_ = 1;
    Scale scale_ = Scale::milliseconds;
    Throttle throttle_;
};

} // namespace tunesmith
