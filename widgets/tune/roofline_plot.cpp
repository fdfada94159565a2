// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/roofline_plot.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/tune/plot_style.h"
#include <QLocale>
#include <QMouseEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <qcustomplot.h>

namespace tunesmith {
namespace {

constexpr std::array<double, 3> kDotSizes{5, 8, 12};
constexpr std::array<double, 2> kShares{0.02, 0.08}; // of the model's time, from which on a dot is larger

double totalMs(const QVector<RooflineKernel>& kernels) {
    double sum = 0;
    for (const RooflineKernel& kernel : kernels)
        if (kernel.drawable())
            sum += kernel.count * kernel.ms;
    return sum;
}

int sizeOf(double share) {
    return share >= kShares[1] ? 2 : share >= kShares[0] ? 1 : 0;
}

QString percent(double fraction) {
    return QLocale().toString(fraction * 100, 'f', 0);
}

} // namespace

double Roof::at(double intensity) const {
    return known() ? std::min(gflops, intensity * gbs) : kUnknown;
}

double shareOfRoof(const QVector<RooflineKernel>& kernels, const Roof& roof) {
    double least = 0;
    for (const RooflineKernel& kernel : kernels)
        if (kernel.drawable())
            least += kernel.count * kernel.flops / roof.at(kernel.intensity()) / 1e6;
    const double taken = totalMs(kernels);
    return roof.known() && taken > 0 ? least / taken : kUnknown;
}

RooflinePlot::RooflinePlot(QWidget* parent)
    : QWidget(parent), plot_(new QCustomPlot(this)), title_(new QCPTextElement(plot_)),
      roofLine_(plot_->addGraph()), throttle_(kPlotIntervalMs, [this] { refresh(); }) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(plot_);
    setAccessibleName(tr("Roofline: speed of kernels against what the machine can do"));
    setFocusPolicy(Qt::StrongFocus);
    for (QCPGraph*& dots : dots_)
        dots = plot_->addGraph();
    current_ = plot_->addGraph();
    for (QCPGraph* graph : {dots_[0], dots_[1], dots_[2], current_})
        graph->setLineStyle(QCPGraph::lsNone);
    plot_->plotLayout()->insertRow(0);
    plot_->plotLayout()->addElement(0, 0, title_);
    plot_->xAxis->setLabel(tr("Operations per byte"));
    plot_->yAxis->setLabel(tr("GFLOP/s"));
    useLogAxis(*plot_->xAxis);
    useLogAxis(*plot_->yAxis);
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, &RooflinePlot::restyle);
    connect(plot_, &QCustomPlot::mousePress, this, [this](const QMouseEvent* event) {
        if (const RooflineKernel* kernel = nearest(event->pos()))
            emit kernelChosen(kernel->key);
    });
    connect(plot_, &QCustomPlot::mouseMove, this,
            [this](const QMouseEvent* event) { showTip(event->pos(), event->globalPosition().toPoint()); });
}

void RooflinePlot::setRoof(const Roof& roof) {
    roof_ = roof;
    throttle_.request();
}

void RooflinePlot::setKernels(const QVector<RooflineKernel>& kernels) {
    kernels_ = kernels;
    throttle_.request();
}

void RooflinePlot::setCurrent(const QString& key) {
    key_ = key;
    throttle_.request();
}

int RooflinePlot::dots() const {
    int count = 0;
    for (const QCPGraph* dots : dots_)
        count += dots->dataCount();
    return count;
}

QString RooflinePlot::title() const {
    const double share = shareOfRoof(kernels_, roof_);
    if (!std::isfinite(share))
        return tr("Kernels under the machine's roof");
    return tr("%1 % of the roof, weighted by time").arg(percent(share));
}

QString RooflinePlot::kernelText(const RooflineKernel& kernel) const {
    QString text = tr("%1: %2, %3 GFLOP/s").arg(kernel.name, msText(kernel.ms), QLocale().toString(kernel.gflops(), 'f', 1));
    if (const double roof = roof_.at(kernel.intensity()); roof > 0) {
        const bool memory = roof < roof_.gflops;
        const QString share = percent(kernel.gflops() / roof);
        text += QLatin1Char('\n') + (memory ? tr("%1 % of what the memory allows") : tr("%1 % of what the arithmetic allows")).arg(share);
    }
    return text;
}

