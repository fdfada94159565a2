// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/tuner_loop.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "core/measure/timing.h"
#include "core/schedule/stage_memory.h"

namespace tunesmith {
namespace {

// What a batch for each workload may bring. Values that are only moved count ten operations each.
std::vector<TaskShare::Task> shareOf(const std::vector<std::unique_ptr<WorkloadSearch>>& searches) {
    std::map<std::string, int> kinds;
    std::vector<TaskShare::Task> tasks;
    for (const auto& search : searches) {
        const Workload& workload = search->task().workload;
        const auto elements = static_cast<double>(elementCount(workload.graph.value(workload.graph.outputs()[0]).type.shape()));
        const int kind = kinds.try_emplace(workload.op, static_cast<int>(kinds.size())).first->second;
        tasks.push_back({static_cast<double>(search->task().count), std::max(static_cast<double>(workload.flops), 10 * elements), kind});
    }
    return tasks;
}

} // namespace

TunerLoop::TunerLoop(Store& store, const TuneObserver& observer, RunId run, const TuneOptions& options,
                     const Target& target, const MachineRow& machine, const StopToken& stop)
    : store_(store), observer_(observer), run_(run), options_(options), target_(target), machine_(machine), stop_(stop),
      overlap_(options.overlapBuilds.value_or(target.threads < machine.cores)),
      besideBuilders_(std::max(1, std::min(options.workers.builders, machine.cores - target.threads))) {}

void TunerLoop::add(std::unique_ptr<WorkloadSearch> search) { searches_.push_back(std::move(search)); }

Result<TuneResult> TunerLoop::go() {
    share_ = TaskShare(shareOf(searches_));
    tell(event(TuneEvent::Kind::started, nullptr));
    const Status known = readRecords(), worked = known.ok() ? work() : known;
    const StopReason reason = worked.ok() ? reasonOfRun() : StopReason::failed;
    TuneResult made = result(reason, worked.ok() ? std::string() : worked.error().message);
    RunEnd end;
    end.state = reason == StopReason::failed      ? RunState::failed
                : reason == StopReason::cancelled ? RunState::stopped
                                                  : RunState::completed;
    end.stopReason = stopReasonName(reason);
    end.beforeMs = made.beforeMs;
    end.afterMs = made.afterMs;
    const Status ended = store_.endRun(run_, end);
    TuneEvent stopped = event(TuneEvent::Kind::stopped, nullptr);
    stopped.reason = reason;
    stopped.text = made.message.empty() ? std::string(stopReasonSentence(reason)) : made.message;
    tell(stopped);
    if (!worked.ok())
        return worked.error();
    TS_TRY(ended);
    return made;
}

Status TunerLoop::readRecords() {
    if (!options_.targetMs)
        return {};
    for (const auto& search : searches_) {
        TS_ASSIGN(const auto record, store_.bestRecord(search->key(), target_.key(), machine_.key));
        if (record && record->trial.p5Ms)
            records_[search->key()] = *record->trial.p5Ms;
    }
    return {};
}

std::optional<double> TunerLoop::knownMs() const {
    double sum = 0;
    for (const auto& search : searches_) {
        const auto record = records_.find(search->key());
        double best = record == records_.end() ? std::numeric_limits<double>::infinity() : record->second;
        best = std::min(best, search->deliveredMs().value_or(best));
        sum += search->task().count * best;
    }
    return std::isfinite(sum) ? std::optional(sum) : std::nullopt;
}

bool TunerLoop::isGoalMet() const { return options_.targetMs && knownMs().value_or(std::numeric_limits<double>::infinity()) <= *options_.targetMs; }

Status TunerLoop::work() {
    std::optional<BatchUnderWay> current;
    do {
        std::optional<BatchUnderWay> upcoming;
        if (overlap_ && current && !current->open.empty()) {
            auto measuring = std::async(std::launch::async, [&] { return measure(*current); });
            auto prepared = prepare();
            TS_TRY(measuring.get());
            TS_ASSIGN(upcoming, std::move(prepared));
        } else {
            TS_ASSIGN(upcoming, prepare());
            if (current)
                TS_TRY(measure(*current));
        }
        if (current)
            TS_TRY(deliver(*current));
        closeWhenSpent();
        TS_TRY(finishDone());
        current = std::move(upcoming);
    } while (current || pick());
    for (const auto& search : searches_) // those that the time ended, or the goal
        if (!search->isDone() && search->trials() > 0)
            TS_TRY(holdFinal(*search));
    return {};
}

Result<std::unique_ptr<StageGate::Turn>> TunerLoop::turn(const char* stage, const StageNeed& need) const {
    if (!options_.gate)
        return std::unique_ptr<StageGate::Turn>();
    TS_ASSIGN(auto turn, options_.gate->enter(stage, need, stop_));
    if (std::string_view(stage) == "build")
        options_.executor->keepBuildsTo(turn->processors());
    if (std::string_view(stage) == "profile")
        options_.executor->keepMeasurementsTo(turn->processors());
    return turn;
}

Result<std::optional<BatchUnderWay>> TunerLoop::prepare() {
    std::optional<BatchUnderWay> none;
    if (!pick())
        return none;
    const auto building = turn("build", buildNeed(builders()));
    if (!building.ok())
        return building.error().isCancelled() ? Result(std::move(none)) : building.error();
    while (const auto index = pick())
        if (auto batch = searches_[*index]->next(largestBatch(*index))) {
            share_.begun(*index);
            build(*batch);
            return batch;
        }
    return none;
}

Status TunerLoop::deliver(BatchUnderWay& batch) {
    const auto updating = turn("update", {});
    if (!updating.ok() && !updating.error().isCancelled()) // a stopped run still takes what was measured
        return updating.error();
    WorkloadSearch& search = *batch.search;
    search.deliver(batch);
    const auto place = std::ranges::find(searches_, &search, &std::unique_ptr<WorkloadSearch>::get);
    share_.delivered(static_cast<std::size_t>(place - searches_.begin()), search.deliveredMs());
    return {};
}

// With trials for each workload one after the other; a budget for all of them is shared. Asks for nothing that a measurement in
// another thread changes.
std::optional<std::size_t> TunerLoop::pick() const {
    if (stop_.stopRequested() || timeIsUp() || trialsLeft() == 0 || isGoalMet())
        return std::nullopt;
    std::vector<bool> open;
    for (const auto& search : searches_)
        open.push_back(!search->isDone() && search->open());
    if (isShared(options_))
        return share_.next(open);
    const auto first = std::ranges::find(open, true);
    return first == open.end() ? std::nullopt : std::optional(static_cast<std::size_t>(first - open.begin()));
}

std::size_t TunerLoop::trialsLeft() const {
    if (!options_.totalTrials)
        return std::numeric_limits<std::size_t>::max();
    std::size_t spent = 0;
    for (const auto& search : searches_)
        spent += search->proposals();
    return *options_.totalTrials - std::min(spent, *options_.totalTrials);
}

// Where there are few trials for many workloads, first batches are smaller, so that each has its turn.
std::size_t TunerLoop::largestBatch(std::size_t index) const {
    const std::size_t left = trialsLeft();
    if (!options_.totalTrials || !share_.isFirst(index))
        return left;
    return std::min(left, std::max<std::size_t>(1, *options_.totalTrials / searches_.size()));
}

void TunerLoop::closeWhenSpent() {
    if (trialsLeft() == 0)
        for (const auto& search : searches_)
            search->close(StopReason::budgetTrials);
}

void TunerLoop::build(BatchUnderWay& batch) const {
    batch.builds.resize(batch.open.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i; (i = next.fetch_add(1)) < batch.open.size();)
            batch.builds[i] = batch.search->problem().tryBuild(batch.open[i], stop_);
    };
    const std::size_t threads = std::min<std::size_t>(static_cast<std::size_t>(builders()), batch.open.size());
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i)
        others.emplace_back(work);
    work();
}

