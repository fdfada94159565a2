// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/tuner_lane.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/helpers.h"
#include "core/measure/timing.h"
#include "core/schedule/stage_memory.h"

namespace tunesmith {
namespace {

double secondsSince(std::chrono::steady_clock::time_point begun) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); }

} // namespace

Status TunerLane::work() {
    if (const Status joined = join(); !joined.ok())
        return joined.error().isCancelled() ? Status() : joined;
    TS_TRY(runBatches());
    context_.pool.leave(number_);
    context_.enough.requestStop();
    TS_TRY(holdOpenFinals());
    if (context_.lanes > 1)
        executor_.rest();
    return {};
}

Status TunerLane::join() { return number_ == 0 ? Status() : executor_.await(context_.stop | context_.enough.token()); }

Status TunerLane::runBatches() {
    std::optional<BatchUnderWay> current;
    do {
        std::optional<BatchUnderWay> upcoming;
        if (context_.overlap && current && !current->open.empty()) {
            auto measuring = std::async(std::launch::async, [&] { return measure(*current); });
            auto prepared = prepare(current);
            TS_TRY(measuring.get());
            TS_ASSIGN(upcoming, std::move(prepared));
        } else {
            TS_ASSIGN(upcoming, prepare(current));
            if (current)
                TS_TRY(measure(*current));
        }
        if (current)
            TS_TRY(deliver(*current));
        context_.pool.closeSpent(number_);
        TS_TRY(finishDone());
        current = std::move(upcoming);
    } while (current || hasNext());
    return {};
}

// Of workloads that the time ended, or the goal.
Status TunerLane::holdOpenFinals() {
    if (!context_.timeIsUp() && !context_.pool.isGoalMet())
        return {};
    for (std::size_t i = 0; i < context_.pool.searches().size(); ++i)
        if (WorkloadSearch* search = context_.pool.takeUnsettled(number_, i))
            TS_TRY(holdFinal(*search));
    return {};
}

// The device is there before the turn, so that nobody else's is kept waiting for it.
Result<std::unique_ptr<StageGate::Turn>> TunerLane::turn(const std::string& stage, const StageNeed& need, StageGate::Chain* stages) {
    if (!context_.options.gate)
        return std::unique_ptr<StageGate::Turn>();
    if (stage != "update") {
        const auto waiting = context_.options.gate->awaitDevice();
        TS_TRY(executor_.await(context_.stop));
    }
    TS_ASSIGN(auto turn, stages ? stages->enter(stage, here(need), context_.stop) : context_.options.gate->enter(stage, here(need), context_.stop));
    if (stage == "build")
        executor_.keepBuildsTo(turn->processors());
    if (stage == "profile")
        executor_.keepMeasurementsTo(turn->processors());
    return turn;
}

StageNeed TunerLane::here(StageNeed need) const {
    need.lane = number_;
    need.networkMbit = executor_.networkMbit();
    return need;
}

// Of one batch. It is measured when the one before it has been learned from.
std::unique_ptr<StageGate::Chain> TunerLane::stagesAfter(const std::optional<BatchUnderWay>& before) const {
    if (!context_.options.gate)
        return nullptr;
    std::vector<StageGate::Link> links;
    if (executor_.isElsewhere())
        links.push_back({"propose", here({})});
    links.push_back({"build", here(buildNeed(context_.builders))});
    links.push_back({"profile", here({.cores = context_.target.threads}), true});
    links.push_back({"update", here({})});
    return context_.options.gate->chain(std::move(links), before ? before->stages.get() : nullptr);
}

Result<std::optional<BatchUnderWay>> TunerLane::prepare(const std::optional<BatchUnderWay>& before) {
    std::optional<BatchUnderWay> none;
    if (!hasNext())
        return none;
    const bool elsewhere = executor_.isElsewhere(); // then candidates are proposed on a core of this machine all the same
    auto stages = stagesAfter(before);
    auto preparing = elsewhere ? turn("propose", {}, stages.get()) : turn("build", buildNeed(context_.builders), stages.get());
    if (!preparing.ok())
        return preparing.error().isCancelled() ? Result(std::move(none)) : preparing.error();
    while (!isOver()) {
        const auto next = context_.pool.takeNext(number_);
        if (!next)
            break;
        if (!WorkloadPool::isShared(context_.options) && !context_.pool.hasFree())
            context_.enough.requestStop();
        next->search->problem().moveTo(executor_);
        auto batch = next->search->next(next->most);
        context_.pool.proposed(*next->search, batch.has_value());
        if (!batch)
            continue;
        if (elsewhere) {
            preparing->reset();
            preparing = turn("build", buildNeed(context_.builders), stages.get());
            if (!preparing.ok() && !preparing.error().isCancelled()) // stopped: builds say so themselves
                return preparing.error();
        }
        build(*batch);
        batch->stages = std::move(stages);
        return batch;
    }
    return none;
}

Status TunerLane::deliver(BatchUnderWay& batch) {
    const auto updating = turn("update", {}, batch.stages.get());
    if (!updating.ok() && !updating.error().isCancelled()) // a stopped run still takes what was measured
        return updating.error();
    batch.search->deliver(batch);
    context_.pool.delivered(*batch.search);
    return {};
}

