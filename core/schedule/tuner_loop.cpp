// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/tuner_loop.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <list>

namespace tunesmith {
namespace {

std::size_t dividedUp(std::size_t trials, std::size_t batch) { return (trials + batch - 1) / batch; }

// About how many there will be. None where something else than trials may end the run.
std::size_t batchesOf(const WorkloadPool& pool, const TuneOptions& options) {
    if (options.seconds || options.targetMs)
        return 0;
    std::size_t batches = 0;
    for (const auto& search : pool.searches()) {
        const double size = search->problem().space().size().value_or(1e18);
        const double trials = search->budget() > 0 ? std::min(static_cast<double>(search->budget()), size) : size;
        batches += search->isDone() ? 0 : dividedUp(static_cast<std::size_t>(std::min(trials, 1e12)), options.batch);
    }
    const std::size_t shared = options.totalTrials.value_or(std::numeric_limits<std::size_t>::max() - options.batch);
    return std::min(batches, std::max(dividedUp(shared, options.batch), std::min(shared, pool.searches().size()))); // each workload has its turn
}

// Each workload ends with a final, which is measured as a batch is.
void expectStages(StageGate& gate, std::size_t batches, std::size_t finals, bool elsewhere) {
    const auto each = static_cast<std::int64_t>(batches);
    gate.expect("propose", elsewhere ? each : 0);
    gate.expect("build", each);
    gate.expect("profile", each > 0 ? each + static_cast<std::int64_t>(finals) : 0);
    gate.expect("update", each);
}

} // namespace

TunerLoop::TunerLoop(Store& store, const TuneObserver& observer, RunId run, const TuneOptions& options,
                     const Target& target, const MachineRow& machine, const StopToken& stop)
    : store_(store), observer_(observer), run_(run), options_(options), target_(target), machine_(machine), stop_(stop), pool_(options) {}

double TunerLoop::now() const {
    const std::optional<double> worked = options_.gate ? options_.gate->worked() : std::nullopt;
    return worked ? *worked : std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<TuneResult> TunerLoop::go() {
    tell(event(TuneEvent::Kind::started, nullptr));
    const Status worked = work();
    const StopReason reason = worked.ok() ? reasonOfRun() : StopReason::failed;
    TuneResult made = result(reason, worked.ok() ? std::string() : worked.error().message);
    RunEnd end;
    end.state = reason == StopReason::failed      ? RunState::failed
                : reason == StopReason::cancelled ? RunState::stopped
                                                  : RunState::completed;
    end.stopReason = stopReasonName(reason);
    end.beforeMs = made.beforeMs;
    end.afterMs = made.afterMs;
    const Status ended = store_.endRun(run_, end);
    TuneEvent stopped = event(TuneEvent::Kind::stopped, nullptr);
    stopped.reason = reason;
    stopped.text = made.message.empty() ? std::string(stopReasonSentence(reason)) : made.message;
    tell(stopped);
    if (!worked.ok())
        return worked.error();
    TS_TRY(ended);
    return made;
}

Result<std::map<std::string, double>> TunerLoop::readRecords() const {
    std::map<std::string, double> records;
    if (!options_.targetMs)
        return records;
    for (const auto& search : pool_.searches()) {
        TS_ASSIGN(const auto record, store_.bestRecord(search->key(), target_.key(), machine_.key));
        if (record && record->trial.p5Ms)
            records[search->key()] = *record->trial.p5Ms;
    }
    return records;
}

// The first lane in this thread; when one fails, the others stop.
Status TunerLoop::work() {
    TS_ASSIGN(auto records, readRecords());
    pool_.begin(std::move(records));
    if (options_.gate)
        expectStages(*options_.gate, batchesOf(pool_, options_), pool_.searches().size(), options_.executor->isElsewhere());
    StopSource failed;
    TunerContext context{store_, pool_, run_, options_, target_, stop_ | failed.token()};
    context.lanes = 1 + static_cast<int>(options_.moreExecutors.size());
    context.overlap = options_.overlapBuilds.value_or(target_.threads < machine_.cores);
    context.builders = std::max(1, context.overlap ? std::min(options_.workers.builders, machine_.cores - target_.threads) : options_.workers.builders);
    context.timeIsUp = [this] { return timeIsUp(); };
    context.tellTrial = [this](WorkloadSearch& search, const Trial& trial, const std::function<void()>& remember) { tellTrial(search, trial, remember); };
    context.tellDone = [this](const WorkloadSearch& search) { tellDone(search); };
    std::list<TunerLane> lanes;
    lanes.emplace_back(context, *options_.executor, 0);
    for (const auto& executor : options_.moreExecutors)
        lanes.emplace_back(context, *executor, static_cast<int>(lanes.size()));
    const auto run = [&failed](TunerLane& lane) {
        try {
            Status worked = lane.work();
            if (!worked.ok())
                failed.requestStop();
            return worked;
        } catch (...) { // else the others are waited for to their natural end
            failed.requestStop();
            throw;
        }
    };
    std::vector<std::future<Status>> others;
    try {
        for (auto lane = std::next(lanes.begin()); lane != lanes.end(); ++lane)
            others.push_back(std::async(std::launch::async, run, std::ref(*lane)));
    } catch (const std::system_error&) { // no thread for it
        failed.requestStop();
        throw;
    }
    Status worked = run(lanes.front());
    for (auto& other : others)
        if (Status theirs = other.get(); worked.ok())
            worked = std::move(theirs);
    if (options_.gate)
        expectStages(*options_.gate, 0, 0, false);
    const auto measured = std::ranges::count_if(lanes, [](const TunerLane& lane) { return lane.measuringSeconds() > 0; });
    for (const TunerLane& lane : lanes)
        measuring_ += lane.measuringSeconds() / static_cast<double>(std::max<std::ptrdiff_t>(1, measured));
    return worked;
}

StopReason TunerLoop::reasonOfRun() const {
    const bool allDone = std::ranges::all_of(pool_.searches(), [](const auto& search) { return search->isDone(); });
    if (!allDone && stop_.stopRequested())
        return StopReason::cancelled;
    if (pool_.isGoalMet())
        return StopReason::targetReached;
    if (!allDone)
        return StopReason::budgetTime;
    const bool exhausted = !pool_.searches().empty() && std::ranges::all_of(pool_.searches(), [](const auto& search) {
        return search->reason() == StopReason::exhausted;
    });
    return exhausted ? StopReason::exhausted : StopReason::budgetTrials;
}

TuneResult TunerLoop::result(StopReason reason, std::string message) const {
    TuneResult out;
    out.run = run_;
    out.reason = reason;
    out.message = std::move(message);
    out.seconds = elapsed();
    out.measuringSeconds = measuring_;
    double before = 0, after = 0;
    bool complete = !pool_.searches().empty();
    for (const auto& search : pool_.searches()) {
        out.workloads.push_back(search->summary());
        const TunedWorkload& workload = out.workloads.back();
        out.trials += workload.trials;
        out.failed += workload.failed;
        complete = complete && workload.defaultMs && workload.bestMs;
        before += workload.count * workload.defaultMs.value_or(0);
        after += workload.count * workload.bestMs.value_or(0);
    }
    if (complete) {
        out.beforeMs = before;
        out.afterMs = after;
    } else if (pool_.isGoalMet()) {
        out.afterMs = pool_.knownMs();
    }
    return out;
}

TuneEvent TunerLoop::event(TuneEvent::Kind kind, const WorkloadSearch* search) const {
    TuneEvent out;
    out.kind = kind;
    out.run = run_;
    out.seconds = elapsed();
    bool limited = true;
    for (const auto& each : pool_.searches()) {
        out.allTrials += each->trials();
        out.allBudget += each->budget();
        limited = limited && each->budget() > 0;
    }
    if (!limited)
        out.allBudget = options_.totalTrials.value_or(0);
    if (!search)
        return out;
    out.workload = search->key();
    out.name = search->task().workload.name;
    out.trials = search->trials();
    out.budget = search->budget();
    out.bestMs = search->bestMs();
    out.defaultMs = search->defaultMs();
    return out;
}

void TunerLoop::tell(const TuneEvent& event) const {
    if (observer_)
        observer_(event);
}

void TunerLoop::tellTrial(WorkloadSearch& search, const Trial& trial, const std::function<void()>& remember) {
    const std::lock_guard guard(telling_);
    const std::optional<double> before = search.bestMs();
    remember();
    TuneEvent measured = event(TuneEvent::Kind::measured, &search);
    measured.trial = trial;
    tell(measured);
    if (search.bestMs() == before && !search.hasFinal())
        return;
    measured.kind = TuneEvent::Kind::improved;
    tell(measured);
}

void TunerLoop::tellDone(const WorkloadSearch& search) {
    const std::lock_guard guard(telling_);
    TuneEvent done = event(TuneEvent::Kind::workloadDone, &search);
    done.reason = search.reason();
    tell(done);
}

} // namespace tunesmith
