// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QVector>

class QCustomPlot;
class QCPAxis;

namespace tunesmith {

constexpr int kPlotIntervalMs = 100; // plots are redrawn at most ten times a second
constexpr int kPlotDots = 5000;      // more dots than this are thinned out: drawing 10,000 takes 160 ms
void stylePlot(QCustomPlot& plot);   // colours of the theme; call again when it changes
void useLogAxis(QCPAxis& axis);

// Spearman's rank correlation with mean ranks for ties; NaN below two points or when one side is constant.
double rankCorrelation(const QVector<double>& a, const QVector<double>& b);

} // namespace tunesmith
