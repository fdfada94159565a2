// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/convergence_plot.h"
#include "widgets/base/theme.h"
#include "widgets/tune/plot_style.h"
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <qcustomplot.h>

namespace tunesmith {
namespace {

constexpr int kLegendEntries = 10;
constexpr Qt::PenStyle kStyles[] = {Qt::SolidLine, Qt::DashLine, Qt::DotLine}; // once per round of colours

} // namespace

ConvergencePlot::ConvergencePlot(QWidget* parent)
    : QWidget(parent), plot_(new QCustomPlot(this)), throttle_(kPlotIntervalMs, [this] { refresh(); }) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(plot_);
    setAccessibleName(tr("Best time so far over trials"));
    setFocusPolicy(Qt::StrongFocus);
    plot_->xAxis->setLabel(tr("Trials"));
    plot_->yAxis->setLabel(tr("Time (ms)"));
    useLogAxis(*plot_->yAxis);
    plot_->yAxis2->setVisible(false);
    plot_->yAxis2->setRange(0, 1);
    plot_->setNoAntialiasingOnDrag(true);
    plot_->legend->setVisible(true);
    plot_->axisRect()->insetLayout()->setInsetAlignment(0, Qt::AlignTop | Qt::AlignRight);
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, &ConvergencePlot::restyle);
}

void ConvergencePlot::setSeries(const QVector<PlotSeries>& all) {
    const QVector<PlotSeries> series = all.mid(0, kMostLines);
    const bool same = std::equal(series.begin(), series.end(), lines_.begin(), lines_.end(),
                                 [](const PlotSeries& a, const Line& b) { return a.key == b.series.key; });
    if (same && !lines_.isEmpty())
        return;
    clear();
    plot_->legend->setVisible(!series.isEmpty() && series.size() <= kLegendEntries); // part of a key misleads
    for (const auto& one : series)
        addLine(one);
    restyle();
}

void ConvergencePlot::addLine(const PlotSeries& series) {
    Line line;
    line.series = series;
    line.dots.graph = plot_->addGraph();
    line.failed.graph = plot_->addGraph(plot_->xAxis, plot_->yAxis2);
    line.best = plot_->addGraph();
    line.best->setLineStyle(QCPGraph::lsStepLeft);
    line.best->setName(series.name);
    for (auto* graph : {line.dots.graph, line.failed.graph}) {
        graph->setLineStyle(QCPGraph::lsNone);
        graph->removeFromLegend();
    }
    if (lines_.size() >= kLegendEntries)
        line.best->removeFromLegend();
    byKey_.insert(series.key, static_cast<int>(lines_.size()));
    lines_.push_back(line);
}

void ConvergencePlot::addTrials(const QString& key, const QVector<TrialPoint>& trials) {
    const auto found = byKey_.constFind(key);
    if (found == byKey_.constEnd() || trials.isEmpty())
        return;
    for (const auto& trial : trials)
        append(lines_[*found], trial);
    throttle_.request();
}

void ConvergencePlot::append(Line& line, const TrialPoint& trial) {
    ++trials_;
    line.last = std::max(line.last, trial.index);
    if (trial.failed || !std::isfinite(trial.ms) || trial.ms <= 0) {
        addDot(line.failed, trial.index, 0.975);
    } else {
        low_ = std::isnan(low_) ? trial.ms : std::min(low_, trial.ms);
        high_ = std::isnan(high_) ? trial.ms : std::max(high_, trial.ms);
        addDot(line.dots, trial.index, trial.ms);
        if (std::isnan(line.bestMs) || trial.ms < line.bestMs) {
            line.bestMs = trial.ms;
            line.best->addData(trial.index, trial.ms);
        }
    }
}

// Where there are too many, every other one goes, and fewer come.
void ConvergencePlot::addDot(Dots& dots, double x, double y) {
    constexpr int kLargestStride = 1 << 20;
    if (++dots.skipped < dots.stride)
        return;
    dots.skipped = 0;
    dots.graph->addData(x, y);
    if (dots.graph->dataCount() <= std::max<int>(50, kPlotDots / static_cast<int>(lines_.size())))
        return;
    dots.stride = std::min(2 * dots.stride, kLargestStride);
    const auto old = dots.graph->data();
    QVector<double> keys, values;
    for (auto it = old->constBegin(); it < old->constEnd(); it += 2) {
        keys.push_back(it->key);
        values.push_back(it->value);
    }
    dots.graph->setData(keys, values, true);
}

int ConvergencePlot::dots() const {
    int count = 0;
    for (const auto& line : lines_)
        count += line.dots.graph->dataCount();
    return count;
}

void ConvergencePlot::setCurrent(const QString& key) {
    if (current_ == key)
        return;
    current_ = key;
    restyle();
}

void ConvergencePlot::clear() {
    plot_->clearGraphs();
    lines_.clear();
    byKey_.clear();
    low_ = high_ = kUnknown;
    trials_ = 0;
    throttle_.request();
}

void ConvergencePlot::restyle() {
    stylePlot(*plot_);
    const auto& theme = Theme::instance();
    const bool chosen = byKey_.contains(current_);
    for (int i = 0; i < lines_.size(); ++i) {
        const auto& line = lines_[i];
        const bool front = !chosen || line.series.key == current_;
        const QColor color = theme.category(i);
        const QColor faded = Theme::mix(color, theme.color(Theme::Role::surface), front ? 0 : 0.72);
        line.best->setPen(QPen(faded, chosen && front ? 2.5 : 1.5, kStyles[(i / Theme::kCategories) % 3]));
        const bool scatter = chosen ? front : lines_.size() <= 4;
        line.dots.graph->setVisible(scatter);
        line.failed.graph->setVisible(front);
        const QColor dot = Theme::mix(color, theme.color(Theme::Role::surface), 0.5);
        line.dots.graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, dot, dot, 4));
        line.failed.graph->setScatterStyle(QCPScatterStyle(
            QCPScatterStyle::ssCross, QPen(theme.color(Theme::Role::error), 1), Qt::NoBrush, 6));
    }
    throttle_.request();
}

// Lines reach to their last trial although they have points only where they fall.
void ConvergencePlot::refresh() {
    int last = 1;
    for (auto& line : lines_) {
        last = std::max(last, line.last);
        if (!std::isnan(line.bestMs)) {
            const auto points = line.best->data();
            const bool flat =
                points->size() >= 2 && (points->constEnd() - 1)->value == (points->constEnd() - 2)->value;
            if (flat)
                points->remove((points->constEnd() - 1)->key);
            if ((points->constEnd() - 1)->key < line.last)
                line.best->addData(line.last, line.bestMs);
        }
    }
    plot_->xAxis->setRange(0, last * 1.02);
    if (!std::isnan(low_)) {
        const double room = std::pow(std::max(high_ / low_, 1.05), 0.12);
        plot_->yAxis->setRange(low_ / room, high_ * room * room);
    } else {
        plot_->yAxis->setRange(0.01, 10);
    }
    setAccessibleDescription(summary());
    ++replots_;
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

QString ConvergencePlot::summary() const {
    QStringList parts{tr("%n trials", nullptr, trials_)};
    for (const auto& line : lines_)
        if (parts.size() <= kLegendEntries && !std::isnan(line.bestMs))
            parts << tr("%1: %2").arg(line.series.name, msText(line.bestMs));
    return parts.join(QStringLiteral("; "));
}

} // namespace tunesmith
