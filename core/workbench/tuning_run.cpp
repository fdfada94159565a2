// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tuning_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/measure/machine.h"
#include "core/schedule/stage_memory.h"
#include "core/workbench/layer_check.h"
#include "core/workbench/layout_stage.h"
#include "core/workbench/measure_module.h"
#include "core/workbench/version.h"

namespace tunesmith {
namespace {

constexpr double kLeastSeconds = 1, kMostSeconds = 4; // of measuring the whole model, untuned and tuned in turns ...
constexpr double kModelRuns = 1000;                   // ... in between: so many runs of each
constexpr double kLayerSeconds = 3;                   // of measuring its layers, likewise; quick models need less

std::string reasonText(const std::optional<StopReason>& reason) {
    return reason ? std::string(stopReasonName(*reason)) : std::string();
}

// What measuring a model takes whose layers took these times.
double modelSeconds(const PairSteps& steps) {
    double fastest = 0;
    for (const auto* rounds : {&steps.a, &steps.b}) {
        double least = std::numeric_limits<double>::infinity();
        for (const std::vector<double>& round : *rounds)
            least = std::min(least, std::accumulate(round.begin(), round.end(), 0.0));
        fastest += least;
    }
    return std::clamp(kModelRuns * fastest, kLeastSeconds, kMostSeconds);
}

// From the tuner's events to ours.
class EventTranslator {
public:
    EventTranslator(TuneListener& listener, const TuneBudget& budget, const TuneLeg& leg)
        : listener_(listener), budget_(budget), leg_(leg) {}

    void operator()(const TuneEvent& event) {
        using Kind = TuneEvent::Kind;
        if (event.run != run_ && event.run.valid()) {
            run_ = event.run;
            listener_.onRun(run_.value());
        }
        if (event.kind == Kind::measured && event.trial)
            listener_.onTrial(trialOf(event));
        if (event.kind == Kind::workloadDone)
            listener_.onTaskDone(event.workload, reasonText(event.reason));
        if (event.kind == Kind::measured || event.kind == Kind::started || event.kind == Kind::workloadDone)
            listener_.onProgress({"tuning", fractionOf(event), event.name});
        if (event.kind == Kind::message)
            listener_.onProgress({"tuning", fractionOf(event), event.text});
    }

private:
    double fractionOf(const TuneEvent& event) const {
        double fraction = event.allBudget > 0
                              ? static_cast<double>(event.allTrials) / static_cast<double>(event.allBudget)
                              : -1;
        if (budget_.seconds && *budget_.seconds > 0)
            fraction = std::max(fraction, event.seconds / *budget_.seconds);
        return fraction < 0 ? fraction : (leg_.index + std::min(fraction, 1.0)) / leg_.count;
    }

    static TuneTrial trialOf(const TuneEvent& event) {
        const Trial& trial = *event.trial;
        TuneTrial out;
        out.workload = event.workload;
        out.index = static_cast<std::int64_t>(event.trials) - 1;
        out.budget = static_cast<std::int64_t>(event.budget);
        if (trial.ok() && !trial.objectives.empty())
            out.ms = trial.objectives.front().value;
        out.predicted = trial.predicted;
        out.status = trialStatusName(trial.status);
        out.detail = trial.message;
        out.config = trial.asked.text();
        out.bestMs = event.bestMs;
        out.firstMs = event.defaultMs;
        return out;
    }

    TuneListener& listener_;
    const TuneBudget budget_;
    const TuneLeg leg_;
    RunId run_;
};

class TuningRun {
public:
    TuningRun(const Model& model, const TuneRequest& request, Store& store, const TuneLegPlan& plan,
              TuneListener& listener)
        : model_(model), request_(request), store_(store), plan_(plan), listener_(listener) {}

    Result<TunedRun> go() {
        TS_ASSIGN(target_, plan_.device() ? plan_.device()->device().target(plan_.leg.threads) : hostTarget(plan_.leg.threads));
        {
            TS_ASSIGN(const auto preparing, turn("prepare", {1, constantMb(model_.graph())}));
            TS_TRY(listTasks());
        }
        TS_ASSIGN(const TuneResult result, tune());
        TunedRun run = runOf(result);
        if (request_.measureModel && !plan_.device() && !request_.stop.stopRequested() && result.reason != StopReason::failed)
            if (const Status measured = measureModel(result.run, run); !measured.ok() && !measured.error().isCancelled())
                return measured.error();
        if (request_.layouts && !request_.stop.stopRequested() && result.reason != StopReason::failed)
            TS_TRY(planLayouts(result.run, run));
        return run;
    }

private:
    Status listTasks() {
        TS_ASSIGN(std::vector<ModelWorkload> workloads, workloadsOf(model_, target_, plan_.space));
        TS_ASSIGN(std::vector<ModelWorkload> planned, plannedWorkloadsOf(model_, target_, store_, plan_.space));
        if (!planned.empty() && !request_.layouts) // with plans to be compared, both are tuned
            workloads.clear();
        for (ModelWorkload& entry : planned)
            if (std::ranges::none_of(workloads, [&](const ModelWorkload& other) { return other.workload.key == entry.workload.key; }))
                workloads.push_back(std::move(entry));
        TS_ASSIGN(const std::vector<TuningTask> tasks, describeTasks(workloads, target_));
        for (const TuningTask& task : tasks)
            tasks_[task.key] = task;
        for (ModelWorkload& entry : workloads)
            work_.push_back({std::move(entry.workload), static_cast<int>(entry.count())});
        listener_.onTasks(tasks);
        return {};
    }

