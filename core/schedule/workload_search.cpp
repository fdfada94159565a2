// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/workload_search.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/cost/learned_strategy.h"
#include "core/measure/timing.h"
#include "core/search/started_space.h"
#include "core/search/strategy_table.h"

namespace tunesmith {
Result<std::unique_ptr<WorkloadSearch>> WorkloadSearch::make(std::unique_ptr<ScheduleProblem> problem, Setup setup,
                                                             const TuneOptions& options, const StopToken& stop) {
    std::unique_ptr<WorkloadSearch> search(new WorkloadSearch);
    search->problem_ = std::move(problem);
    search->setup_ = std::move(setup);
    if (!search->setup_.starts.empty())
        search->default_ = search->setup_.starts.front();
    search->space_ =
        std::make_unique<StartedSpace>(search->problem_->schedules().space(), search->setup_.starts);
    const std::uint64_t seed = Hasher().add(options.seed).add(std::string_view(search->key())).value();
    TS_ASSIGN(search->strategy_, makeStrategy(options.strategy, *search->space_, learnedStrategyOptions(seed)));
    SearchOptions searching;
    if (search->setup_.budget > 0)
        searching.budget.trials = search->setup_.budget;
    searching.batch = options.batch;
    searching.subject = search->key();
    searching.stop = stop;
    search->session_ = std::make_unique<SearchSession>(*search->space_, *search->strategy_, std::move(searching));
    return search;
}

namespace {

std::optional<double> finalDefaultMs(const Trial& trial) {
    return trial.objectives.size() < 2 ? std::nullopt : std::optional(trial.objectives[1].value);
}

} // namespace

Status WorkloadSearch::takeOver(const std::vector<TrialRow>& rows) {
    StoredTrail trail;
    for (auto& [trial, isFinal] : knownTrials(rows, *space_, numbers_)) {
        remember(trial, nullptr);
        if (isFinal)
            settle({trial.effective, trial.samples, finalDefaultMs(trial)});
        else
            trail.trials.push_back(std::move(trial));
    }
    stored_ = trail.trials.size();
    return session_->resume(std::move(trail));
}

std::optional<BatchUnderWay> WorkloadSearch::next(std::size_t most) {
    auto batch = session_->next(most);
    if (!batch)
        return std::nullopt;
    BatchUnderWay made;
    made.search = this;
    made.indices = numbers_.next(*batch);
    made.open = batch->toTry();
    for (const Config& config : made.open)
        made.predicted.push_back(strategy_->predicted(config));
    made.nextIndex = static_cast<std::int64_t>(numbers_.proposals());
    made.batch = std::move(*batch);
    ++batches_;
    return made;
}

void WorkloadSearch::deliver(BatchUnderWay& batch) { session_->deliver(batch.batch, std::move(batch.trials)); }

const Trial* WorkloadSearch::sameCode(std::uint64_t artifactHash) const {
    const auto found = byCode_.find(artifactHash);
    return artifactHash == 0 || found == byCode_.end() ? nullptr : &found->second;
}

void WorkloadSearch::remember(const Trial& trial, const Artifact* artifact) {
    ++trials_;
    hasFinal_ = false;
    if (!trial.ok()) {
        ++failed_;
        return;
    }
    const double ms = trial.objectives.at(0).value;
    if (trial.asked == default_ && !defaultMs_)
        defaultMs_ = ms;
    if (!bestMs_ || ms < *bestMs_) {
        bestMs_ = ms;
        best_ = trial.effective;
    }
    if (artifact && !byCode_.try_emplace(artifact->hash, trial).second)
        return;
    keepLeader(trial, artifact);
}

void WorkloadSearch::keepLeader(const Trial& trial, const Artifact* artifact) {
    constexpr std::size_t kLeaders = 3;
    const Finalist fresh{trial.objectives.at(0).value, trial.effective, artifact ? std::optional(*artifact) : std::nullopt};
    if (trial.asked == default_)
        defaultTrial_ = fresh;
    if (!reference_)
        reference_ = fresh;
    if (std::ranges::any_of(leaders_, [&](const Finalist& known) { return known.config == fresh.config; }))
        return;
    leaders_.push_back(fresh);
    std::ranges::stable_sort(leaders_, {}, &Finalist::ms);
    if (leaders_.size() > kLeaders)
        leaders_.pop_back();
}

std::optional<ProfileLimits::Reference> WorkloadSearch::reference(const StopToken& stop) {
    if (!reference_)
        return {};
    if (!reference_->artifact)
        if (auto outcome = problem_->tryBuild(reference_->config, stop); outcome.built)
            reference_->artifact = std::move(outcome.built->artifact);
    if (!reference_->artifact)
        return {};
    return ProfileLimits::Reference{&*reference_->artifact, reference_->ms};
}

std::vector<Finalist> WorkloadSearch::finalists() const {
    std::vector<Finalist> all = leaders_;
    const auto isDefault = [&](const Finalist& known) { return known.config == defaultTrial_->config; };
    if (defaultTrial_ && std::ranges::none_of(all, isDefault))
        all.push_back(*defaultTrial_);
    return all;
}

void WorkloadSearch::settle(const FinalResult& result) {
    best_ = result.config;
    bestMs_ = lowQuantile(result.samples);
    if (result.defaultMs)
        defaultMs_ = result.defaultMs;
    hasFinal_ = true;
}

TunedWorkload WorkloadSearch::summary() const {
    const Workload& workload = problem_->workload();
    TunedWorkload out;
    out.key = workload.key;
    out.name = workload.name;
    out.space = space_->name();
    out.spaceSize = space_->size().value_or(0);
    out.count = setup_.task.count;
    out.trials = trials_;
    out.failed = failed_;
    out.defaultMs = defaultMs_;
    out.bestMs = bestMs_;
    out.best = best_.text();
    out.gflops = bestMs_ ? static_cast<double>(workload.flops) / *bestMs_ / 1e6 : 0;
    out.reason = session_->reason();
    return out;
}

} // namespace tunesmith