Status TunerLoop::measure(BatchUnderWay& batch) {
    const auto profiling = turn("profile", profileNeed(batch.search->task().workload, target_.threads));
    if (!profiling.ok() && !profiling.error().isCancelled()) // stopped: trials say so themselves
        return profiling.error();
    for (std::size_t i = 0; i < batch.open.size(); ++i) {
        Trial trial = measureOne(batch, i);
        if (const auto broken = batch.search->problem().broken())
            return broken->within("tuning cannot go on");
        if (trial.status != TrialStatus::cancelled)
            TS_TRY(store(batch, trial, i));
        batch.trials.push_back(std::move(trial));
        batch.builds[i].built.reset();
    }
    return {};
}

Trial TunerLoop::measureOne(BatchUnderWay& batch, std::size_t index) {
    const Config& config = batch.open[index];
    ScheduleProblem::BuildOutcome& build = batch.builds[index];
    Trial trial;
    if (!build.built || stop_.stopRequested()) {
        const bool stopped = stop_.stopRequested();
        trial = Trial::failure(config, stopped ? TrialStatus::cancelled : build.status, build.message);
    } else if (const Trial* same = batch.search->sameCode(build.built->artifact.hash)) {
        trial = *same;
        trial.message = "the same machine code as config " + same->asked.text();
        trial.effective = build.built->effective;
    } else {
        ProfileLimits limits;
        limits.deadlineSeconds = options_.workers.profileSeconds;
        limits.incumbent = batch.search->bestMs();
        limits.reference = batch.search->reference(stop_);
        limits.stop = stop_;
        const double began = elapsed();
        trial = batch.search->problem().profile(build.built->artifact, limits);
        measuring_ += elapsed() - began;
        trial.effective = build.built->effective;
        trial.artifactHash = build.built->artifact.hash;
    }
    trial.asked = config;
    trial.buildSeconds = build.seconds;
    trial.predicted = batch.predicted[index];
    return trial;
}

