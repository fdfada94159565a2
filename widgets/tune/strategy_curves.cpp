// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/strategy_curves.h"
#include <QCoreApplication>
#include <QSet>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

bool drawable(const QPointF& point) {
    return std::isfinite(point.x()) && std::isfinite(point.y()) && point.y() > 0;
}

} // namespace

double StrategyRun::bestMs() const {
    double least = kUnknown;
    for (const QPointF& point : best)
        if (drawable(point) && !(least <= point.y()))
            least = point.y();
    return least;
}

QString StrategyTotal::text() const {
    return QCoreApplication::translate("tunesmith::StrategyPlot", "%1 (runs: %2, best: %3)")
        .arg(strategy)
        .arg(runs)
        .arg(msText(bestMs));
}

QVector<StrategyTotal> strategyTotals(const QVector<StrategyRun>& runs) {
    QVector<StrategyTotal> totals;
    for (const StrategyRun& run : runs) {
        auto total = std::find_if(totals.begin(), totals.end(),
                                  [&](const StrategyTotal& known) { return known.strategy == run.strategy; });
        if (total == totals.end())
            total = totals.insert(totals.end(), {run.strategy, run.category, 0, kUnknown});
        ++total->runs;
        if (const double ms = run.bestMs(); !std::isnan(ms) && !(total->bestMs <= ms))
            total->bestMs = ms;
    }
    std::stable_sort(totals.begin(), totals.end(),
                     [](const StrategyTotal& a, const StrategyTotal& b) { return a.category < b.category; });
    return totals;
}

QVector<QPointF> curvePoints(const StrategyRun& run, int most) {
    QVector<QPointF> good;
    std::copy_if(run.best.begin(), run.best.end(), std::back_inserter(good), drawable);
    most = std::max(2, most);
    if (good.size() > most) {
        QVector<QPointF> thinned;
        for (int i = 0; i < most; ++i)
            thinned.push_back(good[i * (good.size() - 1) / (most - 1)]);
        good = thinned;
    }
    if (!good.isEmpty() && good.last().x() < run.trials)
        good.push_back({static_cast<double>(run.trials), good.last().y()});
    return good;
}

QVector<int> runsToDraw(const QVector<StrategyRun>& runs, int most) {
    QVector<int> order(runs.size());
    for (int i = 0; i < order.size(); ++i)
        order[i] = static_cast<int>(runs.size()) - 1 - i;
    if (runs.size() > most) {
        QVector<double> times;
        for (const StrategyRun& run : runs)
            times.push_back(run.bestMs());
        QHash<QString, int> fastest;
        for (int i = 0; i < runs.size(); ++i)
            if (const auto known = fastest.constFind(runs[i].strategy);
                known == fastest.constEnd() || times[i] < times[*known] || std::isnan(times[*known]))
                fastest[runs[i].strategy] = i;
        const QSet<int> first(fastest.cbegin(), fastest.cend());
        std::stable_partition(order.begin(), order.end(), [&](int run) { return first.contains(run); });
        order.resize(most);
    }
    std::sort(order.begin(), order.end());
    return order;
}

} // namespace tunesmith
