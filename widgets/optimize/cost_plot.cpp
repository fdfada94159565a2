// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/optimize/cost_plot.h"
#include "widgets/base/theme.h"
#include "widgets/tune/plot_style.h"
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <algorithm>
#include <cmath>
#include <qcustomplot.h>

namespace tunesmith {
namespace {

constexpr Qt::PenStyle kStyles[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine, Qt::DotLine}; // colour is not all that tells

QPen penOf(int category) {
    return {Theme::instance().category(category), 2, kStyles[(category % 4 + 4) % 4]};
}

} // namespace

QVector<QPointF> costLine(const CostCurve& curve, bool overSeconds) {
    QVector<QPointF> points;
    for (const CostPoint& point : curve.points)
        if (std::isfinite(point.cost))
            points.push_back({overSeconds ? point.seconds : static_cast<double>(point.expanded), point.cost});
    return points;
}

CostPlot::CostPlot(QWidget* parent) : QWidget(parent), remark_(new QLabel(this)), over_(new QComboBox(this)), plot_(new QCustomPlot(this)) {
    over_->addItems({tr("over graphs expanded"), tr("over seconds")});
    over_->setAccessibleName(tr("Best cost over"));
    over_->setToolTip(tr("Graphs expanded are the same on every machine; seconds are what you wait for"));
    remark_->setTextFormat(Qt::PlainText);
    remark_->setWordWrap(true);
    remark_->setForegroundRole(QPalette::PlaceholderText);
    auto* head = new QHBoxLayout;
    head->addWidget(remark_, 1);
    head->addWidget(over_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->addLayout(head);
    column->addWidget(plot_, 1);
    column->addStretch(0);
    setAccessibleName(tr("Best cost so far, one line for each search"));
    plot_->setMinimumHeight(fontMetrics().height() * 6);
    plot_->plotLayout()->insertRow(0); // curves begin where a legend within the axes would hide them
    plot_->plotLayout()->addElement(0, 0, plot_->legend);
    plot_->plotLayout()->setRowStretchFactor(0, 0.001);
    plot_->legend->setFillOrder(QCPLegend::foColumnsFirst);
    plot_->legend->setWrap(2);
    connect(over_, &QComboBox::currentIndexChanged, this, &CostPlot::redraw);
    connect(&Theme::instance(), &Theme::changed, this, &CostPlot::redraw);
    setCurves({}, {});
}

void CostPlot::setCurves(const QVector<CostCurve>& curves, const QString& unit, const QString& remark) {
    curves_ = curves;
    unit_ = unit;
    plot_->setVisible(!curves.isEmpty());
    over_->setVisible(!curves.isEmpty());
    remark_->setText(curves.isEmpty() ? tr("Each search of this model draws a line here.") : remark);
    redraw();
}

void CostPlot::setOverSeconds(bool seconds) {
    over_->setCurrentIndex(seconds ? 1 : 0);
}

void CostPlot::redraw() {
    const bool seconds = over_->currentIndex() == 1;
    plot_->clearGraphs();
    stylePlot(*plot_);
    plot_->legend->setBorderPen(Qt::NoPen);
    plot_->legend->setVisible(true);
    plot_->xAxis->setLabel(seconds ? tr("Seconds") : tr("Graphs expanded"));
    plot_->yAxis->setLabel(unit_.isEmpty() ? tr("Best cost") : tr("Best cost (%1)").arg(unit_));
    for (const CostCurve& curve : std::as_const(curves_)) {
        QCPGraph* graph = plot_->addGraph();
        graph->setLineStyle(QCPGraph::lsStepLeft);
        graph->setPen(penOf(curve.category));
        const QString reached = curve.points.isEmpty() ? QString() : costText(curve.points.back().cost, unit_);
        graph->setName(reached.isEmpty() ? curve.name : tr("%1: %2").arg(curve.name, reached));
        const QVector<QPointF> line = costLine(curve, seconds);
        for (const QPointF& point : line)
            graph->addData(point.x(), point.y());
        if (line.size() <= 40)
            graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, 5));
    }
    fitAxes();
    setAccessibleDescription(description());
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

void CostPlot::fitAxes() {
    double last = 0, low = 0, high = 0;
    bool any = false;
    for (int i = 0; i < plot_->graphCount(); ++i)
        for (const QCPGraphData& point : *plot_->graph(i)->data()) {
            last = std::max(last, point.key);
            low = any ? std::min(low, point.value) : point.value;
            high = any ? std::max(high, point.value) : point.value;
            any = true;
        }
    const double room = std::max(high - low, std::abs(high) * 0.02) * 0.12;
    plot_->xAxis->setRange(0, last > 0 ? last * 1.03 : 1);
    plot_->yAxis->setRange(any ? low - room : 0, any ? high + room : 1);
}

QString CostPlot::description() const {
    QStringList parts;
    for (const CostCurve& curve : curves_)
        if (!curve.points.isEmpty())
            parts << tr("%1 from %2 to %3").arg(curve.name, costText(curve.points.front().cost, unit_), costText(curve.points.back().cost, unit_));
    return parts.join(QStringLiteral("; "));
}

} // namespace tunesmith
