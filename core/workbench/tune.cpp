// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tune.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/json_text.h"
#include "core/measure/machine.h"
#include "core/schedule/kernel_messages.h"
#include "core/search/strategy_table.h"
#include "core/workbench/open_store.h"
#include "core/workbench/remote_device.h"
#include "core/workbench/run_options.h"
#include "core/workbench/tuning_run.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kDefaultTrialsPerWorkload = 64;
constexpr std::size_t kMostLegs = 2; // one thread, then all cores

// What a run that is resumed was asked for, also for the legs after it.
struct AskedBefore {
    std::vector<int> threads; // its own, then those that follow
    TuneBudget budget;        // of each leg
    std::string strategy;
    std::uint64_t seed = 1;
    std::string space;
};

template <class T> std::optional<T> numberAt(const nlohmann::json& json, const char* key) {
    return json.contains(key) && json[key].is_number() ? std::optional(json[key].get<T>()) : std::nullopt;
}

// A store may come from anybody.
Status checkLegs(const std::vector<int>& threads, RunId run) {
    const auto possible = [](int count) { return count >= 1 && count <= kMostTargetThreads; };
    if (threads.size() <= kMostLegs && std::ranges::all_of(threads, possible))
        return {};
    return inputError("run " + std::to_string(run.value()) + " asks for other thread counts than a tuning has, which are at most " + std::to_string(kMostLegs) +
                      " of up to " + std::to_string(kMostTargetThreads) + " threads; start a new run");
}

Result<AskedBefore> askedBefore(const RunRow& row) {
    AskedBefore asked{{}, {}, row.strategy, row.seed, optionsOf(row).space};
    const auto json = parseJson<nlohmann::json>(row.options);
    asked.threads.push_back(numberAt<int>(json, "threads").value_or(1));
    asked.budget.trialsPerWorkload = numberAt<std::int64_t>(json, "trials_per_workload");
    asked.budget.trials = numberAt<std::int64_t>(json, "trials");
    asked.budget.seconds = numberAt<double>(json, "seconds");
    asked.budget.targetMs = numberAt<double>(json, "target_ms");
    if (json.contains("followed_by") && json["followed_by"].is_array())
        for (const auto& threads : json["followed_by"])
            asked.threads.push_back(threads.is_number_integer() ? threads.get<int>() : 0);
    TS_TRY(checkLegs(asked.threads, row.id));
    return asked;
}

// Devices tell from threads of their own what they wait for.
class OneAtATime : public TuneListener {
public:
    explicit OneAtATime(TuneListener* to) : to_(to) {}

    void onProgress(const Progress& progress) override { tell([&](TuneListener& to) { to.onProgress(progress); }); }
    void onLeg(const TuneLeg& leg) override { tell([&](TuneListener& to) { to.onLeg(leg); }); }
    void onTasks(const std::vector<TuningTask>& tasks) override { tell([&](TuneListener& to) { to.onTasks(tasks); }); }
    void onRun(std::int64_t run) override { tell([&](TuneListener& to) { to.onRun(run); }); }
    void onTrial(const TuneTrial& trial) override { tell([&](TuneListener& to) { to.onTrial(trial); }); }
    void onTaskDone(const std::string& workload, const std::string& stopReason) override { tell([&](TuneListener& to) { to.onTaskDone(workload, stopReason); }); }

private:
    template <class Say> void tell(const Say& say) {
        const std::lock_guard lock(mutex_);
        if (to_)
            say(*to_);
    }
    std::mutex mutex_;
    TuneListener* to_; // null: nobody listens
};

class Tuning {
public:
    Tuning(const Model& model, const TuneRequest& request) : model_(model), request_(request), listener_(request.listener) {}

    Result<TuneReport> go() {
        TS_ASSIGN(const std::string path, storePath(request_.store));
        TS_ASSIGN(store_, Store::open(path));
        TS_TRY(connect());
        TS_TRY(request_.resume ? planResumed() : planFresh());
        TuneReport report;
        for (std::size_t i = 0; i < legs_.size() && !report.unfinished; ++i) {
            if (i > 0)
                TS_TRY(follow(RunId(report.last().run), legs_[i]));
            listener().onLeg(legs_[i].leg);
            listener().onProgress({"preparing " + model_.name(), -1, {}});
            if (budget_.seconds)
                legs_[i].budget.seconds = secondsFor(i, report.seconds());
            TS_ASSIGN(TunedRun run, tuneLeg(model_, request_, *store_, legs_[i], listener()));
            const bool failed = run.stopReason == stopReasonName(StopReason::failed);
            report.runs.push_back(std::move(run));
            report.unfinished = request_.stop.stopRequested() || failed;
        }
        return report;
    }

private:
    TuneListener& listener() const { return listener_; }

    // What an earlier leg left of the time is the later ones'.
    double secondsFor(std::size_t index, double spent) const {
        return std::max(1.0, (*budget_.seconds - spent) / static_cast<double>(legs_.size() - index));
    }

    Status connect() {
        if (!request_.device)
            return {};
        if (request_.layouts)
            return inputError("layouts are planned with times of whole models, which only this machine takes; leave out --layouts or the device");
        constexpr int kAllCores = 256; // as many as the device has
        std::uint64_t seed = request_.seed;
        if (request_.resume) {
            TS_ASSIGN(const RunRow row, store_->run(RunId(*request_.resume)));
            seed = row.seed;
        }
        const Work work{request_.stop, [this](const Progress& progress) { listener().onProgress(progress); }};
        const auto waiting = request_.gate ? request_.gate->awaitDevice() : nullptr;
        TS_ASSIGN(devices_, connectDevices(*request_.device, workerLimits(request_, seed, kAllCores), work));
        return {};
    }