Status TunerLoop::store(const BatchUnderWay& batch, const Trial& trial, std::size_t index) {
    WorkloadSearch& search = *batch.search;
    TrialRow row = rowFromTrial(trial, run_, search.key(), search.problem().featureVersion());
    row.batch = static_cast<std::int64_t>(batch.batch.index);
    row.index = batch.indices[index];
    const RunStateRow state{run_, search.key(), row.batch + 1, batch.nextIndex, "{}"};
    const bool closes = index + 1 == batch.open.size() &&
                        std::ranges::none_of(batch.trials, [](const Trial& earlier) {
                            return earlier.status == TrialStatus::cancelled;
                        });
    TS_ASSIGN([[maybe_unused]] const TrialId id, store_.addTrial(row, closes ? &state : nullptr));
    const std::optional<double> before = search.bestMs();
    const auto& built = batch.builds[index].built;
    search.remember(trial, built ? &built->artifact : nullptr);
    TuneEvent measured = event(TuneEvent::Kind::measured, &search);
    measured.trial = trial;
    tell(measured);
    if (search.bestMs() != before) {
        measured.kind = TuneEvent::Kind::improved;
        tell(measured);
    }
    return {};
}

Status TunerLoop::finishDone() {
    for (const auto& search : searches_)
        if (!search->isDone() && search->finished() && !stop_.stopRequested())
            TS_TRY(finish(*search));
    return {};
}

Status TunerLoop::finish(WorkloadSearch& search) {
    TS_TRY(holdFinal(search));
    if (stop_.stopRequested())
        return {};
    search.setDone();
    const std::string state =
        nlohmann::json{{"finished", stopReasonName(search.reason().value_or(StopReason::budgetTrials))}}.dump();
    TS_TRY(store_.saveRunState({run_, search.key(), search.batches(), static_cast<std::int64_t>(search.trials()), state}));
    TuneEvent done = event(TuneEvent::Kind::workloadDone, &search);
    done.reason = search.reason();
    tell(done);
    return {};
}

