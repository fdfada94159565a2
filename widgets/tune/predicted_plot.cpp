// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/predicted_plot.h"
#include "widgets/base/theme.h"
#include "widgets/tune/plot_style.h"
#include <QLocale>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <qcustomplot.h>

namespace tunesmith {

PredictedMeasuredPlot::PredictedMeasuredPlot(QWidget* parent)
    : QWidget(parent), plot_(new QCustomPlot(this)), title_(new QCPTextElement(plot_)),
      dots_(plot_->addGraph()), diagonal_(new QCPItemLine(plot_)),
      throttle_(kPlotIntervalMs, [this] { refresh(); }) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(plot_);
    setAccessibleName(tr("Predicted against measured time"));
    setFocusPolicy(Qt::StrongFocus);
    plot_->plotLayout()->insertRow(0);
    plot_->plotLayout()->addElement(0, 0, title_);
    plot_->xAxis->setLabel(tr("Predicted (ms)"));
    plot_->yAxis->setLabel(tr("Measured (ms)"));
    useLogAxis(*plot_->xAxis);
    useLogAxis(*plot_->yAxis);
    dots_->setLineStyle(QCPGraph::lsNone);
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, &PredictedMeasuredPlot::restyle);
}

void PredictedMeasuredPlot::addTrials(const QVector<TrialPoint>& trials) {
    const auto usable = [](double ms) { return std::isfinite(ms) && ms > 0; };
    for (const auto& trial : trials) {
        if (trial.failed || !usable(trial.ms) || !usable(trial.predicted))
            continue;
        if (predicted_.size() % stride_ == 0)
            dots_->addData(trial.predicted, trial.ms);
        predicted_.push_back(trial.predicted);
        measured_.push_back(trial.ms);
    }
    if (dots_->dataCount() > kPlotDots)
        thin();
    throttle_.request();
}

void PredictedMeasuredPlot::thin() {
    QVector<double> x, y;
    while (predicted_.size() / stride_ > kPlotDots)
        stride_ *= 2;
    for (int i = 0; i < predicted_.size(); i += stride_) {
        x.push_back(predicted_[i]);
        y.push_back(measured_[i]);
    }
    dots_->setData(x, y);
}

void PredictedMeasuredPlot::clear() {
    predicted_.clear();
    measured_.clear();
    stride_ = 1;
    dots_->data()->clear();
    throttle_.request();
}

int PredictedMeasuredPlot::dots() const {
    return dots_->dataCount();
}
double PredictedMeasuredPlot::correlation() const {
    return rankCorrelation(predicted_, measured_);
}

QString PredictedMeasuredPlot::title() const {
    const double rho = correlation();
    if (!std::isfinite(rho))
        return tr("Predicted against measured");
    return tr("Rank correlation %1 over %n trials", nullptr, static_cast<int>(predicted_.size()))
        .arg(QLocale().toString(rho, 'f', 2));
}

void PredictedMeasuredPlot::restyle() {
    stylePlot(*plot_);
    const auto& theme = Theme::instance();
    const QColor dot = Theme::mix(theme.category(0), theme.color(Theme::Role::surface), 0.25);
    dots_->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, dot, dot, 5));
    diagonal_->setPen(QPen(theme.color(Theme::Role::muted), 1, Qt::DashLine));
    QFont bold = plot_->font();
    bold.setWeight(QFont::DemiBold);
    title_->setFont(bold);
    title_->setTextColor(theme.color(Theme::Role::text));
    throttle_.request();
}

void PredictedMeasuredPlot::refresh() {
    double low = 0.1, high = 10;
    if (!predicted_.isEmpty()) {
        const auto [a, b] = std::minmax_element(predicted_.begin(), predicted_.end());
        const auto [c, d] = std::minmax_element(measured_.begin(), measured_.end());
        const double room = 1.15;
        low = std::min(*a, *c) / room;
        high = std::max(*b, *d) * room;
    }
    plot_->xAxis->setRange(low, high);
    plot_->yAxis->setRange(low, high);
    diagonal_->start->setCoords(low, low);
    diagonal_->end->setCoords(high, high);
    title_->setText(title());
    setAccessibleDescription(title());
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

} // namespace tunesmith