    int cores() const { return devices_.empty() ? coreCount() : devices_.front()->device().threads; }

    Status planFresh() {
        budget_ = request_.budget;
        if (budget_.empty())
            budget_.trialsPerWorkload = kDefaultTrialsPerWorkload;
        std::vector<int> threads{request_.threads > 0 ? request_.threads : 1};
        if (request_.threads <= 0 && cores() > 1 && budget_.trials.value_or(2) > 1)
            threads.push_back(cores());
        if (request_.layouts) // a quarter is for what comes after
            budget_ = lessLayouts(budget_);
        TuneLegPlan plan;
        plan.budget = budget_;
        plan.strategy = request_.strategy.empty() ? tuneStrategies().front().key : request_.strategy;
        TS_ASSIGN(plan.space, spaceKindFromName(request_.space));
        TS_TRY(checkLayouts(plan.space));
        plan.seed = request_.seed;
        addLegs(plan, threads);
        if (budget_.trials)
            shareTrials(*budget_.trials);
        return {};
    }

    Status planResumed() {
        TS_ASSIGN(const RunRow row, store_->run(RunId(*request_.resume)));
        TS_TRY(checkModel(row));
        TS_ASSIGN(const AskedBefore asked, askedBefore(row));
        budget_.seconds = request_.budget.seconds;
        TuneLegPlan plan;
        plan.budget = asked.budget;
        plan.strategy = asked.strategy;
        TS_ASSIGN(plan.space, spaceKindFromName(asked.space));
        TS_TRY(checkLayouts(plan.space));
        plan.seed = asked.seed;
        addLegs(plan, asked.threads);
        legs_.front().resume = row.id;
        return {};
    }

    Status checkLayouts(SpaceKind space) const {
        if (!request_.layouts || space == SpaceKind::tunesmith)
            return {};
        return inputError(std::string("layouts are planned by kernels of the space ") + spaceKindName(SpaceKind::tunesmith) + ", not of " + spaceKindName(space) +
                          "; ask for one of the two");
    }

    // A resumed tuning may have come to this leg before.
    Status follow(RunId previous, TuneLegPlan& plan) const {
        plan.follows = previous;
        TS_ASSIGN(const std::vector<RunRow> runs, store_->runs());
        for (const RunRow& row : runs) {
            const auto json = parseJson<nlohmann::json>(row.options);
            if (json.is_object() && numberAt<std::int64_t>(json, "follows") == previous.value())
                plan.resume = row.id;
        }
        return {};
    }

    static TuneBudget lessLayouts(TuneBudget budget) {
        if (budget.trials)
            budget.trials = std::max<std::int64_t>(1, *budget.trials * 3 / 4);
        if (budget.seconds)
            budget.seconds = std::max(1.0, *budget.seconds * 3 / 4);
        return budget;
    }

    void addLegs(TuneLegPlan plan, const std::vector<int>& threads) {
        for (std::size_t i = 0; i < threads.size(); ++i) {
            plan.devices = devices_;
            plan.leg = {threads[i], static_cast<int>(i), static_cast<int>(threads.size())};
            plan.followedBy.assign(threads.begin() + static_cast<std::ptrdiff_t>(i) + 1, threads.end());
            legs_.push_back(plan);
        }
    }

    void shareTrials(std::int64_t all) {
        const auto count = static_cast<std::int64_t>(legs_.size());
        for (std::int64_t i = 0; i < count; ++i)
            legs_[static_cast<std::size_t>(i)].budget.trials = all * (i + 1) / count - all * i / count;
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

    const Model& model_;
    const TuneRequest& request_;
    std::shared_ptr<Store> store_;
    mutable OneAtATime listener_;
    std::vector<std::shared_ptr<RemoteExecutor>> devices_; // none: this machine
    TuneBudget budget_; // of all legs together
    std::vector<TuneLegPlan> legs_;
};

template <class T, class Member> T sumOf(const std::vector<TunedRun>& runs, Member member) {
    return std::transform_reduce(runs.begin(), runs.end(), T(), std::plus<T>(),
                                 [member](const TunedRun& run) { return run.*member; });
}

} // namespace

std::int64_t TuneReport::trials() const {
    return sumOf<std::int64_t>(runs, &TunedRun::trials);
}
std::string TuneReport::failure() const {
    if (last().stopReason == stopReasonName(StopReason::failed))
        return last().message;
    if (trials() == 0 || failed() < trials())
        return {};
    return "all " + std::to_string(trials()) + " trials failed, so that this run found nothing; a longer --timeout, more memory or another strategy may help, and `tune --json` tells of each workload";
}

std::int64_t TuneReport::failed() const {
    return sumOf<std::int64_t>(runs, &TunedRun::failed);
}
double TuneReport::seconds() const {
    return sumOf<double>(runs, &TunedRun::seconds);
}

const std::vector<StrategyInfo>& tuneStrategies() {
    static const std::vector<StrategyInfo> list = [] {
        std::vector<StrategyInfo> out;
        for (const StrategyEntry& strategy : strategyTable())
            out.push_back({std::string(strategy.name), std::string(strategy.title), std::string(strategy.help)});
        return out;
    }();
    return list;
}

const std::vector<StrategyInfo>& tuneSpaces() {
    static const std::vector<StrategyInfo> list = [] {
        std::vector<StrategyInfo> out;
        for (const SpaceKindEntry& space : spaceKindTable())
            out.push_back({space.name, space.title, space.help});
        return out;
    }();
    return list;
}

Result<TuneReport> tuneModel(const Model& model, const TuneRequest& request) {
    return Tuning(model, request).go();
}

} // namespace tunesmith