    // What is kept of a stage that is stopped are its measurements.
    Status planLayouts(RunId id, TunedRun& run) {
        if (!model_.info().notCompiled.empty())
            return {};
        TS_ASSIGN(TuneOptions chosen, options());
        chosen.gate.reset(); // the turn below is for all of it: who asks for another one within it waits for himself
        const auto plan = [&]() -> Result<TunedLayouts> {
            TS_ASSIGN(const auto profiling, turn("profile", buildNeed(coreCount()))); // it builds and measures by turns
            return planByMeasuring({model_, request_, store_, target_, chosen, id, listener_});
        };
        auto planned = plan();
        if (planned.ok())
            run.layouts = std::move(*planned);
        return planned.ok() || planned.error().isCancelled() ? Status() : planned.error();
    }

    Result<TuneOptions> options() const {
        TuneOptions options;
        options.trialsPerWorkload = plan_.budget.trialsPerWorkload;
        options.totalTrials = plan_.budget.trials;
        options.seconds = plan_.budget.seconds;
        options.targetMs = plan_.budget.targetMs;
        options.strategy = plan_.strategy;
        options.space = plan_.space;
        options.seed = plan_.seed;
        options.followedBy = plan_.followedBy;
        options.follows = plan_.follows;
        if (request_.batch > 0)
            options.batch = static_cast<std::size_t>(request_.batch);
        options.transfer = request_.transfer;
        options.workers = workerLimits(request_, plan_.seed, plan_.device() ? plan_.device()->device().machine.cores : coreCount());
        if (plan_.device()) {
            options.executor = plan_.devices.front();
            options.moreExecutors.assign(plan_.devices.begin() + 1, plan_.devices.end());
        }
        options.version = versionText();
        options.gate = request_.gate;
        ModelRow row{{}, model_.name(), model_.source(), model_.hash()};
        TS_ASSIGN(options.model, store_.addModel(row));
        return options;
    }

    Result<TuneResult> tune() {
        TS_ASSIGN(const TuneOptions chosen, options());
        auto translate = std::make_shared<EventTranslator>(listener_, plan_.budget, plan_.leg);
        Tuner tuner(store_, [translate](const TuneEvent& event) { (*translate)(event); });
        return plan_.resume ? tuner.resume(*plan_.resume, chosen, request_.stop)
                            : tuner.run(work_, target_, chosen, request_.stop);
    }

    TunedRun runOf(const TuneResult& result) const {
        TunedRun run;
        run.run = result.run.value();
        run.threads = target_.threads;
        run.space = spaceKindName(plan_.space);
        run.trials = static_cast<std::int64_t>(result.trials);
        run.failed = static_cast<std::int64_t>(result.failed);
        run.seconds = result.seconds;
        run.measuringSeconds = result.measuringSeconds;
        run.stopReason = stopReasonName(result.reason);
        run.message = result.message;
        run.beforeMs = result.beforeMs;
        run.afterMs = result.afterMs;
        for (const TunedWorkload& workload : result.workloads)
            run.tasks.push_back(taskOf(workload));
        return run;
    }

    TunedTask taskOf(const TunedWorkload& workload) const {
        TunedTask tuned;
        if (const auto task = tasks_.find(workload.key); task != tasks_.end())
            tuned.task = task->second;
        tuned.threads = target_.threads;
        tuned.task.key = workload.key;
        tuned.task.name = workload.name;
        tuned.task.count = static_cast<std::size_t>(workload.count);
        tuned.task.space = workload.spaceSize;
        tuned.trials = static_cast<std::int64_t>(workload.trials);
        tuned.failed = static_cast<std::int64_t>(workload.failed);
        tuned.firstMs = workload.defaultMs;
        tuned.bestMs = workload.bestMs;
        tuned.gflops = workload.gflops;
        tuned.config = workload.best;
        tuned.stopReason = reasonText(workload.reason);
        return tuned;
    }