void TunerLane::build(BatchUnderWay& batch) const {
    batch.builds.resize(batch.open.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&](std::size_t) {
        for (std::size_t i; (i = next.fetch_add(1)) < batch.open.size();)
            batch.builds[i] = batch.search->problem().tryBuild(batch.open[i], context_.stop);
    };
    const std::size_t threads = std::min<std::size_t>(static_cast<std::size_t>(context_.builders), batch.open.size());
    auto others = startHelpers(std::max<std::size_t>(threads, 1) - 1, work);
    work(0);
    others.join();
}

Status TunerLane::measure(BatchUnderWay& batch) {
    if (batch.open.empty()) // all of it is stored
        return {};
    const auto profiling = turn("profile", profileNeed(batch.search->task().workload, context_.target.threads), batch.stages.get());
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

Trial TunerLane::measureOne(BatchUnderWay& batch, std::size_t index) {
    const Config& config = batch.open[index];
    ScheduleProblem::BuildOutcome& build = batch.builds[index];
    Trial trial;
    if (!build.built || context_.stop.stopRequested()) {
        const bool stopped = context_.stop.stopRequested();
        trial = Trial::failure(config, stopped ? TrialStatus::cancelled : build.status, build.message);
    } else if (const Trial* same = batch.search->sameCode(build.built->artifact.hash)) {
        trial = *same;
        trial.message = "the same machine code as config " + same->asked.text();
        trial.effective = build.built->effective;
    } else {
        ProfileLimits limits;
        limits.deadlineSeconds = context_.options.workers.profileSeconds;
        limits.incumbent = batch.search->bestMs();
        limits.reference = batch.search->reference(context_.stop);
        limits.stop = context_.stop;
        const auto began = std::chrono::steady_clock::now();
        trial = batch.search->problem().profile(build.built->artifact, limits);
        measuring_ += secondsSince(began);
        trial.effective = build.built->effective;
        trial.artifactHash = build.built->artifact.hash;
    }
    trial.asked = config;
    trial.buildSeconds = build.seconds;
    trial.predicted = batch.predicted[index];
    return trial;
}

Status TunerLane::store(const BatchUnderWay& batch, const Trial& trial, std::size_t index) {
    WorkloadSearch& search = *batch.search;
    TrialRow row = rowFromTrial(trial, context_.run, search.key(), search.problem().featureVersion());
    row.batch = static_cast<std::int64_t>(batch.batch.index);
    row.index = batch.indices[index];
    const RunStateRow state{context_.run, search.key(), row.batch + 1, batch.nextIndex, "{}"};
    const bool closes = index + 1 == batch.open.size() &&
                        std::ranges::none_of(batch.trials, [](const Trial& earlier) {
                            return earlier.status == TrialStatus::cancelled;
                        });
    TS_ASSIGN([[maybe_unused]] const TrialId id, context_.store.addTrial(row, closes ? &state : nullptr));
    const auto& built = batch.builds[index].built;
    context_.tellTrial(search, trial, [&] { search.remember(trial, built ? &built->artifact : nullptr); });
    return {};
}

Status TunerLane::finishDone() {
    while (!context_.stop.stopRequested()) {
        WorkloadSearch* const search = context_.pool.takeFinished(number_);
        if (!search)
            break;
        TS_TRY(finish(*search));
    }
    return {};
}

Status TunerLane::finish(WorkloadSearch& search) {
    TS_TRY(holdFinal(search));
    if (context_.stop.stopRequested())
        return {};
    search.setDone();
    const std::string state =
        nlohmann::json{{"finished", stopReasonName(search.reason().value_or(StopReason::budgetTrials))}}.dump();
    TS_TRY(context_.store.saveRunState({context_.run, search.key(), search.batches(), static_cast<std::int64_t>(search.trials()), state}));
    context_.tellDone(search);
    return {};
}

// The winner becomes one more trial, the record. Without one (stopped, or nothing can be measured) what was measured stands.
Status TunerLane::holdFinal(WorkloadSearch& search) {
    if (search.hasFinal() || context_.stop.stopRequested())
        return {};
    search.problem().moveTo(executor_);
    const auto profiling = turn("profile", profileNeed(search.task().workload, context_.target.threads), nullptr);
    if (!profiling.ok())
        return profiling.error().isCancelled() ? Status() : profiling.error();
    const auto began = std::chrono::steady_clock::now();
    const auto result = tunesmith::holdFinal(search.problem(), search.finalists(), search.defaultConfig(), context_.stop);
    measuring_ += secondsSince(began);
    if (!result)
        return {};
    Trial trial;
    trial.asked = trial.effective = result->config;
    trial.samples = result->samples;
    trial.objectives = {{"time", lowQuantile(result->samples), "ms"}};
    if (result->defaultMs)
        trial.objectives.push_back({"untuned time", *result->defaultMs, "ms"});
    trial.message = "chosen by measuring in turns with the untuned schedule and others";
    TrialRow row = rowFromTrial(trial, context_.run, search.key(), search.problem().featureVersion());
    row.batch = search.batches();
    row.index = search.takeFinalNumber();
    row.isFinal = true;
    TS_ASSIGN([[maybe_unused]] const TrialId id, context_.store.addTrial(row));
    context_.tellTrial(search, trial, [&] {
        search.remember(trial, nullptr);
        search.settle(*result);
    });
    return {};
}

} // namespace tunesmith
