// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/optimize_page.h"
#include "app/gui/icons.h"
#include "app/gui/optimize_rows.h"
#include "app/gui/page_header.h"
#include "widgets/base/empty_state.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/cost_plot.h"
#include "widgets/optimize/difference_panel.h"
#include "widgets/optimize/optimize_bar.h"
#include "widgets/optimize/replay_view.h"
#include "widgets/optimize/rule_panel.h"
#include <QComboBox>
#include <QDockWidget>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>

namespace tunesmith {

OptimizePage::OptimizePage(QAction* open, std::string store, QWidget* parent)
    : DockedPage(QStringLiteral("optimizePage"), parent), store_(std::move(store)), stack_(new QStackedWidget(this)), middle_(new QStackedWidget(this)),
      headline_(new QLabel(this)), detail_(new QLabel(this)), runBox_(new QComboBox(this)), save_(new QPushButton(tr("Save &optimized…"), this)),
      replay_(new ReplayView(this)), rules_(new RulePanel(this)), curves_(new CostPlot(this)), difference_(new DifferencePanel(this)),
      refusals_(new RefusalPanel(this)) {
    createActions();
    bar_ = new OptimizeBar(this);
    bar_->setSearches(choicesOf(graphSearches()));
    bar_->setCosts(choicesOf(graphCosts()));
    bar_->setRuleSets(choicesOf(graphRuleSets()));
    const OptimizeRequest usual;
    bar_->setChoice({QString::fromStdString(usual.search), QString::fromStdString(usual.cost), usual.alpha, usual.budget, usual.seconds,
                     QString::fromStdString(usual.rules)});
    idle_ = new EmptyState(glyphIcon(Glyph::optimize), {}, {}, this);
    idle_->setAction(start_);
    middle_->addWidget(idle_);
    middle_->addWidget(replay_);
    auto* empty = new EmptyState(glyphIcon(Glyph::optimize), tr("Nothing to optimize yet"),
                                 tr("Open a model first; then its graph can be replaced by an equal one that costs less."), this);
    empty->setAction(open);
    auto* shown = new QWidget(this);
    auto* column = new QVBoxLayout(shown);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(createHeader());
    column->addWidget(middle_, 1);
    stack_->addWidget(empty);
    stack_->addWidget(shown);
    setCentralWidget(stack_);
    addDock("rules", tr("Rules"), rules_, Qt::RightDockWidgetArea);
    addDock("costs", tr("Best cost"), curves_, Qt::RightDockWidgetArea);
    addDock("difference", tr("Before and after"), difference_, Qt::RightDockWidgetArea, Place::tab);
    addDock("refusals", tr("Why not"), refusals_, Qt::RightDockWidgetArea, Place::tab);
    connectParts();
    resetLayout();
    showModel(nullptr);
}

void OptimizePage::createActions() {
    start_ = pageCommand(this, "startOptimizing", tr("&Optimize"), Qt::Key_F7, tr("Search for an equal graph that costs less (F7)"), &OptimizePage::start);
    enough_ = pageCommand(this, "takeBest", tr("Take the &Best So Far"), Qt::CTRL | Qt::Key_F7, tr("End the search and show the best graph that it found (Ctrl+F7)"), &OptimizePage::takeBest);
    enough_->setIconText(tr("Take best"));
    cancel_ = pageCommand(this, "cancelOptimizing", tr("Cancel Opti&mization"), Qt::SHIFT | Qt::Key_F7, tr("End the search; nothing of it is kept (Shift+F7)"), &OptimizePage::cancel);
    cancel_->setIconText(tr("Cancel"));
}

QWidget* OptimizePage::createHeader() {
    auto* header = new QWidget(this);
    auto* grid = new QGridLayout(header);
    grid->setContentsMargins(14, 8, 10, 6);
    grid->setVerticalSpacing(6);
    grid->setColumnStretch(0, 1);
    styleHeadlines(headline_, detail_);
    headline_->setObjectName(QStringLiteral("optimizeHeadline"));
    detail_->setObjectName(QStringLiteral("optimizeDetail"));
    detail_->setWordWrap(true);
    runBox_->setObjectName(QStringLiteral("optimizeRuns"));
    runBox_->setAccessibleName(tr("Run to show"));
    runBox_->setToolTip(tr("The optimizations of this model since it was opened"));
    runBox_->setMinimumContentsLength(20);
    runBox_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    save_->setToolTip(tr("Write the best graph as ONNX, compared with the original before"));
    QHBoxLayout* const buttons = commandButtons(commands(), this);
    save_->setMinimumHeight(fontMetrics().height() * 2);
    buttons->addWidget(save_);
    buttons->insertWidget(0, runBox_);
    grid->addWidget(headline_, 0, 0);
    grid->addLayout(buttons, 0, 1, Qt::AlignRight);
    grid->addWidget(detail_, 1, 0, 1, 2);
    grid->addWidget(bar_, 2, 0, 1, 2);
    return header;
}

void OptimizePage::connectParts() {
    connect(&runner_, &OptimizeRunner::finished, this, &OptimizePage::showFinished);
    connect(&runner_, &OptimizeRunner::improved, this, [this](const QVector<CostPoint>& points) {
        growing_ += points;
        showCurves();
    });
    connect(&runner_.job(), &Job::failed, this, [this](const QString& reason) { showFinished(internalError(reason.toStdString())); });
    connect(&runner_.job(), &Job::progressed, bar_, &OptimizeBar::setProgress);
    connect(&saving_, &Job::failed, this, &OptimizePage::problem);
    connect(runBox_, &QComboBox::activated, this, &OptimizePage::showRun);
    connect(rules_, &RulePanel::selectionChanged, this, [this] {
        const RuleEntry* rule = rules_->current();
        replay_->setMarks(rule ? rule->steps : QVector<int>());
    });
    connect(rules_, &RulePanel::stepRequested, replay_, &ReplayView::setStep);
    connect(rules_, &RulePanel::runRequested, this, &OptimizePage::start);
    connect(replay_, &ReplayView::withoutRequested, this, [this](const QString& rule) {
        rules_->setWithout(rule, true);
        rules_->select(rule);
    });
    connect(difference_, &DifferencePanel::nodeChosen, replay_, &ReplayView::showNode);
    connect(replay_, &ReplayView::undoRequested, this, &OptimizePage::undo);
    connect(replay_, &ReplayView::saveRequested, this, &OptimizePage::chooseFile);
    connect(save_, &QPushButton::clicked, this, [this] { chooseFile(static_cast<int>(run()->made.steps.size())); });
}

void OptimizePage::sizeDocks() {
    resizeDocks({docks().front()}, {500}, Qt::Horizontal);
    resizeDocks(docks().first(2), {520, 400}, Qt::Vertical);
}

} // namespace tunesmith
