// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/sweep.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/store/store.h"
#include "core/workbench/csv.h"
#include "core/workbench/history.h"
#include "core/workbench/job_kind.h"
#include "core/workbench/job_queue.h"
#include "core/workbench/job_spec.h"
#include "core/workbench/open_store.h"

namespace tunesmith {
namespace {

// "strategies: squeezenet random 4"
std::string nameOf(const SweepRequest& request, const SweepCombination& combination) {
    std::string name = request.name + ":";
    for (const std::string& value : combination.values)
        name += " " + value;
    return name;
}

class Sweep {
public:
    Sweep(const SweepRequest& request, const Work& work) : request_(request), work_(work) {}

    Result<SweepTable> run() {
        TS_ASSIGN(store_, openStore(request_.store, StoreMode::readWrite));
        TS_TRY(findJobs());
        TuneJobsRequest jobs;
        jobs.stored = ids_;
        jobs.policy = request_.policy;
        jobs.store = request_.store;
        jobs.atOnce = sharesSeconds() ? 1 : request_.atOnce;
        TS_TRY(tuneJobs(jobs, work_));
        return table();
    }

private:
    bool sharesSeconds() const {
        return std::ranges::any_of(request_.combinations, [](const SweepCombination& one) { return jobKind(one.job.kind).value()->budget(one.job).seconds.has_value(); });
    }

    // Those that the store has from before, and new ones.
    Status findJobs() {
        TS_ASSIGN(const std::vector<JobRow> known, store_->jobs());
        std::vector<TuneJob> missing;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < request_.combinations.size(); ++i) {
            TuneJob job = request_.combinations[i].job;
            job.name = nameOf(request_, request_.combinations[i]);
            job.tuning.measureModel = false; // modules take the best records of all runs
            const auto same = std::ranges::find_if(known, [&, spec = jobSpec(job)](const JobRow& row) { return row.kind == job.kind && row.name == job.name && row.what == spec; });
            ids_.push_back(same == known.end() ? 0 : same->id.value());
            if (same == known.end()) {
                missing.push_back(std::move(job));
                places.push_back(i);
            } else if (same->state == JobState::failed || same->state == JobState::cancelled) {
                TS_TRY(store_->wishJob(same->id, JobWish::run));
            }
        }
        TS_ASSIGN(const std::vector<std::int64_t> added, addJobs(*store_, missing, work_));
        for (std::size_t i = 0; i < added.size(); ++i)
            ids_[places[i]] = added[i];
        return {};
    }

    Result<SweepTable> table() const {
        SweepTable table{request_.keys, {}};
        TS_ASSIGN(const std::vector<QueuedJob> jobs, listJobs(request_.store));
        TS_ASSIGN(const std::vector<RunRow> runs, store_->runs());
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            const auto job = std::ranges::find(jobs, ids_[i], &QueuedJob::id);
            SweepRow row{ids_[i], request_.combinations[i].values, "removed", 0, 0, 0, 0, {}, {}, "", "", {}};
            if (job == jobs.end()) {
                table.rows.push_back(std::move(row));
                continue;
            }
            row.state = job->state;
            row.seconds = job->seconds;
            row.error = job->detail;
            row.outcome = job->outcome;
            if (job->kind != TuneJob().kind)
                table.rows.push_back(std::move(row));
            else
                TS_TRY(addRuns(table, row, *job, runs));
        }
        return table;
    }

    // A row for each leg; one without figures where there is none.
    Status addRuns(SweepTable& table, const SweepRow& row, const QueuedJob& job, const std::vector<RunRow>& runs) const {
        std::optional<RunId> next;
        if (job.run)
            next = RunId(*job.run);
        if (!next)
            table.rows.push_back(row);
        while (next) {
            const RunId id = *next;
            next.reset();
            SweepRow leg = row;
            for (const RunRow& run : runs) {
                const auto options = nlohmann::json::parse(run.options, nullptr, false);
                if (run.id == id) {
                    leg.threads = options.value("threads", 1);
                    leg.stopReason = run.stopReason;
                }
                if (options.value("follows", std::int64_t(0)) == id.value())
                    next = run.id;
            }
            TS_TRY(addFigures(leg, id));
            table.rows.push_back(std::move(leg));
        }
        return {};
    }

    // Sums over the kernels, each as often as it occurs; none while one has no time.
    Status addFigures(SweepRow& row, RunId run) const {
        TS_ASSIGN(const std::vector<RunCurve> curves, runCurves(request_.store, run.value()));
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

    const SweepRequest& request_;
    const Work& work_;
    std::shared_ptr<Store> store_;
    std::vector<std::int64_t> ids_; // of the combinations
};

std::string numberOf(const std::optional<double>& value) { return value ? std::to_string(*value) : std::string(); }

std::string outcomeCells(const SweepRow& row) {
    const JobOutcome outcome = row.outcome.value_or(JobOutcome());
    return csvCell(outcome.unit) + "," + numberOf(outcome.before) + "," + numberOf(outcome.after);
}

} // namespace

Result<SweepTable> runSweep(const SweepRequest& request, const Work& work) {
    if (request.combinations.empty())
        return inputError("there is nothing to sweep over: give at least one model");
    return Sweep(request, work).run();
}

std::string sweepAsCsv(const SweepTable& table) {
    std::string text;
    for (const std::string& key : table.keys)
        text += csvCell(key) + ",";
    text += "threads,state,stop_reason,trials,failed,seconds,before_ms,after_ms,error,unit,before,after\n";
    for (const SweepRow& row : table.rows) {
        for (const std::string& value : row.values)
            text += csvCell(value) + ",";
        text += std::to_string(row.threads) + "," + row.state + "," + row.stopReason + "," + std::to_string(row.trials) + "," + std::to_string(row.failed) + "," + std::to_string(row.seconds) + "," +
                numberOf(row.beforeMs) + "," + numberOf(row.afterMs) + "," + csvCell(row.error) + "," + outcomeCells(row) + "\n";
    }
    return text;
}

Status exportSweep(const SweepTable& table, const std::filesystem::path& file) { return writeText(sweepAsCsv(table), file); }

} // namespace tunesmith
