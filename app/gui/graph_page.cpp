// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/graph_page.h"
#include "app/gui/icons.h"
#include "widgets/base/empty_state.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/theme.h"
#include "widgets/graph/graph_view.h"
#include <QComboBox>
#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>

namespace tunesmith {

GraphPage::GraphPage(QAction* open, QWidget* parent)
    : DockedPage(QStringLiteral("graphPage"), parent), stack_(new QStackedWidget(this)),
      view_(new GraphView(this)), panel_(new PropertiesPanel(this)), name_(new QLabel(this)),
      summary_(new QLabel(this)), overlay_(new QComboBox(this)) {
    view_->setObjectName(QStringLiteral("graphView"));
    auto* empty = new EmptyState(glyphIcon(Glyph::graph), tr("No model is open"),
                                 tr("Open or drop an ONNX file to see its graph."), this);
    empty->setAction(open);
    auto* shown = new QWidget(this);
    auto* column = new QVBoxLayout(shown);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(createHeader());
    column->addWidget(view_, 1);
    stack_->addWidget(empty);
    stack_->addWidget(shown);
    setCentralWidget(stack_);
    QDockWidget* dock = addDock("properties", tr("Properties"), panel_, Qt::RightDockWidgetArea);
    connect(view_, &GraphView::selectionChanged, this, &GraphPage::showNode);
    connect(view_, &GraphView::activated, dock, &QDockWidget::show);
    connect(overlay_, &QComboBox::currentIndexChanged, this, &GraphPage::applyOverlay);
    resetLayout();
}

QWidget* GraphPage::createHeader() {
    auto* header = new QWidget(this);
    auto* row = new QHBoxLayout(header);
    row->setContentsMargins(14, 8, 10, 8);
    row->setSpacing(12);
    QFont large = Theme::scaled(name_->font(), 1.2);
    large.setWeight(QFont::DemiBold);
    name_->setFont(large);
    name_->setObjectName(QStringLiteral("modelName"));
    for (QLabel* label : {name_, summary_})
        label->setTextFormat(Qt::PlainText);
    summary_->setObjectName(QStringLiteral("modelSummary"));
    summary_->setForegroundRole(QPalette::PlaceholderText);
    overlay_->addItems({tr("operator"), tr("operations (FLOP)")});
    overlay_->setToolTip(tr("What the colours of the nodes mean"));
    overlay_->setAccessibleName(tr("Colour nodes by"));
    auto* label = new QLabel(tr("Colour &by:"), this);
    label->setBuddy(overlay_);
    row->addWidget(name_);
    row->addWidget(summary_, 1);
    row->addWidget(label);
    row->addWidget(overlay_);
    for (const char* command : {"find", "fit"}) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(view_->action(QLatin1String(command)));
        button->setFocusPolicy(Qt::TabFocus);
        row->addWidget(button);
    }
    return header;
}

void GraphPage::sizeDocks() {
    resizeDocks(docks(), {390}, Qt::Horizontal);
}

void GraphPage::showModel(const OpenModelPtr& model) {
    model_ = model;
    stack_->setCurrentIndex(model ? 1 : 0);
    view_->setScene(model ? model->scene : GraphScene{});
    view_->select(-1);
    panel_->clear();
    name_->setText(model ? oneLine(model->model.name(), 60) : QString());
    summary_->setText(model ? ModelText::summary(model->model.info()) : QString());
    applyOverlay();
}

void GraphPage::applyOverlay() {
    const bool flops = model_ && overlay_->currentIndex() == 1;
    view_->setOverlay(flops ? flopsOverlay(model_->picture) : GraphOverlay{});
}

void GraphPage::showNode(qint64 id) {
    if (!model_ || id < 0 || id >= static_cast<qint64>(model_->picture.nodes.size()))
        panel_->clear();
    else
        panel_->showNode(ModelText::properties(model_->picture.nodes[static_cast<std::size_t>(id)]));
}

} // namespace tunesmith
