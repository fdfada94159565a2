// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/schedule/kernel_messages.h"
#include "core/workbench/job_kind.h"
#include "core/workbench/model_output.h"

// Jobs that rewrite a model's graph. One that was killed begins again; the kernels that it measured are in the store.
namespace tunesmith {
namespace {

std::vector<JobKey> keysOf(TuneJob& job) {
    OptimizeRequest& asked = job.rewriting;
    return {{"model", &job.model, 0, 0, JobKey::In::both, JobKey::Names::model},
            {"dims", &job.dimensions},
            {"search", &asked.search},
            {"cost", &asked.cost},
            {"alpha", &asked.alpha, 1, 10},
            {"budget", &asked.budget, 0, std::int64_t(1) << 40},
            {"seconds", &asked.seconds},
            {"seed", &asked.seed},
            {"rules", &asked.rules},
            {"threads", &asked.threads, 0, kMostTargetThreads},
            {"builders", &asked.builders, 0, 1024},
            {"measure", &asked.measure},
            {"no_measure", &asked.noMeasure},
            {"output", &asked.file, 0, 0, JobKey::In::both, JobKey::Names::written}};
}

Status requireOneOf(const char* key, const std::string& name, const std::vector<NamedText>& all) {
    std::string known;
    for (const NamedText& each : all) {
        if (each.name == name)
            return {};
        known += (known.empty() ? "" : ", ") + each.name;
    }
    return inputError(std::string(key) + " = '" + name + "': there is no such " + key + "; there are " + known);
}

Result<std::string> check(const TuneJob& job, ModelLooks& models, const Work& work) {
    const OptimizeRequest& asked = job.rewriting;
    TS_TRY(requireOneOf("search", asked.search, graphSearches()));
    TS_TRY(requireOneOf("cost", asked.cost, graphCosts()));
    TS_TRY(requireOneOf("rules", asked.rules, graphRuleSets()));
    TS_TRY(checkModelOutput(asked.file, job.model));
    TS_ASSIGN(const ModelLooks::Look model, models.at(job, work));
    if (!model.openDimensions.empty())
        return inputError(model.name + ": dimension '" + model.openDimensions[0] + "' is open; give it a value with dims = { " + model.openDimensions[0] + " = 1 }");
    return model.name;
}

TuneBudget budgetOf(const TuneJob& job) {
    TuneBudget budget;
    if (job.rewriting.seconds > 0)
        budget.seconds = job.rewriting.seconds;
    return budget;
}

JobOutcome outcomeOf(const OptimizedModel& made, const OptimizeRequest& asked) {
    JobOutcome outcome{made.unit, made.costBefore, made.costAfter, {}, {}, asked.file.string(), {}};
    if (made.measuredAfterMs > 0) {
        outcome.measuredBeforeMs = made.measuredBeforeMs;
        outcome.measuredAfterMs = made.measuredAfterMs;
    }
    outcome.remark = made.keptOriginal ? "nothing was certainly faster as a module: the graph is as it was" : std::to_string(made.steps.size()) + " rewrites";
    return outcome;
}

Result<JobEnd> run(const TuneJob& job, const JobRun& run) {
    if (measuresModules(job.rewriting))
        TS_TRY(run.allows(job, job.rewriting.threads));
    TS_ASSIGN(const Model model, run.open(job));
    OptimizeRequest asked = job.rewriting;
    asked.store = run.store;
    asked.gate = run.gate;
    asked.builders = asked.builders > 0 ? std::min(asked.builders, run.cores) : run.cores;
    const double searching = measuresModules(asked) ? 0.5 : 0.9; // about what that is of the whole
    const Work work{run.stop, [&](const Progress& progress) { run.listener.onProgress({progress.phase, progress.fraction < 0 ? progress.fraction : searching * std::min(progress.fraction, 1.0), progress.detail}); }};
    TS_ASSIGN(const OptimizedModel made, optimizeModel(model, asked, work));
    JobEnd end;
    end.whole = !run.stop.stopRequested() || made.stopReason != StopReason::cancelled;
    end.outcome = outcomeOf(made, asked);
    return end;
}

} // namespace

const JobKind kRewriteJobs{"rewrite", "model", keysOf, budgetOf, [](const TuneJob& job) { return modelFileMb(job.model); }, check, run};

} // namespace tunesmith
