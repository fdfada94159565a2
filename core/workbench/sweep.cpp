// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/sweep.h"

#include <algorithm>
#include <span>

#include "core/base/hash.h"
#include "core/store/store.h"
#include "core/workbench/csv.h"
#include "core/workbench/history.h"
#include "core/workbench/job_kind.h"
#include "core/workbench/job_queue.h"
#include "core/workbench/job_spec.h"
#include "core/workbench/open_store.h"
#include "core/workbench/run_legs.h"
#include "core/workbench/run_options.h"
#include "core/workbench/tune_problem.h"

namespace tunesmith {
namespace {


// "strategies: squeezenet random 4"
std::string nameOf(const SweepRequest& request, const SweepCombination& combination) {
    std::string name = request.name + ":";
    for (const std::string& value : combination.values)
        name += " " + value;
    return name;
}

// Of the model with its dimensions, or of the problem's file.
Result<std::string> contentHash(const TuneJob& job, ModelLooks& models, const Work& work) {
    if (!job.model.empty()) {
        TS_ASSIGN(const ModelLooks::Look model, models.at(job, work));
        return model.hash;
    }
    TS_ASSIGN(const std::string bytes, readProblemFile(job.problem.file));
    return hexHash(Hasher().add(std::string_view(bytes)).value());
}

bool sharesSeconds(const SweepRequest& request) {
    return std::ranges::any_of(request.combinations, [](const SweepCombination& one) { return jobKind(one.job.kind).value()->budget(one.job).seconds.has_value(); });
}

// Sums over the kernels, each as often as it occurs; none while one has no time.
Status addFigures(SweepRow& row, const std::string& store, RunId run) {
    TS_ASSIGN(const std::vector<RunCurve> curves, runCurves(store, run.value()));
    double before = 0, after = 0;
    bool whole = !curves.empty();
    for (const RunCurve& curve : curves) {
        row.trials += curve.trials;
        row.failed += curve.failed;
        whole &= curve.firstMs && curve.bestMs;
        before += curve.firstMs.value_or(0) * curve.occurrences;
        after += curve.bestMs.value_or(0) * curve.occurrences;
    }
    if (whole) {
        row.beforeMs = before;
        row.afterMs = after;
    }
    return {};
}

// A row for each leg; one without figures where there is none.
Status addRows(SweepTable& table, const SweepRow& row, const std::string& store, const std::vector<RunRow>& legs) {
    if (legs.empty())
        table.rows.push_back(row);
    for (const RunRow& leg : legs) {
        SweepRow& made = table.rows.emplace_back(row);
        made.threads = optionsOf(leg).threads;
        made.stopReason = leg.stopReason;
        TS_TRY(addFigures(made, store, leg.id));
    }
    return {};
}

std::string numberOf(const std::optional<double>& value) { return value ? std::to_string(*value) : std::string(); }

std::string outcomeCells(const SweepRow& row) {
    const JobOutcome outcome = row.outcome.value_or(JobOutcome());
    return csvCell(outcome.unit) + "," + numberOf(outcome.before) + "," + numberOf(outcome.after);
}

} // namespace

TuneJobsRequest SweepPlan::run() const {
    TuneJobsRequest jobsOfIt;
    jobsOfIt.stored = jobs;
    jobsOfIt.policy = request.policy;
    jobsOfIt.store = request.store;
    jobsOfIt.remote = request.remote;
    jobsOfIt.atOnce = sharesSeconds(request) ? 1 : request.atOnce;
    return jobsOfIt;
}

Result<SweepPlan> planSweep(const SweepRequest& request, const Work& work) {
    if (request.combinations.empty())
        return inputError("there is nothing to sweep over: give at least one model");
    TS_ASSIGN(const std::shared_ptr<Store> store, openStore(request.store, StoreMode::readWrite));
    TS_ASSIGN(const std::vector<JobRow> known, store->jobs());
    SweepPlan plan{request, {}};
    std::vector<TuneJob> missing;
    std::vector<std::size_t> places;
    ModelLooks models;
    for (std::size_t i = 0; i < request.combinations.size(); ++i) {
        TuneJob job = request.combinations[i].job;
        job.name = nameOf(request, request.combinations[i]);
        job.tuning.measureModel = false; // modules take the best records of all runs
        TS_ASSIGN(job.content, contentHash(job, models, work));
        TS_ASSIGN(const std::string spec, jobSpec(job));
        const auto same = std::ranges::find_if(known, [&](const JobRow& row) { return row.kind == job.kind && row.name == job.name && row.what == spec; });
        plan.jobs.push_back(same == known.end() ? 0 : same->id.value());
        if (same == known.end()) {
            missing.push_back(std::move(job));
            places.push_back(i);
        } else if (same->state == JobState::failed || same->state == JobState::cancelled) {
            TS_TRY(store->wishJob(same->id, JobWish::run));
        }
    }
    TS_ASSIGN(const std::vector<std::int64_t> added, addJobs(*store, missing, models, work));
    for (std::size_t i = 0; i < added.size(); ++i)
        plan.jobs[places[i]] = added[i];
    return plan;
}

Result<SweepTable> sweepTable(const SweepPlan& plan, const std::set<std::int64_t>& only, const Work& work) {
    SweepTable table{plan.request.keys, {}};
    TS_ASSIGN(const std::shared_ptr<Store> store, openStore(plan.request.store, StoreMode::readOnly));
    TS_ASSIGN(std::vector<RunRow> all, store->runs());
    const RunLegs legs(std::move(all));
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
        if (!only.empty() && !only.contains(plan.jobs[i]))
            continue;
        if (work.stop.stopRequested())
            return cancelledError();
        work.report("reading the sweep", static_cast<double>(i) / static_cast<double>(plan.jobs.size()));
        const auto stored = store->job(StoredJobId(plan.jobs[i]));
        SweepRow row{plan.jobs[i], plan.request.combinations[i].values, "removed", std::max(1, plan.request.combinations[i].job.tuning.threads), 0, 0, 0, {}, {}, "", "", {}};
        std::vector<RunRow> runs;
        if (stored.ok()) {
            const QueuedJob job = queuedJob(*stored);
            row.state = job.state;
            row.seconds = job.seconds;
            row.error = job.detail;
            row.outcome = job.outcome;
            if (stored->run.valid() && job.kind == TuneJob().kind)
                runs = legs.of(stored->run);
        }
        TS_TRY(addRows(table, row, plan.request.store, runs));
    }
    return table;
}

Result<SweepTable> runSweep(const SweepRequest& request, const Work& work) {
    TS_ASSIGN(const SweepPlan plan, planSweep(request, work));
    TS_TRY(tuneJobs(plan.run(), work));
    return sweepTable(plan);
}

std::string sweepAsCsv(const SweepTable& table) {
    std::string text;
    for (const std::string& key : table.keys)
        text += csvCell(key) + ",";
    text += "threads,state,stop_reason,trials,failed,seconds,before_ms,after_ms,error,unit,before,after\n";
    for (const SweepRow& row : table.rows) {
        for (const std::string& value : row.values)
            text += csvCell(value) + ",";
        text += std::to_string(row.threads) + "," + row.state + "," + csvCell(row.stopReason) + "," + std::to_string(row.trials) + "," + std::to_string(row.failed) + "," + std::to_string(row.seconds) + "," +
                numberOf(row.beforeMs) + "," + numberOf(row.afterMs) + "," + csvCell(row.error) + "," + outcomeCells(row) + "\n";
    }
    return text;
}

Status exportSweep(const SweepTable& table, const std::filesystem::path& file) { return writeText(sweepAsCsv(table), file); }

} // namespace tunesmith