const RooflineKernel* RooflinePlot::nearest(QPoint position) const {
    constexpr double kReach = 14; // pixels
    const RooflineKernel* found = nullptr;
    double least = kReach;
    for (const RooflineKernel& kernel : kernels_) {
        if (!kernel.drawable())
            continue;
        const double dx = plot_->xAxis->coordToPixel(kernel.intensity()) - position.x();
        const double dy = plot_->yAxis->coordToPixel(kernel.gflops()) - position.y();
        if (const double distance = std::hypot(dx, dy); distance < least) {
            least = distance;
            found = &kernel;
        }
    }
    return found;
}

void RooflinePlot::showTip(QPoint position, QPoint global) {
    if (const RooflineKernel* kernel = nearest(position))
        QToolTip::showText(global, plainToolTip(kernelText(*kernel)), plot_);
    else
        QToolTip::hideText();
}

void RooflinePlot::restyle() {
    stylePlot(*plot_);
    const auto& theme = Theme::instance();
    const QColor surface = theme.color(Theme::Role::surface), dot = Theme::mix(theme.category(0), surface, 0.2);
    for (std::size_t i = 0; i < dots_.size(); ++i)
        dots_[i]->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(surface, 1), dot, kDotSizes[i]));
    current_->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(theme.color(Theme::Role::text), 2), Qt::NoBrush, 15));
    roofLine_->setPen(QPen(theme.color(Theme::Role::muted), 2));
    QFont bold = plot_->font();
    bold.setWeight(QFont::DemiBold);
    title_->setFont(bold);
    title_->setTextColor(theme.color(Theme::Role::text));
    throttle_.request();
}

void RooflinePlot::fillDots() {
    std::array<QVector<double>, kSizes> x, y;
    QVector<double> currentX, currentY;
    const double whole = totalMs(kernels_);
    for (const RooflineKernel& kernel : kernels_) {
        if (!kernel.drawable())
            continue;
        const auto size = static_cast<std::size_t>(sizeOf(kernel.count * kernel.ms / whole));
        x[size].push_back(kernel.intensity());
        y[size].push_back(kernel.gflops());
        if (kernel.key == key_) {
            currentX.push_back(kernel.intensity());
            currentY.push_back(kernel.gflops());
        }
    }
    for (std::size_t i = 0; i < dots_.size(); ++i)
        dots_[i]->setData(x[i], y[i]);
    current_->setData(currentX, currentY);
}

void RooflinePlot::fitAxes() {
    double left = roof_.known() ? roof_.gflops / roof_.gbs / 4 : 1, right = left * 16;
    double low = roof_.known() ? roof_.gflops / 30 : 1, high = roof_.known() ? roof_.gflops : 100;
    for (const RooflineKernel& kernel : kernels_)
        if (kernel.drawable()) {
            left = std::min(left, kernel.intensity());
            right = std::max(right, kernel.intensity());
            low = std::min(low, kernel.gflops());
            high = std::max(high, kernel.gflops());
        }
    constexpr double kRoom = 1.6;
    plot_->xAxis->setRange(left / kRoom, right * kRoom);
    plot_->yAxis->setRange(low / kRoom, high * kRoom);
}

void RooflinePlot::drawRoof() {
    if (!roof_.known())
        return roofLine_->setData(QVector<double>{}, QVector<double>{});
    const QCPRange range = plot_->xAxis->range();
    const double ridge = std::clamp(roof_.gflops / roof_.gbs, range.lower, range.upper);
    roofLine_->setData({range.lower, ridge, range.upper}, {roof_.at(range.lower), roof_.at(ridge), roof_.at(range.upper)}, true);
}

void RooflinePlot::refresh() {
    fitAxes();
    drawRoof();
    fillDots();
    title_->setText(title());
    setAccessibleDescription(title());
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

} // namespace tunesmith
