// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_session.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/helpers.h"
#include "core/jobs/scheduling_policy.h"
#include "core/measure/machine.h"
#include "core/measure/memory.h"
#include "core/workbench/job_clock.h"
#include "core/workbench/job_device.h"
#include "core/workbench/job_gate.h"
#include "core/workbench/job_kind.h"
#include "core/workbench/job_queue.h"
#include "core/workbench/job_spec.h"
#include "core/workbench/version.h"

namespace tunesmith {
namespace {

constexpr auto kLook = std::chrono::milliseconds(250); // at what the store says

std::string resourcesJson() {
    nlohmann::json list = nlohmann::json::array();
    for (const Resource& resource : resourcesHere())
        list.push_back({resource.name, resource.amount});
    return list.dump();
}

std::map<std::string, int> unitCounts(const std::vector<Resource>& resources) {
    std::map<std::string, int> counts;
    for (const Resource& resource : resources)
        counts[resource.name] = resource.amount;
    return counts;
}

std::string usesJson(const TimedStage& stage) {
    nlohmann::json uses = nlohmann::json::object();
    for (const auto& [resource, units] : unitsOf(stage))
        uses[resource] = units;
    return uses.dump();
}

void nameResult(TunedJob& result, const JobRow& row) {
    result.id = row.id.value();
    result.kind = row.kind;
    result.name = row.name;
    result.state = "queued";
}

JobTraits traitsOf(const TuneJob& job, const JobRow& row) {
    JobTraits traits{row.name, row.priority, job.weight, job.deadline};
    if (job.cores > 0)
        traits.most[kCoreResource] = job.cores;
    if (job.memoryMb > 0)
        traits.most[kMemoryResource] = job.memoryMb;
    if (job.networkMbit > 0)
        traits.most[kNetworkResource] = job.networkMbit;
    return traits;
}

} // namespace

struct JobSession::Job {
    StoredJobId id;
    std::string what;              // it is to do, as its row said
    std::string unreadable;        // why it cannot begin: its row makes no sense
    const JobKind* kind = nullptr; // null: of one that is unreadable
    std::int64_t heldMb = 0; // in memory as long as it runs
    TuneJob job;
    JobId board;
    StopSource cancel;
    // Guarded by the session's mutex from here on.
    enum class State { waiting, running, ended, elsewhere } state = State::waiting;
    JobWish wish = JobWish::run;
    JobProgress progress;
    double secondsBefore = 0;        // that it worked in earlier sessions
    std::shared_ptr<JobClock> clock; // of this one, once it runs
    double seconds() const { return secondsBefore + clock->seconds(); }
    TunedJob result;
    bool whole = false; // nothing of it is left to do
    std::unique_ptr<StandingWatch> standing;
    std::jthread thread; // last: it uses the others
};

// Which run it is, is stored before its first trial: whoever goes on with the job finds it.
class JobSession::Listener : public TuneListener {
public:
    Listener(JobSession& session, Job& job) : session_(session), job_(job) {}

    void onRun(std::int64_t run) override {
        const std::lock_guard lock(session_.mutex_);
        if (job_.progress.run.valid()) // of a later leg: the first one leads to it
            return;
        job_.progress.run = RunId(run);
        if (const Status saved = session_.store_->saveJob(job_.id, job_.progress); !saved.ok())
            session_.breakOff(saved);
    }
    void onProgress(const Progress& progress) override {
        job_.standing->onProgress(progress.fraction);
        session_.tellProgress(job_, progress);
    }
    void onLeg(const TuneLeg&) override { job_.standing->onLeg(); }
    void onTasks(const std::vector<TuningTask>& tasks) override { job_.standing->onTasks(tasks); }
    void onTrial(const TuneTrial& trial) override { job_.standing->onTrial(trial); }

private:
    JobSession& session_;
    Job& job_;
};

Result<std::unique_ptr<JobSession>> JobSession::begin(std::shared_ptr<Store> store, const TuneJobsRequest& request) {
    TS_ASSIGN(auto policy, makePolicy(request.policy));
    JobSessionRow row;
    row.policy = request.policy;
    row.resources = resourcesJson();
    row.version = versionText();
    TS_ASSIGN(const JobSessionId id, store->beginJobSession(row));
    if (request.listener)
        request.listener->onSession(id.value(), unitCounts(resourcesHere()));
    return std::unique_ptr<JobSession>(new JobSession(std::move(store), id, request, std::move(policy)));
}

JobSession::JobSession(std::shared_ptr<Store> store, JobSessionId id, const TuneJobsRequest& request, std::unique_ptr<SchedulingPolicy> policy)
    : store_(std::move(store)), id_(id), atOnce_(static_cast<std::size_t>(request.atOnce > 0 ? request.atOnce : coreCount() + 2)), storePath_(store_->path()),
      queued_(request.queued), remote_(request.remote), offered_(request.offered), board_(resourcesOfBoard(), std::move(policy)), watch_(board_, request.listener), devices_(board_) {}

JobSession::~JobSession() { broken_.requestStop(); } // where an exception left run(), for the jobs are waited for

Status JobSession::add(StoredJob stored) {
    const JobRow& row = stored.row;
    TS_ASSIGN(const std::int64_t trials, storedTrials(row.run));
    auto added = std::make_unique<Job>();
    TuneJob job = stored.job.valueOr({});
    JobStanding standing{.job = jobs_.size(), .id = row.id.value(), .name = row.name, .priority = row.priority, .fraction = row.progress, .trials = trials};
    if (!stored.job.ok()) {
        added->unreadable = stored.job.error().message;
    } else {
        added->kind = jobKind(job.kind).value();
        added->heldMb = added->kind->heldMb(job);
        standing.budget = added->kind->budget(job);
        standing.does = doneBy(job);
    }
    added->id = row.id;
    added->what = row.what;
    nameResult(added->result, row);
    added->progress = {row.run, row.progress, row.seconds};
    added->board = board_.addJob(traitsOf(job, row));
    added->job = std::move(job);
    added->standing = std::make_unique<StandingWatch>(watch_, std::move(standing));
    names_[added->board] = row.id;
    known_[row.id] = added.get();
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(added));
    return {};
}

