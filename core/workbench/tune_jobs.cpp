// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tune_jobs.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "core/jobs/scheduling_policy.h"
#include "core/jobs/simulation.h"
#include "core/jobs/stage_board.h"
#include "core/measure/machine.h"

namespace tunesmith {
namespace {

constexpr const char* kCores = "core";
constexpr const char* kProfiles = "profile"; // one measurement at a time on a machine

std::vector<Resource> resourcesHere() { return {{kCores, coreCount()}, {kProfiles, 1}}; }

class BoardGate : public StageGate {
public:
    BoardGate(StageBoard& board, JobId job) : board_(board), job_(job) {}

    Result<std::unique_ptr<Turn>> enter(const std::string& kind, int cores, const StopToken& stop) override {
        StagePlan plan{kind, {{kCores, std::clamp(cores, 1, coreCount())}}, {}};
        if (kind == "profile")
            plan.uses.push_back({kProfiles, 1, true});
        TS_ASSIGN(const StageId stage, board_.plan(job_, std::move(plan)));
        TS_ASSIGN(StageBoard::Turn turn, board_.begin(stage, stop));
        return std::unique_ptr<Turn>(std::make_unique<BoardTurn>(std::move(turn)));
    }

private:
    struct BoardTurn : Turn {
        explicit BoardTurn(StageBoard::Turn begun) : turn(std::move(begun)) {}
        StageBoard::Turn turn;
    };
    StageBoard& board_;
    JobId job_;
};

// How far all jobs are together.
class Progresses {
public:
    Progresses(const Work& work, std::size_t jobs) : work_(work), done_(jobs) {}

    void report(std::size_t job, const std::string& name, const Progress& progress) {
        const std::lock_guard lock(mutex_);
        done_[job] = std::max(done_[job], progress.fraction);
        double sum = 0;
        for (const double fraction : done_)
            sum += fraction / static_cast<double>(done_.size());
        work_.report("tuning " + std::to_string(done_.size()) + " jobs", sum, name + ": " + progress.phase);
    }

private:
    const Work& work_;
    std::mutex mutex_;
    std::vector<double> done_;
};

class JobListener : public TuneListener {
public:
    JobListener(Progresses& all, std::size_t job, std::string name) : all_(all), job_(job), name_(std::move(name)) {}
    void onProgress(const Progress& progress) override { all_.report(job_, name_, progress); }

private:
    Progresses& all_;
    std::size_t job_;
    std::string name_;
};

Result<std::vector<Model>> openModels(const TuneJobsRequest& request, const Work& work) {
    std::vector<Model> models;
    for (const TuneJob& job : request.jobs) {
        TS_ASSIGN(Model model, openModel(job.model, job.dimensions, work));
        models.push_back(std::move(model));
    }
    return models;
}

TunedJob tuneOne(const TuneJob& job, const Model& model, const TuneJobsRequest& request, std::shared_ptr<StageGate> gate, TuneListener& listener, const StopToken& stop) {
    TuneRequest tuning = job.tuning;
    tuning.store = request.store;
    tuning.stop = stop;
    tuning.listener = &listener;
    tuning.gate = std::move(gate);
    TunedJob tuned;
    tuned.name = job.name.empty() ? model.name() : job.name;
    auto report = tuneModel(model, tuning);
    if (report.ok())
        tuned.report = std::move(*report);
    else
        tuned.error = report.error().message;
    return tuned;
}

JobSlice sliceOf(const TimedStage& stage) {
    return {stage.job.index(), stage.kind, stage.units.empty() ? std::vector<int>() : stage.units.front(), stage.called, stage.begin, stage.end, stage.expected};
}

// What the same jobs would be to a simulation: a stage comes after the last one of its job that had ended when it was called for.
class RecordedJobs {
public:
    explicit RecordedJobs(std::size_t jobs) : jobs_(jobs), ends_(jobs) {}

    void add(const TimedStage& stage) { // in the order of their ends
        SimulatedJob& job = jobs_[stage.job.index()];
        std::vector<double>& ends = ends_[stage.job.index()];
        SimulatedStage one{stage.kind, stage.uses, {}, stage.end - stage.begin};
        const auto before = std::ranges::upper_bound(ends, stage.called) - ends.begin();
        if (before > 0)
            one.after = {static_cast<std::size_t>(before) - 1};
        job.stages.push_back(std::move(one));
        ends.push_back(stage.end);
    }
    const std::vector<SimulatedJob>& all() const { return jobs_; }

private:
    std::vector<SimulatedJob> jobs_;
    std::vector<std::vector<double>> ends_;
};

void addFigures(const std::vector<TimedStage>& timeline, TunedJobs& tuned) {
    std::map<std::string, double> loads;
    RecordedJobs jobs(tuned.jobs.size());
    for (const TimedStage& stage : timeline) {
        jobs.add(stage);
        tuned.slices.push_back(sliceOf(stage));
        tuned.makespan = std::max(tuned.makespan, stage.end);
        for (const ResourceUse& use : stage.uses)
            loads[use.resource] += (stage.end - stage.begin) * (use.exclusive ? 1.0 : static_cast<double>(use.amount) / (use.resource == kCores ? coreCount() : 1));
    }
    tuned.bound = lowerBound(resourcesHere(), jobs.all());
    for (const auto& [resource, seconds] : loads)
        tuned.utilisation[resource] = tuned.makespan > 0 ? seconds / tuned.makespan : 0;
}

} // namespace

Result<TunedJobs> tuneJobs(const TuneJobsRequest& request, const Work& work) {
    if (request.jobs.empty())
        return inputError("there is no job to run: give at least one model");
    TS_ASSIGN(auto policy, makePolicy(request.policy));
    if (!policy->controlsLoad())
        return inputError("policy '" + request.policy + "' disturbs every measurement: it is there for simulations only");
    TS_ASSIGN(const std::vector<Model> models, openModels(request, work));
    StageBoard board(resourcesHere(), std::move(policy));
    Progresses progresses(work, request.jobs.size());
    TunedJobs tuned;
    tuned.jobs.resize(request.jobs.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < request.jobs.size(); ++i) {
            const TuneJob& job = request.jobs[i];
            const JobId id = board.addJob({job.name, job.priority, job.weight, {}});
            threads.emplace_back([&, id, i] {
                JobListener listener(progresses, i, models[i].name());
                tuned.jobs[i] = tuneOne(request.jobs[i], models[i], request, std::make_shared<BoardGate>(board, id), listener, work.stop);
                tuned.jobs[i].seconds = board.seconds();
                board.end(id);
            });
        }
    }
    addFigures(board.timeline(), tuned);
    return tuned;
}

} // namespace tunesmith
