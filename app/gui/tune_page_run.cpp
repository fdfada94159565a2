// SPDX-License-Identifier: GPL-3.0-or-later
// The part of TunePage that runs the tuner and shows what it reports.
#include "app/gui/devices_dock.h"
#include "app/gui/space_dock.h"
#include "app/gui/strategy_dock.h"
#include "app/gui/tune_page.h"
#include "widgets/base/foreign_text.h"
#include "widgets/tune/budget_form.h"
#include "widgets/tune/predicted_plot.h"
#include "widgets/tune/workload_table.h"
#include <QLabel>
#include <algorithm>

namespace tunesmith {
namespace {

TuneRequest requestOf(const BudgetChoice& choice, const DevicesDock* devices) {
    TuneRequest request;
    if (devices && !choice.device.isEmpty()) {
        request.device = devices->choice();
        request.device->key = choice.device.toStdString();
        request.device->devices = choice.devices;
    }
    request.strategy = choice.strategy.toStdString();
    request.space = choice.space.toStdString();
    request.threads = choice.threads;
    request.seed = choice.seed;
    if (choice.kind == BudgetKind::trialsPerWorkload)
        request.budget.trialsPerWorkload = choice.amount;
    else if (choice.kind == BudgetKind::totalTrials)
        request.budget.trials = choice.amount;
    else
        request.budget.seconds = choice.amount;
    return request;
}

DeviceOption optionOf(const DeviceKey& key) {
    return {key.key, key.devices == 1 ? oneLine(key.key) : TunePage::tr("%1 (devices: %2)").arg(oneLine(key.key)).arg(key.devices),
            TunePage::tr("Of these devices %1 can be had now; a tuning waits for one").arg(key.free), key.threads};
}

} // namespace

void TunePage::follow(DevicesDock* devices) {
    devices_ = devices;
    connect(devices, &DevicesDock::keysChanged, this, [this] {
        QVector<DeviceKey> keys = devices_->keys();
        const BudgetChoice chosen = budget_->choice();
        if (devices_->connected() && !chosen.device.isEmpty() && std::ranges::find(keys, chosen.device, &DeviceKey::key) == keys.end())
            keys.push_back({chosen.device, 0, 0, std::max(1, chosen.threads)}); // it may come back; until then a tuning waits
        QVector<DeviceOption> options;
        for (const DeviceKey& key : keys)
            options.push_back(optionOf(key));
        budget_->setDevices(options);
    });
    connect(budget_, &BudgetForm::devicesWanted, this, &TunePage::devicesWanted);
}

void TunePage::connectRunner() {
    connect(&runner_, &TuneRunner::legStarted, this, &TunePage::beginLeg);
    connect(&runner_, &TuneRunner::runStarted, this, [this](qint64 run) {
        run_ = run;
        showChosen();
    });
    connect(&runner_, &TuneRunner::tasksKnown, this, [this](const std::vector<TuningTask>& tasks) {
        board_.setTasks(tasks);
        convergence_->setSeries(board_.series());
        showRows();
        showPredictions();
        refreshHeadline();
    });
    connect(&runner_, &TuneRunner::tasksDone, this, [this](const QStringList& workloads) {
        for (const QString& key : workloads)
            board_.setDone(key);
        showRows();
    });
    connect(&runner_, &TuneRunner::trialsMeasured, this, &TunePage::addTrials);
    connect(&runner_, &TuneRunner::finished, this, &TunePage::showFinished);
    connect(&runner_.job(), &Job::failed, this,
            [this](const QString& reason) { showFinished(internalError(reason.toStdString())); });
}

void TunePage::start() {
    if (!start_->isEnabled())
        return;
    clearCurves();
    launch({});
}

// The workloads stay in view: those of the next leg are the same.
void TunePage::clearCurves() {
    board_.restart();
    convergence_->clear();
    convergence_->setSeries(board_.series());
    predicted_->clear();
    showRows();
}

// Each leg is a run of its own; the curves of the one before are in the list of runs.
void TunePage::beginLeg(const TuneLeg& leg) {
    leg_ = leg;
    shownThreads_ = leg.threads;
    showRoof();
    if (leg.index > 0)
        clearCurves();
    refreshHeadline();
}

void TunePage::resume() {
    if (resume_->isEnabled())
        launch(run_);
}

void TunePage::launch(std::optional<std::int64_t> resume) {
    history_.stop();
    roof_.stop();
    TuneRequest request = requestOf(budget_->choice(), devices_);
    request.store = store_;
    request.resume = resume;
    if (resume)
        request.budget = {}; // the run's own
    leg_.reset();
    runs_.clear(); // read again at the end
    broken_.reset();
    run_ = resume; // a fresh one gets its number once it is stored
    afterMs_.reset();
    if (!resume)
        beforeMs_.reset();
    state_ = State::running;
    refreshActions();
    refreshHeadline();
    emit stateChanged();
    runner_.start(model_->model, std::move(request));
}

void TunePage::pause() {
    end(State::pausing);
}
void TunePage::stop() {
    end(State::stopping);
}

void TunePage::end(State asked) {
    if (state_ != State::running)
        return;
    state_ = asked;
    refreshActions();
    refreshHeadline();
    runner_.stop();
}

void TunePage::addTrials(const QVector<TuneTrial>& trials) {
    QHash<QString, QVector<TrialPoint>> points;
    for (const TuneTrial& trial : trials) {
        board_.add(trial);
        points[QString::fromStdString(trial.workload)].push_back(pointOf(trial));
    }
    for (auto it = points.cbegin(); it != points.cend(); ++it)
        convergence_->addTrials(it.key(), it.value());
    predicted_->addTrials(points.value(predictedKey_));
    for (WorkloadReader* reader : {&strategies_->reader(), &space_->reader()})
        reader->grow();
    showRows();
    refreshHeadline();
}

QString TunePage::reachedByAll(const TuneReport& report) {
    QStringList texts;
    for (const TunedRun& run : report.runs)
        if (run.beforeMs && run.afterMs)
            texts << verdict(run.threads, *run.beforeMs, *run.afterMs);
    return texts.join(QStringLiteral("; "));
}

void TunePage::showFinished(const Result<TuneReport>& result) {
    const State asked = std::exchange(state_, State::idle);
    const bool whole = result.ok() && !result->unfinished;
    board_.finish(whole ? WorkloadState::done : WorkloadState::paused);
    showRows();
    if (!result.ok())
        broken_ = run_;
    else {
        beforeMs_ = result->last().beforeMs ? result->last().beforeMs : beforeMs_;
        afterMs_ = result->last().afterMs;
    }
    refreshActions();
    refreshHeadline();
    emit stateChanged();
    if (result.ok() && result->last().stopReason == "failed")
        emit problem(QString::fromStdString(result->last().message));
    else if (!result.ok() && !result.error().isCancelled())
        emit problem(QString::fromStdString(result.error().message));
    else if (asked != State::pausing)
        emit tuned(afterMs_ ? reachedByAll(*result)
                            : tr("Stopped; everything that was measured is in the store."),
                   beforeMs_ && afterMs_ && *afterMs_ < *beforeMs_);
    if (model_)
        loadHistory(run_); // the run is in the list now, and says whether it can be resumed
}

} // namespace tunesmith
