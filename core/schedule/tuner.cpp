// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/tuner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"
#include "core/process/json_number.h"
#include "core/schedule/autotvm_starts.h"
#include "core/schedule/kernel_workers.h"
#include "core/schedule/records.h"
#include "core/schedule/stored_rows.h"
#include "core/schedule/tuner_loop.h"

namespace tunesmith {
namespace {

using Problems = std::vector<std::unique_ptr<ScheduleProblem>>;

template <class T> void putOptional(nlohmann::json& json, const char* key, const std::optional<T>& value) {
    if (value)
        json[key] = *value;
}

std::optional<double> takeNumber(const nlohmann::json& json, const char* key) {
    return json.contains(key) ? std::optional(json.at(key).get<double>()) : std::nullopt;
}

std::optional<std::size_t> takeTrials(const nlohmann::json& json, const char* key) {
    return json.contains(key) ? std::optional(countUpTo(kMostTrials, json.at(key))) : std::nullopt;
}

// What a resumed run must know, besides what the store has in columns of its own.
nlohmann::json optionsToJson(const TuneOptions& options, const Target& target,
                             const std::map<std::string, std::vector<Config>>& starts) {
    nlohmann::json json{{"batch", options.batch},
                        {"transfer", options.transfer},
                        {"isa", isaName(target.isa)},
                        {"cpu", target.tuneCpu},
                        {"threads", target.threads},
                        {"space", spaceKindName(options.space)},
                        {"starts", nlohmann::json::object()}};
    putOptional(json, "trials_per_workload", options.trialsPerWorkload);
    putOptional(json, "trials", options.totalTrials);
    putOptional(json, "seconds", options.seconds);
    putOptional(json, "target_ms", options.targetMs);
    if (!options.followedBy.empty())
        json["followed_by"] = options.followedBy;
    if (options.follows.valid())
        json["follows"] = options.follows.value();
    for (const auto& [key, configs] : starts)
        for (const Config& config : configs)
            json["starts"][key].push_back(config.text());
    return json;
}

double spaceSize(const ScheduleProblem& problem) { return problem.space().size().value_or(1e18); }

Status checkOptions(const std::vector<TuneTask>& tasks, const TuneOptions& options) {
    if (tasks.empty())
        return inputError("there is nothing to tune: the model has no kernels");
    if (!options.trialsPerWorkload && !options.totalTrials && !options.seconds)
        return inputError("tuning needs a budget: trials per workload, trials in all, or seconds");
    if (options.trialsPerWorkload == 0u || options.totalTrials == 0u || options.batch == 0)
        return inputError("a budget of 0 trials, or a batch of 0, tunes nothing; give at least 1");
    return checkStrategyName(options.strategy);
}

Result<std::vector<Config>> startsFor(const ScheduleProblem& problem, const TuneTask& task, const Store& store, const Target& target,
                                      bool transfer) {
    std::vector<Config> starts = problem.schedules().guesses();
    const auto add = [&](const Config& config) {
        if (std::ranges::find(starts, config) == starts.end() && problem.space().validate(config).ok())
            starts.push_back(config);
    };
    std::ranges::for_each(task.starts, add);
    if (!transfer)
        return starts;
    TS_ASSIGN(const auto known, bestConfig(store, problem.workload().key, target));
    if (known)
        add(known->config);
    if (problem.workload().space == SpaceKind::autotvm) {
        TS_ASSIGN(const std::vector<Config> theirs, importedGuesses(store, problem.workload(), problem.schedules()));
        std::ranges::for_each(theirs, add);
    }
    return starts;
}

Result<std::shared_ptr<KernelExecutor>> executorOf(const TuneOptions& options) {
    if (options.executor)
        return options.executor;
    TS_ASSIGN(auto workers, KernelWorkers::start(options.workers));
    return std::shared_ptr<KernelExecutor>(std::move(workers));
}

Result<Problems> makeProblems(const std::vector<TuneTask>& tasks, const Target& target, KernelExecutor& executor) {
    Problems problems;
    for (const TuneTask& task : tasks) {
        TS_ASSIGN(auto problem, ScheduleProblem::make(task.workload, target, executor));
        problems.push_back(std::move(problem));
    }
    return problems;
}

struct StoredRun {
    TuneOptions options;
    Target target;
    std::vector<TuneTask> tasks;
    std::map<std::string, std::vector<std::string>> starts; // as they stand there
};

Error unreadable(RunId id, const std::string& why = {}) {
    return inputError("run " + std::to_string(id.value()) + " has no options that can be read" + (why.empty() ? "" : " (" + why + ")") + "; start a new run");
}

Result<StoredRun> readRun(const Store& store, RunId id, const TuneOptions& now) {
    TS_ASSIGN(const RunRow row, store.run(id));
    if (row.kind != "tune")
        return inputError("run " + std::to_string(id.value()) + " is no tuning run but of kind '" + row.kind + "'");
    StoredRun stored;
    stored.options = now;
    stored.options.strategy = row.strategy;
    stored.options.seed = row.seed;
    stored.options.model = row.model;
    try {
        const auto json = parseJson<nlohmann::json>(row.options);
        stored.options.batch = countUpTo(kMostBatch, json.at("batch"));
        stored.options.trialsPerWorkload = takeTrials(json, "trials_per_workload");
        stored.options.totalTrials = takeTrials(json, "trials");
        stored.options.targetMs = takeNumber(json, "target_ms");
        if (!now.seconds)
            stored.options.seconds = takeNumber(json, "seconds");
        TS_ASSIGN(stored.target, targetFromJson(json));
        for (const auto& [key, texts] : json.at("starts").items())
            stored.starts[key] = texts.get<std::vector<std::string>>();
    } catch (const nlohmann::json::exception&) {
        return unreadable(id);
    }
    TS_ASSIGN(const auto summaries, store.runWorkloads(id));
    for (const auto& summary : summaries) {
        TS_ASSIGN(const auto known, store.workload(summary.plan.workload));
        if (!known)
            return inputError("run " + std::to_string(id.value()) + " has a workload that is not in the store");
        if (summary.plan.budget < 0 || summary.plan.budget > kMostTrials)
            return unreadable(id, "the budget of '" + known->name + "'");
        TS_ASSIGN(Workload workload, Workload::deserialize({reinterpret_cast<const char*>(known->graph.data()), known->graph.size()}));
        workload.key = known->key; // whatever this version makes of it: trials are stored under that one
        stored.tasks.push_back({std::move(workload), summary.plan.occurrences});
    }
    return stored;
}

Result<std::vector<TrialRow>> trialsOf(const Store& store, RunId run, const std::string& workload) {
    std::vector<TrialRow> all;
    TrialFilter filter;
    filter.run = run;
    filter.workload = workload;
    for (;;) {
        TS_ASSIGN(auto page, store.trials(filter));
        const bool last = page.size() < static_cast<std::size_t>(filter.limit);
        std::ranges::move(page, std::back_inserter(all));
        if (last)
            break;
        filter.after = all.back().id;
    }
    std::ranges::sort(all, {}, &TrialRow::index);
    return all;
}

// Times of two kinds of machines make no run.
Status checkMachine(Store& store, RunId run, const Target& target, const MachineRow& machine) {
    TS_ASSIGN(const RunRow row, store.run(run));
    TS_ASSIGN(const TargetId here, storedTarget(store, target, machine));
    if (row.target == here)
        return {};
    return inputError("run " + std::to_string(run.value()) + " was measured on another machine than this one (" + machine.cpu + ", " + std::to_string(machine.cores) + " cores); resume it there, or start a new run");
}

Result<std::vector<Config>> startsOf(const std::vector<std::string>& texts, const ScheduleProblem& problem, RunId run) {
    std::vector<Config> starts;
    for (const std::string& text : texts) {
        auto config = parseConfig(text, problem.space());
        if (!config.ok())
            return unreadable(run, config.error().message);
        starts.push_back(std::move(*config));
    }
    return starts;
}

// Was this workload brought to its end in an earlier part of the run?
Result<bool> wasFinished(const Store& store, RunId run, const std::string& workload) {
    TS_ASSIGN(const auto state, store.runState(run, workload));
    if (!state)
        return false;
    const auto json = parseJson<nlohmann::json>(state->state);
    return json.is_object() && json.contains("finished");
}

} // namespace

Result<TuneResult> Tuner::run(const std::vector<TuneTask>& tasks, const Target& target, const TuneOptions& asked,
                              const StopToken& stop) {
    TuneOptions options = asked;
    TS_TRY(checkOptions(tasks, options));
    TS_ASSIGN(options.executor, executorOf(asked));
    TS_ASSIGN(Problems problems, makeProblems(tasks, target, *options.executor));
    const std::size_t budget = options.trialsPerWorkload.value_or(0); // 0: no limit of its own
    std::map<std::string, std::vector<Config>> starts;
    std::vector<RunWorkloadRow> plan;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const ScheduleProblem& problem = *problems[i];
        TS_ASSIGN(starts[problem.workload().key], startsFor(problem, tasks[i], store_, target, options.transfer));
        TS_TRY(store_.addWorkload(rowOf(problem.workload(), problem.serialized())));
        plan.push_back({problem.workload().key, tasks[i].count, problem.space().name(), spaceSize(problem),
                        static_cast<std::int64_t>(budget)});
    }
    RunRow row;
    row.model = options.model;
    TS_ASSIGN(const MachineRow machine, options.executor->machine());
    TS_ASSIGN(row.target, storedTarget(store_, target, machine));
    row.kind = options.kind;
    row.strategy = options.strategy;
    row.seed = options.seed;
    row.options = optionsToJson(options, target, starts).dump();
    row.version = options.version;
    TS_ASSIGN(const RunId run, store_.beginRun(row, plan));
    TunerLoop loop(store_, observer_, run, options, target, machine, stop);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        TS_ASSIGN(auto search, WorkloadSearch::make(std::move(problems[i]),
                                                    {tasks[i], budget, starts[tasks[i].workload.key]}, options, stop));
        loop.add(std::move(search));
    }
    return loop.go();
}

