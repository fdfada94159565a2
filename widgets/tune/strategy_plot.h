// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/tune/strategy_curves.h"
#include <QWidget>

class QCustomPlot;
class QCPGraph;
class QLabel;

namespace tunesmith {

// Best time so far over trials of one workload, a thin line for each run that tuned it, a colour and a kind of line for each
// strategy. A sentence above says what is to be seen, or what is missing for a comparison.
class StrategyPlot : public QWidget {
    Q_OBJECT
public:
    static constexpr int kMostLines = 100; // more runs cannot be told apart; drawing has to stay quick

    explicit StrategyPlot(QWidget* parent = nullptr);

    void setRuns(const QVector<StrategyRun>& runs); // oldest first
    void showMessage(const QString& text);          // instead of runs

    QString title() const;
    QString runText(const StrategyRun& run) const;
    const StrategyRun* nearest(QPoint position) const; // null when none is near
    QCustomPlot* plot() const { return plot_; }
    int lines() const { return static_cast<int>(lines_.size()); }

private:
    struct Line {
        int run = 0; // index
        QCPGraph* graph = nullptr;
    };
    void addLines();
    void fitAxes();
    void restyle();
    void showTip(QPoint position, QPoint global);
    QString verdict() const;
    QString description() const;

    QLabel* title_;
    QCustomPlot* plot_;
    QVector<StrategyRun> runs_;
    QVector<StrategyTotal> totals_;
    QVector<Line> lines_;
};

} // namespace tunesmith