// Of all legs of a tuning. The runs are read once for jobs that come together.
Result<std::int64_t> JobSession::storedTrials(RunId run) {
    std::int64_t trials = 0;
    if (!run.valid())
        return trials;
    if (!legs_) {
        TS_ASSIGN(std::vector<RunRow> runs, store_->runs());
        legs_.emplace(std::move(runs));
    }
    for (const RunRow& leg : legs_->of(run)) {
        TS_ASSIGN(const std::vector<RunWorkloadSummary> workloads, store_->runWorkloads(leg.id));
        for (const RunWorkloadSummary& workload : workloads)
            trials += workload.trials;
    }
    return trials;
}

Status JobSession::run(const Work& work) {
    work_ = work;
    devices_.begin();
    Status status;
    while (status.ok()) {
        status = follow();
        watch_.tellStages(); // those that have begun to wait
        if (status.ok() && !work.stop.stopRequested())
            status = startWaiting();
        std::unique_lock lock(mutex_);
        breakOff(status);
        status = failure_;
        const bool more = !work.stop.stopRequested() && std::ranges::any_of(jobs_, [this](const auto& job) { return waits(*job); });
        if (running() == 0 && !more)
            break;
        changed_.wait_for(lock, kLook);
    }
    for (const auto& job : jobs_)
        if (job->thread.joinable())
            job->thread.join();
    watch_.tellStages();
    for (const Status& last : {storeSlices(), store_->endJobSession(id_)})
        if (status.ok())
            status = last;
    return status;
}

std::size_t JobSession::running() const {
    return static_cast<std::size_t>(std::ranges::count(jobs_, Job::State::running, [](const auto& job) { return job->state; }));
}

bool JobSession::waits(const Job& job) const { return job.state == Job::State::waiting && job.wish == JobWish::run; }

// What becomes of it is not known yet, and not up to this session.
bool JobSession::isOpen(const Job& job) const { return job.result.state == "queued" && (job.state == Job::State::waiting || job.state == Job::State::elsewhere); }

// Of the session: its jobs stop where they stand, and the next session goes on with them. With the lock held.
void JobSession::breakOff(const Status& status) {
    if (status.ok() || !failure_.ok())
        return;
    failure_ = status;
    broken_.requestStop();
}

// What others wish, and what came of it.
Status JobSession::follow() {
    TS_ASSIGN(const std::vector<JobRow> rows, store_->jobs());
    for (const auto& job : jobs_) {
        const auto row = std::ranges::lower_bound(rows, job->id, {}, &JobRow::id);
        if (row != rows.end() && row->id == job->id)
            TS_TRY(followJob(*job, *row));
        else
            onRemoved(*job);
    }
    if (queued_ && !work_.stop.stopRequested())
        TS_TRY(addNew(rows));
    return storeSlices();
}

// What has come since it was looked last, and what somebody resumed, or took and gave back.
Status JobSession::addNew(const std::vector<JobRow>& rows) {
    for (const JobRow& row : rows) {
        if (!canBeTaken(row))
            continue;
        const auto known = known_.find(row.id);
        if (known == known_.end())
            TS_TRY(add({row, readJobRow(row)}));
        else
            requeue(*known->second, row);
    }
    return {};
}

