// SPDX-License-Identifier: GPL-3.0-or-later
// The part of OptimizePage that runs, shows what came of it, and writes files.
#include "app/gui/optimize_page.h"
#include "app/gui/optimize_rows.h"
#include "widgets/base/empty_state.h"
#include "widgets/base/foreign_text.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/cost_plot.h"
#include "widgets/optimize/difference_panel.h"
#include "widgets/optimize/optimize_bar.h"
#include "widgets/optimize/replay_view.h"
#include "widgets/optimize/rule_panel.h"
#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>

namespace tunesmith {
namespace {

constexpr std::size_t kMostRuns = 20; // kept

} // namespace

OptimizedRunPtr OptimizePage::run() const {
    return shown_ < 0 ? nullptr : runs_[static_cast<std::size_t>(shown_)];
}

void OptimizePage::showModel(const OpenModelPtr& model) {
    runner_.stop();
    saving_.stop();
    setRunning(false);
    model_ = model;
    runs_.clear();
    shown_ = -1;
    stack_->setCurrentIndex(model ? 1 : 0);
    for (QDockWidget* dock : docks())
        dock->widget()->setEnabled(model != nullptr);
    showIdle(tr("Not optimized yet"),
             tr("A search replaces parts of the graph by equal ones, as long as that makes it cheaper. The result is checked against the original."));
}

void OptimizePage::showIdle(const QString& title, const QString& sentence) {
    idle_->setText(title, sentence);
    middle_->setCurrentIndex(0);
    rules_->setRules({}, {});
    difference_->setDifference({}, {});
    refusals_->setRefusals({}, tr("Where a rule was found and could not be applied, or nearly fits, its reason stands here."));
    replay_->setReplay({});
    fillRuns();
    showCurves();
    refresh();
}

void OptimizePage::start() {
    if (!start_->isEnabled())
        return;
    growing_.clear();
    setRunning(true);
    runner_.start(model_->model, requestOf(bar_->choice(), rules_->without(), store_), replay_->graph()->font());
}

void OptimizePage::undo(int step) {
    if (running_ || !run())
        return;
    growing_.clear();
    setRunning(true);
    runner_.undo(model_->model, run(), step, replay_->graph()->font());
}

void OptimizePage::takeBest() {
    runner_.takeBest();
    enough_->setEnabled(false);
}

// At once for the person; the thread ends at its next look.
void OptimizePage::cancel() {
    if (!running_)
        return;
    runner_.stop();
    growing_.clear();
    setRunning(false);
    showCurves();
}

void OptimizePage::setRunning(bool running) {
    running_ = running;
    bar_->setBusy(running);
    rules_->setBusy(running);
    replay_->setBusy(running);
    refresh();
    emit stateChanged();
}

void OptimizePage::showFinished(const Result<OptimizedRunPtr>& result) {
    if (!running_)
        return; // cancelled meanwhile
    growing_.clear();
    setRunning(false);
    if (result.ok()) {
        if (runs_.size() == kMostRuns)
            runs_.erase(runs_.begin());
        runs_.push_back(*result);
        return showRun(static_cast<int>(runs_.size()) - 1);
    }
    if (result.error().isCancelled())
        return showCurves();
    const QString reason = QString::fromStdString(result.error().message);
    if (runs_.empty())
        showIdle(tr("Could not be optimized"), oneLine(reason, kValueLength));
    showCurves();
    emit problem(reason);
}

void OptimizePage::showRun(int index) {
    shown_ = index;
    const OptimizedRun& shown = *run();
    middle_->setCurrentIndex(1);
    replay_->setReplay(shown.replay);
    rules_->setRules(ruleEntries(shown), QString::fromStdString(shown.made.unit));
    difference_->setDifference(operatorEntries(shown.made), nodeChanges(shown.replay));
    refusals_->setRefusals(refusalEntries(shown.made), tr("No rule was found at a place where it could not be applied, or nearly fits."));
    fillRuns();
    showCurves();
    refresh();
    emit runShown();
}

void OptimizePage::fillRuns() {
    runBox_->clear();
    for (std::size_t i = 0; i < runs_.size(); ++i)
        runBox_->addItem(tr("%1: %2").arg(OptimizeText::runName(*runs_[i], static_cast<int>(i) + 1), OptimizeText::headline(runs_[i]->made)));
    runBox_->setCurrentIndex(shown_);
    runBox_->setVisible(runs_.size() > 1);
}

// Costs of different kinds do not share an axis: those like the shown run's.
void OptimizePage::showCurves() {
    const OptimizedRunPtr shown = run();
    const std::string cost = running_ ? bar_->choice().cost.toStdString() : shown ? shown->request.cost : std::string();
    QVector<CostCurve> curves;
    QString unit = shown ? QString::fromStdString(shown->made.unit) : QString();
    int others = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (!runs_[i]->made.undone.empty())
            continue; // nothing was searched
        if (runs_[i]->request.cost != cost) {
            ++others;
            continue;
        }
        unit = QString::fromStdString(runs_[i]->made.unit);
        curves.push_back({OptimizeText::runName(*runs_[i], static_cast<int>(i) + 1), static_cast<int>(i), costPoints(runs_[i]->made)});
    }
    if (running_ && !growing_.isEmpty())
        curves.push_back({tr("running"), static_cast<int>(runs_.size()), growing_});
    curves_->setCurves(curves, unit, others == 0 ? QString() : tr("Runs by another cost are not drawn: %1").arg(others));
}

void OptimizePage::refresh() {
    const OptimizedRunPtr shown = run();
    start_->setEnabled(model_ && !running_);
    enough_->setEnabled(running_);
    cancel_->setEnabled(running_);
    save_->setEnabled(shown && improves(shown->made));
    save_->setVisible(shown != nullptr);
    headline_->setText(shown ? OptimizeText::headline(shown->made) : model_ ? tr("Optimize the graph of %1").arg(oneLine(model_->model.name(), 60)) : QString());
    detail_->setText(shown ? OptimizeText::detail(shown->made) : model_ ? ModelText::summary(model_->model.info()) : QString());
    for (QLabel* label : {headline_, detail_})
        label->setToolTip(plainToolTip(label->text()));
}

void OptimizePage::chooseFile(int step) {
    if (!run())
        return;
    auto* dialog = new QFileDialog(this, tr("Save the graph"), {}, tr("ONNX models (*.onnx)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("onnx"));
    dialog->selectFile(QString::fromStdString(model_->model.name()) + QStringLiteral("-optimized"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, step, shown = run()](const QString& path) { save(shown, path, step); });
    dialog->open();
}

void OptimizePage::save(const OptimizedRunPtr& shown, const QString& path, int step) {
    saving_.start(
        tr("Writing %1").arg(QFileInfo(path).fileName()),
        [shown, step, path](const Work& work) { return exportStep(shown->made, static_cast<std::size_t>(step), path.toStdString(), work); },
        [this, path](const Result<double>& error) {
            if (error.ok())
                emit saved(tr("Saved %1; %2.").arg(QDir::toNativeSeparators(path), OptimizeText::agreement(*error)), path);
            else if (!error.error().isCancelled())
                emit problem(QString::fromStdString(error.error().message));
        });
}

} // namespace tunesmith
