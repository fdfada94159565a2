// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/tune/strategy_plot.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/tune/plot_style.h"
#include <QLabel>
#include <QMouseEvent>
#include <QSet>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <qcustomplot.h>

namespace tunesmith {
namespace {

constexpr Qt::PenStyle kStyles[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine, Qt::DotLine}; // colour is not all that tells

QPen penOf(int category) {
    return {Theme::instance().category(category), 1.4, kStyles[(category % 4 + 4) % 4]};
}

} // namespace

StrategyPlot::StrategyPlot(QWidget* parent)
    : QWidget(parent), title_(new QLabel(this)), plot_(new QCustomPlot(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->addWidget(title_);
    column->addWidget(plot_, 1);
    column->addStretch(0);
    QFont bold = title_->font();
    bold.setWeight(QFont::DemiBold);
    title_->setFont(bold);
    title_->setTextFormat(Qt::PlainText);
    title_->setWordWrap(true);
    title_->setMinimumWidth(1); // also where a word of a foreign text is longer than the page
    title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    setAccessibleName(tr("Strategies: best time so far over trials"));
    setFocusPolicy(Qt::StrongFocus);
    plot_->xAxis->setLabel(tr("Trials"));
    plot_->yAxis->setLabel(tr("Time (ms)"));
    useLogAxis(*plot_->yAxis);
    plot_->setNoAntialiasingOnDrag(true);
    plot_->legend->setVisible(true);
    plot_->plotLayout()->insertRow(0); // curves begin where a legend within the axes would hide them
    plot_->plotLayout()->addElement(0, 0, plot_->legend);
    plot_->plotLayout()->setRowStretchFactor(0, 0.001);
    plot_->legend->setFillOrder(QCPLegend::foColumnsFirst);
    connect(plot_, &QCustomPlot::mouseMove, this,
            [this](const QMouseEvent* event) { showTip(event->pos(), event->globalPosition().toPoint()); });
    connect(&Theme::instance(), &Theme::changed, this, &StrategyPlot::restyle);
    showMessage(tr("Choose a workload to compare strategies on it."));
}

void StrategyPlot::setRuns(const QVector<StrategyRun>& runs) {
    runs_ = runs;
    totals_ = strategyTotals(runs_);
    addLines();
    fitAxes();
    restyle();
    title_->setText(verdict());
    plot_->setVisible(!lines_.isEmpty());
    setAccessibleDescription(description());
}

void StrategyPlot::showMessage(const QString& message) {
    const QString text = oneLine(message, kValueLength);
    setRuns({});
    title_->setText(text);
    setAccessibleDescription(text);
}

void StrategyPlot::addLines() {
    plot_->clearGraphs();
    lines_.clear();
    const QVector<int> drawn = runsToDraw(runs_, kMostLines);
    const int most = std::max(20, kPlotDots / std::max<int>(1, static_cast<int>(drawn.size())));
    for (const int run : drawn) {
        const QVector<QPointF> points = curvePoints(runs_[run], most);
        if (points.isEmpty())
            continue;
        QCPGraph* graph = plot_->addGraph();
        graph->setLineStyle(QCPGraph::lsStepLeft);
        graph->removeFromLegend();
        for (const QPointF& point : points)
            graph->addData(point.x(), point.y());
        if (points.size() == 1) // a line needs two ends
            graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, 5));
        lines_.push_back({run, graph});
    }
    plot_->legend->setWrap(totals_.size() > 3 ? 2 : 1);
    for (const StrategyTotal& total : totals_) {
        const auto first = std::find_if(lines_.begin(), lines_.end(),
                                        [&](const Line& line) { return runs_[line.run].strategy == total.strategy; });
        if (first == lines_.end())
            continue;
        first->graph->setName(total.text());
        first->graph->addToLegend();
    }
}

void StrategyPlot::fitAxes() {
    double last = 1, low = kUnknown, high = kUnknown;
    for (const Line& line : lines_)
        for (const QCPGraphData& point : *line.graph->data()) {
            last = std::max(last, point.key);
            low = low <= point.value ? low : point.value;
            high = high >= point.value ? high : point.value;
        }
    plot_->xAxis->setRange(0, last * 1.02);
    if (std::isnan(low))
        return plot_->yAxis->setRange(0.01, 10);
    const double room = std::pow(std::max(high / low, 1.05), 0.12);
    plot_->yAxis->setRange(low / room, high * room);
}

void StrategyPlot::restyle() {
    stylePlot(*plot_);
    plot_->legend->setBorderPen(Qt::NoPen);
    for (const Line& line : lines_)
        line.graph->setPen(penOf(runs_[line.run].category));
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

QString StrategyPlot::title() const { return title_->text(); }

QString StrategyPlot::verdict() const {
    if (runs_.isEmpty())
        return tr("No run has tuned this workload yet; tune it to see how its search goes.");
    if (lines_.isEmpty())
        return tr("Every trial of this workload failed, so there are no times to compare.");
    if (totals_.size() == 1)
        return tr("Only %1 has tuned this workload; tune with another strategy to compare.").arg(totals_.front().strategy);
    const auto timed = std::count_if(runs_.begin(), runs_.end(), [](const StrategyRun& run) { return !std::isnan(run.bestMs()); });
    const auto drawn = lines_.size();
    if (drawn < timed)
        return tr("Best time so far of every strategy, %1 of %2 runs").arg(drawn).arg(timed);
    return tr("Best time so far of every strategy, a line for each run");
}

QString StrategyPlot::description() const {
    QStringList parts{title()};
    for (const StrategyTotal& total : totals_)
        parts << total.text();
    return parts.join(QStringLiteral("; "));
}

QString StrategyPlot::runText(const StrategyRun& run) const {
    return tr("%1, run %2: best %3; trials: %4, failed: %5")
        .arg(run.strategy)
        .arg(run.run)
        .arg(msText(run.bestMs()))
        .arg(run.trials)
        .arg(run.failed);
}

const StrategyRun* StrategyPlot::nearest(QPoint position) const {
    constexpr double kReach = 8; // pixels
    const StrategyRun* found = nullptr;
    double least = kReach;
    for (const Line& line : lines_)
        if (const double distance = line.graph->selectTest(position, false); distance >= 0 && distance < least) {
            least = distance;
            found = &runs_[line.run];
        }
    return found;
}

void StrategyPlot::showTip(QPoint position, QPoint global) {
    if (const StrategyRun* run = nearest(position))
        QToolTip::showText(global, plainToolTip(runText(*run)), plot_);
    else
        QToolTip::hideText();
}

} // namespace tunesmith