Result<TuneResult> Tuner::resume(RunId run, const TuneOptions& options, const StopToken& stop) {
    TS_ASSIGN(StoredRun stored, readRun(store_, run, options));
    if (const Status usable = checkOptions(stored.tasks, stored.options); !usable.ok())
        return unreadable(run, usable.error().message);
    TS_ASSIGN(stored.options.executor, executorOf(options));
    TS_ASSIGN(Problems problems, makeProblems(stored.tasks, stored.target, *stored.options.executor));
    TS_ASSIGN(const MachineRow machine, stored.options.executor->machine());
    TS_TRY(checkMachine(store_, run, stored.target, machine));
    TS_ASSIGN(const auto summaries, store_.runWorkloads(run));
    std::vector<std::vector<Config>> starts(problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
        TS_ASSIGN(starts[i], startsOf(stored.starts[stored.tasks[i].workload.key], *problems[i], run));
    }
    TS_TRY(store_.resumeRun(run));
    TunerLoop loop(store_, observer_, run, stored.options, stored.target, machine, stop);
    for (std::size_t i = 0; i < problems.size(); ++i) {
        const std::string key = stored.tasks[i].workload.key;
        TS_ASSIGN(auto search, WorkloadSearch::make(std::move(problems[i]),
                                                    {stored.tasks[i], static_cast<std::size_t>(summaries[i].plan.budget), std::move(starts[i])},
                                                    stored.options, stop));
        TS_ASSIGN(const auto rows, trialsOf(store_, run, key));
        TS_TRY(search->takeOver(rows));
        TS_ASSIGN(const bool finished, wasFinished(store_, run, key));
        if (finished && !WorkloadPool::isShared(stored.options)) // else its batches decide who had the next ones
            search->setDone();
        loop.add(std::move(search));
    }
    return loop.go();
}

} // namespace tunesmith