void JobSession::requeue(Job& job, const JobRow& row) {
    {
        const std::lock_guard lock(mutex_);
        if (job.state != Job::State::ended && job.state != Job::State::elsewhere)
            return;
    }
    if (job.thread.joinable())
        job.thread.join();
    const std::lock_guard lock(mutex_);
    job.cancel = StopSource();
    job.whole = false;
    job.result = TunedJob();
    nameResult(job.result, row);
    job.state = Job::State::waiting;
    job.standing->onQueued();
}

void JobSession::onRemoved(Job& job) {
    job.cancel.requestStop();
    const std::lock_guard lock(mutex_);
    if (!isOpen(job))
        return;
    job.state = Job::State::elsewhere;
    job.result.state = "removed";
    job.standing->onEnd(job.result.state, {});
}

Status JobSession::followJob(Job& job, const JobRow& row) {
    const std::lock_guard lock(mutex_);
    job.standing->onWish(row.priority, row.wish == JobWish::pause);
    if (row.priority != job.job.priority) {
        job.job.priority = row.priority;
        board_.setPriority(job.board, row.priority);
    }
    if (row.wish != job.wish) {
        job.wish = row.wish;
        board_.setPaused(job.board, row.wish == JobWish::pause);
        if (row.wish == JobWish::cancel)
            job.cancel.requestStop();
    }
    if (isOpen(job) && row.endedAt) {
        job.state = Job::State::elsewhere;
        job.result.state = row.state == JobState::cancelled ? "cancelled" : "done";
        job.standing->onEnd(job.result.state, {}, row.state == JobState::done ? readOutcomeSpec(row.detail) : JobOutcome());
    }
    if (job.state != Job::State::running)
        return {};
    job.progress.seconds = job.seconds();
    return store_->saveJob(job.id, job.progress);
}

Status JobSession::storeSlices() {
    std::vector<JobSliceRow> rows;
    for (const TimedStage& stage : board_.timeline(storedSlices_))
        rows.push_back({names_.at(stage.job), stage.kind, usesJson(stage), stage.called, stage.begin, stage.end, stage.expected});
    if (rows.empty())
        return {};
    TS_TRY(store_->addJobSlices(id_, rows));
    storedSlices_ += rows.size();
    return {};
}

// Those of the highest priority, the oldest first, as long as what jobs hold in memory has room there together. A job that is paused leaves its place to another.
Status JobSession::startWaiting() {
    static const std::int64_t memory = usableMemoryMb();
    std::vector<Job*> waiting;
    std::map<std::string, std::size_t> active; // on the devices of each key, and on this machine
    std::int64_t held = 0;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& job : jobs_) {
            active[job->job.device.key] += job->state == Job::State::running && job->wish == JobWish::run ? 1 : 0;
            held += job->state == Job::State::running ? job->heldMb : 0;
            if (waits(*job))
                waiting.push_back(job.get());
        }
        std::ranges::stable_sort(waiting, std::greater(), [](const Job* job) { return job->job.priority; });
    }
    for (Job* const job : waiting) {
        std::size_t& there = active[job->job.device.key];
        if (there >= atOnce_)
            continue;
        if (held > 0 && held + job->heldMb > memory)
            break;
        ++there;
        held += job->heldMb;
        TS_TRY(start(*job));
    }
    return {};
}

Status JobSession::start(Job& job) {
    TS_ASSIGN(const std::optional<JobRow> row, store_->takeJob(job.id));
    if (!row) {
        const std::lock_guard lock(mutex_);
        job.state = Job::State::elsewhere;
        return {};
    }
    if (!job.unreadable.empty())
        return fail(job, job.unreadable);
    if (row->kind != job.job.kind || row->what != job.what) // somebody wrote to the store after this session had read it, and the seal is of what is there
        return fail(job, "the store said something else of it before; resume it if it is to do what `jobs list` says");
    legs_.reset(); // there may be more
    TS_ASSIGN(const std::int64_t trials, storedTrials(row->run));
    watchDevices(job.job);
    {
        const std::lock_guard lock(mutex_);
        job.state = Job::State::running;
        job.progress = {row->run, row->progress, row->seconds};
        job.secondsBefore = row->seconds;
        job.clock = std::make_shared<JobClock>();
        job.standing->onBegin(row->progress, trials);
    }
    auto thread = startThread([this, &job] { work(job); });
    if (!thread.ok())
        return fail(job, thread.error().message);
    job.thread = std::move(*thread);
    return {};
}