    // Until here before and after were sums over the kernels; now the whole model, untuned and tuned in
    // turns. What is not compiled as a whole keeps the sums.
    Status measureModel(RunId id, TunedRun& run) {
        if (!model_.info().notCompiled.empty())
            return {};
        const Work work{request_.stop, [this](const Progress& progress) { listener_.onProgress(progress); }};
        const auto subject = [&](bool untuned) {
            return compiledSubject(model_, {request_.store, target_.threads, request_.builders, untuned, work, plan_.space}, {});
        };
        const auto subjects = [&]() -> Result<std::pair<Subject, Subject>> {
            TS_ASSIGN(const auto building, turn("build", moduleNeed(model_.graph(), coreCount())));
            TS_ASSIGN(Subject untuned, subject(true));
            TS_ASSIGN(Subject tuned, subject(false));
            return std::pair(std::move(untuned), std::move(tuned));
        };
        TS_ASSIGN(const auto built, subjects());
        const Subject& before = built.first;
        Subject after = built.second;
        TS_ASSIGN(const auto profiling, turn("profile", moduleNeed(model_.graph(), target_.threads)));
        work.report("measuring the layers of the model");
        TS_ASSIGN(const PairSteps steps, measureLayers(before, after, kLayerSeconds, request_.stop));
        const std::vector<std::string> slower = slowerInModel(before.module, after.module, steps);
        for (const std::string& workload : slower)
            TS_TRY(giveUp(id, workload, run));
        if (!slower.empty()) {
            TS_ASSIGN(after, subject(false));
        }
        work.report("measuring the whole model");
        TS_ASSIGN(const PairSamples pair, measurePair(before, after, modelSeconds(steps), request_.stop));
        run.beforeMs = latencyOf(pair.a, before, 0).p5Ms;
        run.afterMs = latencyOf(pair.b, after, 0).p5Ms;
        return store_.setRunLatency(id, run.beforeMs, run.afterMs);
    }

    Result<std::unique_ptr<StageGate::Turn>> turn(const char* stage, const StageNeed& need) const {
        return request_.gate ? request_.gate->enter(stage, need, request_.stop) : std::unique_ptr<StageGate::Turn>();
    }

    // What won alone is slower in the model: the untuned schedule becomes the record, with its time from the same final.
    Status giveUp(RunId id, const std::string& workload, TunedRun& run) {
        TunedTask* task = nullptr;
        for (TunedTask& candidate : run.tasks)
            if (candidate.task.key == workload)
                task = &candidate;
        TrialFilter first{.run = id, .workload = workload, .status = kTrialOk, .limit = 1};
        TS_ASSIGN(std::vector<TrialRow> trials, store_.trials(first)); // the untuned schedule is tried first
        if (!task || !task->firstMs || !task->bestMs || trials.empty())
            return {};
        TrialRow row = std::move(trials.front());
        row.detail = "the untuned schedule: in the model, " + task->config + " is slower";
        row.p5Ms = task->firstMs;
        row.objectives = {{"time", *task->firstMs, "ms"}, {"untuned time", *task->firstMs, "ms"}};
        row.isFinal = true;
        TS_ASSIGN([[maybe_unused]] const TrialId verdict, store_.addVerdict(row));
        task->gflops *= *task->bestMs / *task->firstMs;
        task->bestMs = task->firstMs;
        task->config = row.config;
        ++run.givenUp;
        ++run.trials; // a verdict counts like every final
        TuneTrial told;
        told.workload = workload;
        told.index = task->trials++;
        told.ms = told.bestMs = told.firstMs = task->firstMs;
        told.status = row.status;
        told.detail = row.detail;
        told.config = row.config;
        listener_.onTrial(told);
        return {};
    }

    const Model& model_;
    const TuneRequest& request_;
    Store& store_;
    const TuneLegPlan& plan_;
    TuneListener& listener_;
    Target target_;
    std::vector<TuneTask> work_;
    std::map<std::string, TuningTask> tasks_;
};

} // namespace

KernelWorkerOptions workerLimits(const TuneRequest& request, std::uint64_t seed, int cores) {
    KernelWorkerOptions limits;
    limits.builders = request.builders > 0 ? request.builders : cores;
    limits.profileSeconds = request.timeoutSeconds;
    limits.seed = seed;
    return limits;
}

Result<TunedRun> tuneLeg(const Model& model, const TuneRequest& request, Store& store, const TuneLegPlan& plan,
                         TuneListener& listener) {
    return TuningRun(model, request, store, plan, listener).go();
}

} // namespace tunesmith
