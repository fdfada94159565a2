// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/plot_style.h"
#include "widgets/base/theme.h"
#include <QSharedPointer>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <qcustomplot.h>

namespace tunesmith {
namespace {

using Role = Theme::Role;

QVector<double> ranks(const QVector<double>& values) {
    QVector<int> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int x, int y) { return values[x] < values[y]; });
    QVector<double> result(values.size());
    for (int i = 0; i < order.size();) {
        int end = i;
        while (end < order.size() && values[order[end]] == values[order[i]])
            ++end;
        for (int k = i; k < end; ++k)
            result[order[k]] = (i + end - 1) / 2.0;
        i = end;
    }
    return result;
}

// Decades, and where the axis shows too few of them for anybody to read a time, the steps between.
class LogTicker : public QCPAxisTickerLog {
public:
    LogTicker() { setSubTickCount(8); }

protected:
    QVector<double> createTickVector(double step, const QCPRange& range) override {
        const double decades = range.lower > 0 ? std::log10(range.upper / range.lower) : 0;
        if (decades <= 0 || decades > 2.5)
            return QCPAxisTickerLog::createTickVector(step, range);
        if (decades < 0.4)
            return QCPAxisTicker::createTickVector(QCPAxisTicker::getTickStep(range), range);
        QVector<double> ticks;
        for (double decade = std::pow(10, std::floor(std::log10(range.lower))); decade <= range.upper; decade *= 10)
            for (const double factor : {1., 2., 5.})
                ticks.push_back(decade * factor);
        return ticks;
    }
    int getSubTickCount(double) override { return 0; }
};

} // namespace

void stylePlot(QCustomPlot& plot) {
    const auto& theme = Theme::instance();
    plot.setBackground(theme.color(Role::surface));
    for (auto* rect : plot.axisRects())
        for (auto* axis : rect->axes()) {
            axis->setBasePen(QPen(theme.color(Role::border), 1));
            axis->setTickPen(QPen(theme.color(Role::border), 1));
            axis->setSubTickPen(QPen(theme.color(Role::border), 1));
            axis->setTickLabelColor(theme.color(Role::muted));
            axis->setLabelColor(theme.color(Role::text));
            axis->setTickLabelFont(Theme::scaled(plot.font(), 0.9));
            axis->setLabelFont(plot.font());
            axis->setTickLengthIn(0);
            axis->setTickLengthOut(4);
            axis->setSubTickLengthIn(0);
            axis->grid()->setPen(QPen(theme.color(Role::grid), 1));
            axis->grid()->setZeroLinePen(Qt::NoPen);
            axis->grid()->setSubGridVisible(false);
        }
    if (auto* legend = plot.legend) {
        QColor glass = theme.color(Role::surface);
        glass.setAlpha(225);
        legend->setBrush(glass);
        legend->setBorderPen(QPen(theme.color(Role::border), 1));
        legend->setTextColor(theme.color(Role::text));
        legend->setFont(Theme::scaled(plot.font(), 0.9));
    }
}

void useLogAxis(QCPAxis& axis) {
    axis.setScaleType(QCPAxis::stLogarithmic);
    axis.setTicker(QSharedPointer<LogTicker>::create());
    axis.setNumberFormat(QStringLiteral("g"));
    axis.setNumberPrecision(6); // 1000, not 1e+03
}

double rankCorrelation(const QVector<double>& a, const QVector<double>& b) {
    const auto n = std::min(a.size(), b.size());
    if (n < 2)
        return std::numeric_limits<double>::quiet_NaN();
    const auto x = ranks(a.mid(0, n)), y = ranks(b.mid(0, n));
    const double mean = static_cast<double>(n - 1) / 2;
    double xy = 0, xx = 0, yy = 0;
    for (int i = 0; i < n; ++i) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

} // namespace tunesmith