// Its tracker is told the token, so only a job that was taken has it asked. What is wrong with the choice, the job itself fails for.
void JobSession::watchDevices(const TuneJob& job) {
    if (job.device.key.empty())
        return;
    if (const auto device = deviceOfJob(job, remote_, offered_); device.ok())
        devices_.add(*device);
}

Status JobSession::fail(Job& job, const std::string& why) {
    TS_TRY(store_->endJob(job.id, JobState::failed, why));
    const std::lock_guard lock(mutex_);
    job.result.state = "failed";
    job.result.error = why;
    job.state = Job::State::ended;
    job.standing->onEnd(job.result.state, job.result.error);
    return {};
}

void JobSession::work(Job& job) {
    const auto ended = [&]() -> Result<JobEnd> {
        try {
            return endOf(job);
        } catch (const std::exception& failure) { // memory or threads that there are not: this job's trouble, not that of the others
            return ioError(failure.what());
        }
    };
    auto end = ended();
    board_.end(job.board);
    const std::lock_guard lock(mutex_);
    TunedJob& result = job.result;
    result.seconds = board_.seconds();
    if (!end.ok() && !end.error().isCancelled())
        result.error = end.error().message;
    if (end.ok()) {
        job.whole = end->whole;
        result.report = std::move(end->report);
        result.outcome = std::move(end->outcome);
        if (!end->failure.empty())
            result.error = std::move(end->failure);
    }
    if (const Status finished = finish(job); !finished.ok())
        result.error = finished.error().message;
    job.state = Job::State::ended;
    job.standing->onEnd(result.state, result.error, result.outcome);
    changed_.notify_all();
}

Result<DeviceChoice> JobSession::deviceOf(Job& job) {
    TS_ASSIGN(DeviceChoice device, deviceOfJob(job.job, remote_, offered_));
    device.job = "job-" + std::to_string(job.id.value());
    device.priorityNow = [this, &job] {
        const std::lock_guard lock(mutex_);
        return job.job.priority;
    };
    device.missing = [this, key = device.key, clock = job.clock](bool missing) {
        devices_.countMissing(key, missing);
        clock->loseDevice(missing ? 1 : -1);
    };
    return device;
}

Result<JobEnd> JobSession::endOf(Job& job) {
    Listener listener(*this, job);
    const int cores = job.job.cores > 0 ? std::min(job.job.cores, coreCount()) : coreCount();
    const std::string device = job.job.device.key.empty() ? std::string() : DeviceWatch::resourceOf(job.job.device.key);
    const auto turns = std::make_shared<JobGate>(board_, watch_, job.board, cores, job.heldMb, device);
    JobRun run{storePath_, std::make_shared<ClockedGate>(turns, job.clock, !device.empty()), job.cancel.token() | work_.stop | broken_.token(), cores, {}, job.secondsBefore, {}, listener};
    if (job.progress.run.valid())
        run.resume = job.progress.run.value();
    if (!device.empty()) {
        TS_ASSIGN(run.device, deviceOf(job));
    }
    return job.kind->run(job.job, run);
}

// What was stopped with the program, or by what ails the store, goes back into the queue.
Status JobSession::finish(Job& job) {
    TunedJob& result = job.result;
    const JobState state = job.whole                                            ? JobState::done
                           : job.cancel.stopRequested() && result.error.empty() ? JobState::cancelled
                           : broken_.stopRequested() || result.error.empty()    ? JobState::queued
                                                                                : JobState::failed;
    result.state = state == JobState::done ? "done" : state == JobState::failed ? "failed" : state == JobState::cancelled ? "cancelled" : "queued";
    job.progress.seconds = job.seconds();
    TS_TRY(store_->saveJob(job.id, job.progress));
    const bool told = state == JobState::done && result.report.runs.empty(); // runs are in the store
    return store_->endJob(job.id, state, told ? outcomeSpec(result.outcome) : state == JobState::failed ? result.error : std::string());
}

void JobSession::tellProgress(Job& job, const Progress& progress) {
    const std::lock_guard lock(mutex_);
    job.progress.progress = std::max(job.progress.progress, job.standing->fraction());
    double sum = 0;
    for (const auto& each : jobs_)
        sum += (each->state == Job::State::ended || each->state == Job::State::elsewhere ? 1.0 : each->progress.progress) / static_cast<double>(jobs_.size());
    work_.report("tuning " + std::to_string(jobs_.size()) + " jobs", sum, job.job.name + ": " + progress.phase);
}

std::vector<TunedJob> JobSession::results() const {
    std::vector<TunedJob> results;
    for (const auto& job : jobs_) {
        results.push_back(job->result);
        if (isOpen(*job) && job->wish == JobWish::pause)
            results.back().state = "paused";
    }
    return results;
}

} // namespace tunesmith
