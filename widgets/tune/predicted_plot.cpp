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

void PredictedMeasuredPlot::setScale(Scale scale) {
    scale_ = scale;
    const bool times = scale == Scale::milliseconds;
    plot_->xAxis->setLabel(times ? tr("Predicted (ms)") : tr("Predicted score (higher: faster)"));
    if (times) {
        useLogAxis(*plot_->xAxis);
    } else {
        plot_->xAxis->setScaleType(QCPAxis::stLinear);
        plot_->xAxis->setTicker(QSharedPointer<QCPAxisTicker>::create());
    }
    diagonal_->setVisible(times);
    throttle_.request();
}

void PredictedMeasuredPlot::addTrials(const QVector<TrialPoint>& trials) {
    const auto usable = [](double ms) { return std::isfinite(ms) && ms > 0; };
    for (const auto& trial : trials) {
        if (trial.failed || !usable(trial.ms) || !std::isfinite(trial.predicted) ||
            (scale_ == Scale::milliseconds && trial.predicted <= 0))
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
    const double rho = rankCorrelation(predicted_, measured_);
    return scale_ == Scale::score ? -rho : rho; // a high score promises a short time
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

void PredictedMeasuredPlot::fitAxes() {
    constexpr double kRoom = 1.15;
    double low = 0.1, high = 10;
    if (!measured_.isEmpty()) {
        const auto [least, most] = std::minmax_element(measured_.begin(), measured_.end());
        low = *least / kRoom;
        high = *most * kRoom;
    }
    QCPRange x(0, 1);
    if (!predicted_.isEmpty()) {
        const auto [least, most] = std::minmax_element(predicted_.begin(), predicted_.end());
        const double room = std::max((*most - *least) * 0.06, 1e-6);
        x = {*least - room, *most + room};
        if (scale_ == Scale::milliseconds) {
            low = std::min(low, *least / kRoom);
            high = std::max(high, *most * kRoom);
        }
    }
    if (scale_ == Scale::milliseconds)
        x = {low, high};
    plot_->xAxis->setRange(x);
    plot_->yAxis->setRange(low, high);
    diagonal_->start->setCoords(low, low);
    diagonal_->end->setCoords(high, high);
}

void PredictedMeasuredPlot::refresh() {
    fitAxes();
    title_->setText(title());
    setAccessibleDescription(title());
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

} // namespace tunesmith
