// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/search_session.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/search/state_json.h"

namespace tunesmith {
namespace {

double steadySeconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

std::vector<Config> SearchSession::Batch::toTry() const {
    std::vector<Config> out;
    for (std::size_t i = 0; i < configs.size(); ++i)
        if (!stored[i])
            out.push_back(configs[i]);
    return out;
}

SearchSession::SearchSession(const Space& space, Strategy& strategy, SearchOptions options)
    : space_(space), strategy_(strategy), options_(std::move(options)) {
    assert(options_.batch > 0);
    if (!options_.cost)
        options_.cost = [](const Trial& trial) { return trial.objectives.at(0).value; };
    if (!options_.clock)
        options_.clock = steadySeconds;
    begun_ = options_.clock();
    SearchEvent started = event(SearchEvent::Kind::started);
    started.text = strategy_.name();
    tell(started);
}

Status SearchSession::resume(StoredTrail trail) {
    assert(batches_ == 0 && trials_.empty());
    std::size_t accounted = 0;
    std::string strategyState;
    if (!trail.sessionState.empty())
        TS_TRY(readState("session", trail.sessionState, [&](const nlohmann::json& json) {
            accounted = json.at("trials").get<std::size_t>();
            batches_ = json.at("batches").get<std::size_t>();
            strategyState = json.at("strategy").get<std::string>();
        }));
    std::erase_if(trail.trials, [](const Trial& trial) { return trial.status == TrialStatus::cancelled; });
    if (accounted > trail.trials.size())
        return inputError("the saved state accounts for " + std::to_string(accounted) + " trials, but only " +
                          std::to_string(trail.trials.size()) + " are stored: resume without it");
    if (!strategyState.empty())
        TS_TRY(strategy_.restoreState(strategyState));
    for (std::size_t i = 0; i < trail.trials.size(); ++i) {
        Trial& trial = trail.trials[i];
        if (i < accounted)
            accept(std::move(trial), Config(trial.asked), false);
        else
            stored_[space_.hash(trial.asked)].push_back(std::move(trial));
    }
    proposed_ = trials_.size();
    return {};
}

std::optional<StopReason> SearchSession::reasonToStop() const {
    const SearchBudget& budget = options_.budget;
    if (options_.stop.stopRequested())
        return StopReason::cancelled;
    if (budget.targetCost && bestCost_ && *bestCost_ <= *budget.targetCost)
        return StopReason::targetReached;
    if (budget.trials && proposed_ >= *budget.trials)
        return StopReason::budgetTrials;
    if (budget.seconds && options_.clock() - begun_ >= *budget.seconds)
        return StopReason::budgetTime;
    if (budget.patience && best_ && trials_.size() - improvedAt_ >= *budget.patience)
        return StopReason::converged;
    return std::nullopt;
}

std::optional<SearchSession::Batch> SearchSession::next(std::size_t most) {
    if (!reason_)
        reason_ = reasonToStop();
    if (reason_)
        return std::nullopt;
    std::size_t count = std::min({options_.batch, most, kMostBatch});
    if (options_.budget.trials)
        count = std::min(count, *options_.budget.trials - proposed_);
    Batch batch{batches_, strategy_.propose(count), {}};
    if (batch.configs.empty()) {
        reason_ = StopReason::exhausted;
        return std::nullopt;
    }
    ++batches_;
    ++underWay_;
    proposed_ += batch.configs.size();
    for (const Config& config : batch.configs) {
        batch.stored.push_back(takeStored(config));
        SearchEvent proposed = event(SearchEvent::Kind::proposed);
        proposed.text = space_.describe(config);
        tell(proposed);
    }
    return batch;
}

std::optional<Trial> SearchSession::takeStored(const Config& config) {
    const auto found = stored_.find(space_.hash(config));
    if (found == stored_.end())
        return std::nullopt;
    Trial trial = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty())
        stored_.erase(found);
    return trial;
}

void SearchSession::deliver(const Batch& batch, std::vector<Trial> trials) {
    assert(underWay_ > 0);
    --underWay_;
    std::vector<Trial> whole;
    std::vector<bool> fresh;
    auto measured = trials.begin();
    for (std::size_t i = 0; i < batch.configs.size(); ++i) {
        const bool isNew = !batch.stored[i].has_value();
        if (isNew && measured == trials.end())
            break; // fewer than asked for: the rest counts as cancelled
        Trial trial = isNew ? std::move(*measured++) : *batch.stored[i];
        trial.asked = batch.configs[i];
        if (!trial.predicted)
            trial.predicted = strategy_.predicted(trial.asked);
        whole.push_back(std::move(trial));
        fresh.push_back(isNew);
    }
    strategy_.observe(whole);
    for (std::size_t i = 0; i < whole.size(); ++i)
        if (whole[i].status != TrialStatus::cancelled)
            accept(std::move(whole[i]), batch.configs[i], fresh[i]);
    if (!batch.toTry().empty())
        takeOverRest();
}

// The trail has left what is stored, but stored trials remain: they come from another seed, batch size or
// strategy. They are still true, so the strategy learns from them now.
void SearchSession::takeOverRest() {
    if (stored_.empty())
        return;
    std::vector<std::pair<std::uint64_t, std::deque<Trial>>> rest(std::make_move_iterator(stored_.begin()),
                                                                  std::make_move_iterator(stored_.end()));
    stored_.clear();
    std::ranges::sort(rest, {}, [](const auto& item) { return item.first; });
    std::vector<Trial> trials;
    for (auto& [hash, sameHash] : rest)
        for (Trial& trial : sameHash)
            trials.push_back(std::move(trial));
    SearchEvent remark = event(SearchEvent::Kind::message);
    remark.text = std::to_string(trials.size()) +
                  " stored trials are not on this trail; they are learned from all the same";
    tell(remark);
    strategy_.observe(trials);
    proposed_ += trials.size();
    for (Trial& trial : trials)
        accept(std::move(trial), Config(trial.asked), false);
}

void SearchSession::accept(Trial trial, const Config& asked, bool fresh) {
    trial.asked = asked;
    std::optional<double> cost;
    if (trial.ok())
        cost = options_.cost(trial);
    const bool better = cost && std::isfinite(*cost) && (!bestCost_ || *cost < *bestCost_);
    trials_.push_back(std::move(trial));
    if (better) {
        best_ = trials_.size() - 1;
        bestCost_ = cost;
        improvedAt_ = trials_.size();
    }
    if (!fresh)
        return;
    SearchEvent measured = event(SearchEvent::Kind::measured);
    measured.cost = cost;
    measured.trial = trials_.back();
    tell(measured);
    if (better) {
        measured.kind = SearchEvent::Kind::improved;
        tell(measured);
    }
}

void SearchSession::fail(std::string message) {
    reason_ = StopReason::failed;
    message_ = std::move(message);
}

SearchResult SearchSession::result() {
    if (!reason_)
        reason_ = reasonToStop().value_or(StopReason::cancelled);
    if (!told_) {
        SearchEvent stopped = event(SearchEvent::Kind::stopped);
        stopped.reason = reason_;
        stopped.text = message_.empty() ? std::string(stopReasonSentence(*reason_)) : message_;
        tell(stopped);
        told_ = true;
    }
    return {*reason_, message_, trials_, best_, options_.clock() - begun_};
}

std::string SearchSession::saveState() const {
    assert(underWay_ == 0);
    return nlohmann::json{
        {"trials", trials_.size()}, {"batches", batches_}, {"strategy", strategy_.saveState()}}
        .dump();
}

SearchEvent SearchSession::event(SearchEvent::Kind kind) const {
    SearchEvent out;
    out.kind = kind;
    out.subject = options_.subject;
    out.step = trials_.size();
    out.seconds = options_.clock() - begun_;
    out.best = bestCost_;
    return out;
}

void SearchSession::tell(const SearchEvent& event) const {
    if (options_.observer)
        options_.observer->onEvent(event);
}

SearchResult runSearch(const Space& space, Strategy& strategy, const Evaluate& evaluate,
                       SearchOptions options, StoredTrail trail) {
    SearchSession session(space, strategy, std::move(options));
    if (const Status resumed = session.resume(std::move(trail)); !resumed.ok())
        session.fail(resumed.error().message);
    while (const auto batch = session.next()) {
        const std::vector<Config> open = batch->toTry();
        Result<std::vector<Trial>> trials = open.empty() ? std::vector<Trial>() : evaluate(open);
        if (!trials.ok() && !trials.error().isCancelled())
            session.fail(trials.error().message);
        session.deliver(*batch, trials.ok() ? std::move(trials).value() : std::vector<Trial>());
    }
    return session.result();
}

Evaluate evaluateWith(Problem& problem, ProfileLimits limits) {
    return [&problem, limits](std::span<const Config> configs) -> Result<std::vector<Trial>> {
        std::vector<Trial> trials;
        for (const Config& config : configs)
            trials.push_back(tryConfig(problem, config, limits));
        return trials;
    };
}

} // namespace tunesmith
