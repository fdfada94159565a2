// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/tune/tune_data.h"
#include <QPointF>

namespace tunesmith {

// The search of one run for one workload.
struct StrategyRun {
    QString strategy; // name for people; runs with the same one belong together
    int category = 0; // its colour
    qint64 run = 0;
    int trials = 0, failed = 0;
    QVector<QPointF> best; // trial from 1 and best time so far in ms, wherever that falls

    double bestMs() const; // NaN when every trial failed
};

// The runs of one strategy together.
struct StrategyTotal {
    QString strategy;
    int category = 0;
    int runs = 0;
    double bestMs = kUnknown;
    QString text() const; // "Random (runs: 3, best: 1.24 ms)"
};

// The pure part of StrategyPlot.
QVector<StrategyTotal> strategyTotals(const QVector<StrategyRun>& runs); // by category, then in the order of the runs

// What a curve is drawn through: points that are finite and above zero, at most `most` of them, the first and the last among
// them, and one more where the search ended.
QVector<QPointF> curvePoints(const StrategyRun& run, int most);

// Indices, ascending, of at most `most` runs: the fastest of each strategy, then the last ones.
QVector<int> runsToDraw(const QVector<StrategyRun>& runs, int most);

} // namespace tunesmith