// The winner becomes one more trial, the record. Without one (stopped, or nothing can be measured) what was measured stands.
Status TunerLoop::holdFinal(WorkloadSearch& search) {
    if (search.hasFinal() || stop_.stopRequested())
        return {};
    const auto profiling = turn("profile", profileNeed(search.task().workload, target_.threads));
    if (!profiling.ok())
        return profiling.error().isCancelled() ? Status() : profiling.error();
    const double began = elapsed();
    const auto result = tunesmith::holdFinal(search.problem(), search.finalists(), search.defaultConfig(), stop_);
    measuring_ += elapsed() - began;
    if (!result)
        return {};
    Trial trial;
    trial.asked = trial.effective = result->config;
    trial.samples = result->samples;
    trial.objectives = {{"time", lowQuantile(result->samples), "ms"}};
    if (result->defaultMs)
        trial.objectives.push_back({"untuned time", *result->defaultMs, "ms"});
    trial.message = "chosen by measuring in turns with the untuned schedule and others";
    TrialRow row = rowFromTrial(trial, run_, search.key(), search.problem().featureVersion());
    row.batch = search.batches();
    row.index = static_cast<std::int64_t>(search.trials());
    row.isFinal = true;
    TS_ASSIGN([[maybe_unused]] const TrialId id, store_.addTrial(row));
    search.remember(trial, nullptr);
    search.settle(*result);
    TuneEvent chosen = event(TuneEvent::Kind::measured, &search);
    chosen.trial = trial;
    tell(chosen);
    chosen.kind = TuneEvent::Kind::improved;
    tell(chosen);
    return {};
}

StopReason TunerLoop::reasonOfRun() const {
    const bool allDone = std::ranges::all_of(searches_, [](const auto& search) { return search->isDone(); });
    if (!allDone && stop_.stopRequested())
        return StopReason::cancelled;
    if (isGoalMet())
        return StopReason::targetReached;
    if (!allDone)
        return StopReason::budgetTime;
    const bool exhausted = !searches_.empty() && std::ranges::all_of(searches_, [](const auto& search) {
        return search->reason() == StopReason::exhausted;
    });
    return exhausted ? StopReason::exhausted : StopReason::budgetTrials;
}

TuneResult TunerLoop::result(StopReason reason, std::string message) const {
    TuneResult out;
    out.run = run_;
    out.reason = reason;
    out.message = std::move(message);
    out.seconds = elapsed();
    out.measuringSeconds = measuring_;
    double before = 0, after = 0;
    bool complete = !searches_.empty();
    for (const auto& search : searches_) {
        out.workloads.push_back(search->summary());
        const TunedWorkload& workload = out.workloads.back();
        out.trials += workload.trials;
        out.failed += workload.failed;
        complete = complete && workload.defaultMs && workload.bestMs;
        before += workload.count * workload.defaultMs.value_or(0);
        after += workload.count * workload.bestMs.value_or(0);
    }
    if (complete) {
        out.beforeMs = before;
        out.afterMs = after;
    } else if (isGoalMet()) {
        out.afterMs = knownMs();
    }
    return out;
}

TuneEvent TunerLoop::event(TuneEvent::Kind kind, const WorkloadSearch* search) const {
    TuneEvent out;
    out.kind = kind;
    out.run = run_;
    out.seconds = elapsed();
    bool limited = true;
    for (const auto& each : searches_) {
        out.allTrials += each->trials();
        out.allBudget += each->budget();
        limited = limited && each->budget() > 0;
    }
    if (!limited)
        out.allBudget = options_.totalTrials.value_or(0);
    if (!search)
        return out;
    out.workload = search->key();
    out.name = search->task().workload.name;
    out.trials = search->trials();
    out.budget = search->budget();
    out.bestMs = search->bestMs();
    out.defaultMs = search->defaultMs();
    return out;
}

void TunerLoop::tell(const TuneEvent& event) {
    const std::lock_guard guard(telling_);
    if (observer_)
        observer_(event);
}

} // namespace tunesmith
