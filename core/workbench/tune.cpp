// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tune.h"

#include <map>

#include "core/measure/machine.h"
#include "core/module/build.h"
#include "core/schedule/tuner.h"
#include "core/workbench/measure_module.h"
#include "core/workbench/open_store.h"
#include "core/workbench/version.h"

namespace tunesmith {
namespace {

constexpr double kModelSeconds = 4; // of measuring the whole model, untuned and tuned in turns

std::string reasonText(const std::optional<StopReason>& reason) {
    return reason ? std::string(stopReasonName(*reason)) : std::string();
}

// From the tuner's events to ours.
class EventTranslator {
public:
    EventTranslator(TuneListener& listener, const TuneBudget& budget)
        : listener_(listener), budget_(budget) {}

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
        return std::min(fraction, 1.0);
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
    const TuneBudget& budget_;
    RunId run_;
};

class TuningSession {
public:
    TuningSession(const Model& model, const TuneRequest& request) : model_(model), request_(request) {}

    Result<TuneReport> run() {
        listener().onProgress({"preparing " + model_.name(), -1, {}});
        TS_ASSIGN(const std::string path, storePath(request_.store));
        TS_ASSIGN(store_, Store::open(path));
        TS_TRY(chooseTarget());
        TS_TRY(listTasks());
        TS_ASSIGN(TuneResult result, tune());
        TuneReport report = reportOf(result);
        if (request_.measureModel && !request_.stop.stopRequested() && result.reason != StopReason::failed)
            TS_TRY(measureModel(result.run, report));
        return report;
    }

private:
    TuneListener& listener() const { return request_.listener ? *request_.listener : silent_; }

    Status chooseTarget() {
        int threads = request_.threads > 0 ? request_.threads : coreCount();
        if (request_.resume) {
            TS_ASSIGN(const RunRow row, store_->run(RunId(*request_.resume)));
            TS_TRY(checkModel(row));
            if (const auto at = row.targetKey.rfind("-t"); at != std::string::npos && request_.threads <= 0)
                threads = std::max(1, std::atoi(row.targetKey.c_str() + at + 2));
        }
        TS_ASSIGN(target_, hostTarget(threads));
        return {};
    }

    Status checkModel(const RunRow& row) const {
        TS_ASSIGN(const std::vector<ModelRow> models, store_->models());
        for (const ModelRow& known : models)
            if (known.id == row.model && known.hash != model_.hash())
                return inputError("run " + std::to_string(*request_.resume) + " tuned " + known.name + " (" +
                                  known.path + "), which is not " + model_.name() +
                                  "; name that model, with the same dimensions");
        return {};
    }

    Status listTasks() {
        auto prepared = prepareGraph(model_.graph());
        if (!prepared.ok())
            return prepared.error().within(model_.name());
        auto workloads = modelWorkloads(*prepared, target_);
        if (!workloads.ok())
            return workloads.error().within(model_.name());
        for (ModelWorkload& entry : *workloads)
            work_.push_back({std::move(entry.workload), static_cast<int>(entry.count())});
        TS_ASSIGN(std::vector<TuningTask> tasks, tuningTasks(model_, target_.threads));
        for (const TuningTask& task : tasks)
            tasks_[task.key] = task;
        listener().onTasks(tasks);
        return {};
    }

    Result<TuneOptions> options() const {
        TuneOptions options;
        options.trialsPerWorkload = request_.budget.trialsPerWorkload;
        options.totalTrials = request_.budget.trials;
        options.seconds = request_.budget.seconds;
        if (request_.budget.empty() && !request_.resume)
            options.trialsPerWorkload = 64;
        options.strategy = request_.strategy.empty() ? tuneStrategies().front().key : request_.strategy;
        options.seed = request_.seed;
        if (request_.batch > 0)
            options.batch = static_cast<std::size_t>(request_.batch);
        options.transfer = request_.transfer;
        options.workers.builders = request_.builders > 0 ? request_.builders : coreCount();
        options.workers.profileSeconds = request_.timeoutSeconds;
        options.workers.seed = request_.seed;
        options.version = versionText();
        ModelRow row{{}, model_.name(), model_.source(), model_.hash()};
        TS_ASSIGN(options.model, store_->addModel(row));
        return options;
    }

    Result<TuneResult> tune() {
        TS_ASSIGN(const TuneOptions chosen, options());
        auto translate = std::make_shared<EventTranslator>(listener(), request_.budget);
        Tuner tuner(*store_, [translate](const TuneEvent& event) { (*translate)(event); });
        return request_.resume ? tuner.resume(RunId(*request_.resume), chosen, request_.stop)
                               : tuner.run(work_, target_, chosen, request_.stop);
    }

    TuneReport reportOf(const TuneResult& result) const {
        TuneReport report;
        report.run = result.run.value();
        report.trials = static_cast<std::int64_t>(result.trials);
        report.failed = static_cast<std::int64_t>(result.failed);
        report.seconds = result.seconds;
        report.stopReason = stopReasonName(result.reason);
        report.message = result.message;
        report.beforeMs = result.beforeMs;
        report.afterMs = result.afterMs;
        for (const TunedWorkload& workload : result.workloads) {
            TunedTask tuned;
            if (const auto task = tasks_.find(workload.key); task != tasks_.end())
                tuned.task = task->second;
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
            report.tasks.push_back(std::move(tuned));
        }
        return report;
    }

    // Until here before and after were sums over the kernels; now the whole model, untuned and tuned in
    // turns.
    Status measureModel(RunId run, TuneReport& report) {
        const Work work{request_.stop, [this](const Progress& progress) { listener().onProgress(progress); }};
        TS_ASSIGN(
            const Subject before,
            compiledSubject(model_, {request_.store, target_.threads, request_.builders, true, work}, {}));
        TS_ASSIGN(
            const Subject after,
            compiledSubject(model_, {request_.store, target_.threads, request_.builders, false, work}, {}));
        work.report("measuring the whole model");
        TS_ASSIGN(const PairSamples pair, measurePair(before, after, kModelSeconds, request_.stop));
        report.beforeMs = latencyOf(pair.a, before, 0).p5Ms;
        report.afterMs = latencyOf(pair.b, after, 0).p5Ms;
        return store_->setRunLatency(run, report.beforeMs, report.afterMs);
    }

    const Model& model_;
    const TuneRequest& request_;
    std::shared_ptr<Store> store_;
    Target target_;
    std::vector<TuneTask> work_;
    std::map<std::string, TuningTask> tasks_;
    mutable TuneListener silent_;
};

} // namespace

const std::vector<StrategyInfo>& tuneStrategies() {
    static const std::vector<StrategyInfo> list{
        {"model-guided", "Model-guided",
         "Learns from every measurement which schedules are fast and anneals on what it learned"},
        {"random", "Random", "Draws schedules at random: slow, but a fair yardstick"},
    };
    return list;
}

Result<TuneReport> tuneModel(const Model& model, const TuneRequest& request) {
    return TuningSession(model, request).run();
}

} // namespace tunesmith
