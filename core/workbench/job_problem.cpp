// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/search/search_session.h"
#include "core/workbench/job_kind.h"

// Jobs that tune a problem file of a plugin.
namespace tunesmith {
namespace {

std::vector<JobKey> keysOf(TuneJob& job) {
    TuneProblemRequest& asked = job.problem;
    return {{"file", &asked.file},
            {"trials", &asked.trials, 1, kMostTrials},
            {"seconds", &asked.seconds},
            {"strategy", &asked.strategy},
            {"seed", &asked.seed},
            {"builders", &asked.builders, 0, 1024},
            {"batch", &asked.batch, 1, kMostBatch},
            {"timeout", &asked.timeoutSeconds}};
}

TuneBudget budgetOf(const TuneJob& job) {
    TuneBudget budget;
    budget.trials = job.problem.trials;
    budget.seconds = job.problem.seconds;
    return budget;
}

JobOutcome outcomeOf(const TunedProblem& tuned) {
    JobOutcome outcome{tuned.unit, tuned.defaultValue, tuned.bestValue, {}, {}, {}, tuned.bestConfig};
    if (!tuned.verdict.empty())
        outcome.remark += "; " + tuned.verdict;
    return outcome;
}

Result<JobEnd> run(const TuneJob& job, const JobRun& run) {
    TuneProblemRequest asked = job.problem;
    asked.store = run.store;
    asked.gate = run.gate;
    asked.listener = &run.listener;
    asked.builders = asked.builders > 0 ? std::min(asked.builders, run.cores) : run.cores;
    asked.resume = run.resume;
    if (run.resume && asked.seconds)
        asked.seconds = run.secondsLeft(*asked.seconds);
    TS_ASSIGN(const TunedProblem tuned, tuneProblem(asked, run.work()));
    JobEnd end;
    end.whole = tuned.stopReason != stopReasonName(StopReason::cancelled);
    end.outcome = outcomeOf(tuned);
    return end;
}

} // namespace

const JobKind kProblemJobs{"problem",
                           "file",
                           keysOf,
                           budgetOf,
                           [](const TuneJob&) { return std::int64_t(0); }, // what it runs is not ours
                           [](const TuneJob& job, ModelLooks&, const Work&) { return checkProblem(job.problem); },
                           run};

} // namespace tunesmith
