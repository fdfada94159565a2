// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/base/throttle.h"
#include "widgets/tune/tune_data.h"
#include <QHash>
#include <QWidget>

class QCustomPlot;
class QCPGraph;
class QLabel;

namespace tunesmith {

struct PlotSeries {
    QString key, name;
};

// Best-so-far time over trials, one line per workload, with the trials as dots and the failed ones as crosses
// along the top. Of more than kMostLines workloads the first have lines. Fed by appending; redrawn at most ten times a second. With a current workload the others
// step back.
class ConvergencePlot : public QWidget {
    Q_OBJECT
public:
    static constexpr int kMostLines = 100;

    explicit ConvergencePlot(QWidget* parent = nullptr);

    void setSeries(const QVector<PlotSeries>& all); // drops all trials when the keys change
    void addTrials(const QString& key, const QVector<TrialPoint>& trials);
    void setCurrent(const QString& key); // empty: all alike
    void clear();

    QCustomPlot* plot() const { return plot_; }
    int replots() const { return replots_; }
    int dots() const;

private:
    struct Dots {
        QCPGraph* graph = nullptr;
        int stride = 1, skipped = 0; // every stride-th trial is kept
    };
    struct Line {
        PlotSeries series;
        QCPGraph* best = nullptr;
        Dots dots, failed;
        double bestMs = kUnknown;
        int last = -1;
    };
    void addLine(const PlotSeries& series);
    void append(Line& line, const TrialPoint& trial);
    void addDot(Dots& dots, double x, double y);
    void restyle();
    void refresh();
    QString summary() const;

    QCustomPlot* plot_;
    QVector<Line> lines_;
    QHash<QString, int> byKey_;
    QString current_;
    double low_ = kUnknown, high_ = kUnknown;
    int trials_ = 0, replots_ = 0;
    Throttle throttle_;
};

} // namespace tunesmith
