// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/schedule/kernel_messages.h"
#include "core/search/search_session.h"
#include "core/workbench/job_kind.h"

// Jobs that tune the kernels of a model.
namespace tunesmith {
namespace {

std::vector<JobKey> keysOf(TuneJob& job) {
    TuneRequest& tuning = job.tuning;
    return {{"model", &job.model, 0, 0, JobKey::In::both, JobKey::Names::model},
            {"dims", &job.dimensions},
            {"threads", &tuning.threads, 0, kMostTargetThreads},
            {"trials", &tuning.budget.trialsPerWorkload, 1, kMostTrials},
            {"total_trials", &tuning.budget.trials, 1, kMostTrials},
            {"seconds", &tuning.budget.seconds},
            {"target_ms", &tuning.budget.targetMs},
            {"strategy", &tuning.strategy},
            {"space", &tuning.space},
            {"seed", &tuning.seed},
            {"builders", &tuning.builders, 0, 1024},
            {"batch", &tuning.batch, 1, kMostBatch},
            {"timeout", &tuning.timeoutSeconds},
            {"transfer", &tuning.transfer},
            {"layouts", &tuning.layouts},
            {"device", &job.device.key},
            {"devices", &job.device.devices, 1, DeviceChoice::kMost},
            {"tracker", &job.device.tracker},
            {"token_file", &job.device.files.token, 0, 0, JobKey::In::both, JobKey::Names::secret}, // where it is, not what it says
            {"ca", &job.device.files.ca, 0, 0, JobKey::In::both, JobKey::Names::file},
            {"insecure", &job.device.files.insecure},
            {"measure_model", &tuning.measureModel, 0, 0, JobKey::In::store}};
}

Result<std::string> check(const TuneJob& job, ModelLooks& models, const Work& work) {
    TS_ASSIGN(const ModelLooks::Look model, models.at(job, work));
    return model.name;
}

Result<JobEnd> run(const TuneJob& job, const JobRun& run) {
    if (!run.device)
        TS_TRY(run.allows(job, job.tuning.threads));
    TS_ASSIGN(const Model model, run.open(job));
    TuneRequest tuning = job.tuning;
    tuning.store = run.store;
    tuning.stop = run.stop;
    tuning.listener = &run.listener;
    if (!run.device)
        tuning.builders = tuning.builders > 0 ? std::min(tuning.builders, run.cores) : run.cores;
    tuning.device = run.device;
    tuning.gate = run.gate;
    tuning.resume = run.resume;
    if (run.resume && tuning.budget.seconds)
        tuning.budget.seconds = run.secondsLeft(*tuning.budget.seconds);
    JobEnd end;
    TS_ASSIGN(end.report, tuneModel(model, tuning));
    end.whole = !end.report.unfinished;
    if (!run.stop.stopRequested())
        end.failure = end.report.failure();
    return end;
}

} // namespace

const JobKind kTuneJobs{"tune", "model", keysOf, [](const TuneJob& job) { return job.tuning.budget; }, [](const TuneJob& job) { return modelFileMb(job.model); }, check, run};

} // namespace tunesmith
