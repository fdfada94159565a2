// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/problem_search.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/base/hash.h"
#include "core/base/helpers.h"
#include "core/cost/learned_strategy.h"
#include "core/measure/machine.h"
#include "core/measure/timing.h"
#include "core/schedule/final.h"
#include "core/schedule/stage_memory.h"
#include "core/stats/verdict.h"

namespace tunesmith {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char *kBuild = "build", *kUpdate = "update";
constexpr const char* kProfile = "profile"; // on all cores: what is tuned may want them
constexpr double kFinalSeconds = 60; // of measuring the best and the default in turns, at most
constexpr std::size_t kFinalSamples = 25, kMostFinalSamples = 100; // of each: between two looks, and in all

double secondsSince(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

std::string valueText(double value, const std::string& unit) {
    char text[48];
    std::snprintf(text, sizeof text, "%.4g", value);
    return unit.empty() ? text : std::string(text) + " " + unit;
}

} // namespace

ProblemSearch::ProblemSearch(Problem& problem, Store& store, RunId run, std::string workload, ProblemSearchOptions options)
    : problem_(problem), store_(store), run_(run), workload_(std::move(workload)), options_(std::move(options)), objective_(problem.objectives().front()), cores_(coreCount()), begun_(options_.turns->seconds()) {}

Result<std::unique_ptr<ProblemSearch>> ProblemSearch::make(Problem& problem, Store& store, RunId run, std::string workload, ProblemSearchOptions options) {
    std::unique_ptr<ProblemSearch> search(new ProblemSearch(problem, store, run, std::move(workload), std::move(options)));
    if (const std::vector<Config> starts = problem.space().startingPoints(); !starts.empty())
        search->default_ = problem.space().canonical(starts.front());
    const auto cost = [own = search.get()](const Trial& trial) { return own->costOfTrial(trial); };
    StrategyOptions strategy = learnedStrategyOptions(Hasher().add(search->options_.seed).add(std::string_view(search->workload_)).value());
    strategy.cost = cost;
    TS_ASSIGN(search->strategy_, makeStrategy(search->options_.strategy, problem.space(), std::move(strategy)));
    SearchOptions searching;
    searching.budget.trials = search->options_.trials;
    searching.budget.seconds = search->options_.seconds;
    searching.batch = search->options_.batch;
    searching.subject = problem.name();
    searching.stop = search->options_.work.stop;
    searching.cost = cost;
    searching.clock = [turns = search->options_.turns] { return turns->seconds(); };
    search->session_ = std::make_unique<SearchSession>(problem.space(), *search->strategy_, std::move(searching));
    return search;
}

Status ProblemSearch::takeOver(const std::vector<TrialRow>& rows) {
    StoredTrail trail;
    for (auto& [trial, isFinal] : knownTrials(rows, problem_.space(), numbers_)) {
        remember(trial, nullptr);
        if (isFinal)
            settle(trial);
        else
            trail.trials.push_back(std::move(trial));
    }
    return session_->resume(std::move(trail));
}

Result<StopReason> ProblemSearch::go() {
    report();
    for (;;) {
        TS_ASSIGN(std::optional<Round> round, prepare());
        if (!round)
            break;
        TS_ASSIGN(std::vector<Trial> trials, measure(*round));
        TS_TRY(turn(kUpdate));
        session_->deliver(round->batch, std::move(trials));
        ++batches_;
    }
    expectBatches(0);
    options_.turns->plan({});
    if (!options_.work.stop.stopRequested())
        TS_TRY(holdFinal());
    options_.turns->leave();
    return session_->result().reason;
}

// About as many as there will be, with those that are stored already, which have their turns again. None: something else than trials may end the run.
std::optional<std::int64_t> ProblemSearch::batchesLeft() const {
    if (options_.seconds || !options_.trials)
        return std::nullopt;
    const double trials = std::min({static_cast<double>(*options_.trials), problem_.space().size().value_or(1e18), 1e12});
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(trials / static_cast<double>(options_.batch))) - batches_);
}

// Said anew for each: a stage that gives way comes several times.
void ProblemSearch::planBatch(const StageNeed& building) const {
    const auto left = batchesLeft();
    expectBatches(left.value_or(0));
    if (left == 0) // that there is none is seen in the turn of a build
        options_.turns->plan({{kBuild, building}});
    else
        options_.turns->plan({{kBuild, building}, {kProfile, {cores_}}, {kUpdate, {}}});
}

void ProblemSearch::expectBatches(std::int64_t batches) const {
    for (const char* stage : {kBuild, kProfile, kUpdate})
        options_.turns->expect(stage, batches);
}

// A stop is the session's to notice.
Status ProblemSearch::turn(const char* stage, const StageNeed& need) {
    const Status begun = options_.turns->enter(stage, need, StageTurns::By::thread);
    return begun.ok() || begun.error().isCancelled() ? Status() : begun;
}

Result<std::optional<ProblemSearch::Round>> ProblemSearch::prepare() {
    const StageNeed building = buildNeed(static_cast<int>(options_.builders));
    planBatch(building);
    TS_TRY(turn(kBuild, building));
    auto batch = session_->next();
    if (!batch)
        return std::optional<Round>();
    Round round{std::move(*batch), {}, {}};
    round.open = round.batch.toTry();
    round.builds = build(round.open);
    return std::optional(std::move(round));
}

std::vector<ProblemSearch::Build> ProblemSearch::build(const std::vector<Config>& configs) {
    std::vector<Build> builds(configs.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&](std::size_t) {
        for (std::size_t i; (i = next.fetch_add(1)) < configs.size();) {
            const auto begun = Clock::now();
            auto built = problem_.build(configs[i], options_.work.stop);
            builds[i].seconds = secondsSince(begun);
            if (built.ok())
                builds[i].built = std::move(*built);
            else
                builds[i].error = built.error();
        }
    };
    auto others = startHelpers(std::min(options_.builders, std::max<std::size_t>(configs.size(), 1)) - 1, work);
    work(0);
    others.join();
    return builds;
}

Result<std::vector<Trial>> ProblemSearch::measure(Round& round) {
    auto& [batch, open, builds] = round;
    const std::vector<std::int64_t> numbers = numbers_.next(batch);
    std::vector<Trial> trials;
    bool whole = true;
    TS_TRY(turn(kProfile, {cores_}));
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (builds[i].error && builds[i].error->kind == ErrorKind::io) // of the machine, not of the config
            return builds[i].error->within("nothing can be built");
        Trial trial = measureOne(problem_.space().canonical(open[i]), builds[i]);
        trial.predicted = strategy_->predicted(open[i]);
        whole = whole && trial.status != TrialStatus::cancelled;
        if (trial.status != TrialStatus::cancelled) {
            TS_TRY(keep(trial, batch, numbers[i], whole && i + 1 == open.size()));
            remember(trial, builds[i].built ? &builds[i].built->artifact : nullptr);
            tell(trial);
        }
        trials.push_back(std::move(trial));
        report();
        TS_TRY(giveWay());
    }
    return trials;
}

Trial ProblemSearch::measureOne(const Config& config, Build& build) {
    Trial trial;
    if (build.error || options_.work.stop.stopRequested()) {
        const bool stopped = options_.work.stop.stopRequested();
        trial = Trial::failure(config, stopped ? TrialStatus::cancelled : statusOf(*build.error, false), stopped ? "cancelled" : build.error->message);
    } else if (const auto same = byArtifact_.find(build.built->artifact.hash); build.built->artifact.hash != 0 && same != byArtifact_.end()) {
        trial = same->second;
        trial.message = "the same as config " + same->second.asked.text();
    } else {
        ProfileLimits limits;
        limits.deadlineSeconds = options_.profileSeconds;
        if (best_)
            limits.incumbent = best_->value;
        limits.reference = reference();
        limits.stop = options_.work.stop;
        trial = problem_.profile(build.built->artifact, limits);
    }
    trial.asked = config;
    trial.effective = build.built ? build.built->effective : config;
    trial.buildSeconds = build.seconds;
    return trial;
}

std::optional<ProfileLimits::Reference> ProblemSearch::reference() {
    if (!reference_)
        return std::nullopt;
    if (!reference_->artifact)
        if (auto built = problem_.build(reference_->config, options_.work.stop); built.ok())
            reference_->artifact = std::move(built->artifact);
    return reference_->artifact ? std::optional(ProfileLimits::Reference{&*reference_->artifact, reference_->value}) : std::nullopt;
}

Status ProblemSearch::keep(const Trial& trial, const SearchSession::Batch& batch, std::int64_t number, bool closes) {
    const auto cost = trial.ok() ? std::optional(costOfTrial(trial)) : std::nullopt;
    TrialRow row = rowFromTrial(trial, run_, workload_, problem_.featureVersion(), cost);
    row.batch = static_cast<std::int64_t>(batch.index);
    row.index = number;
    const RunStateRow state{run_, workload_, row.batch + 1, static_cast<std::int64_t>(numbers_.proposals()), "{}"};
    TS_ASSIGN([[maybe_unused]] const TrialId id, store_.addTrial(row, closes ? &state : nullptr));
    return {};
}

void ProblemSearch::remember(const Trial& trial, const Artifact* artifact) {
    ++trials_;
    hasFinal_ = false;
    if (!trial.ok()) {
        ++failed_;
        if (firstFailure_.empty())
            firstFailure_ = trial.message;
        return;
    }
    const Best own{trial.effective, trial.objectives.front().value, costOfTrial(trial)};
    if (trial.asked == default_)
        ofDefault_ = own;
    if (!best_ || own.cost < best_->cost)
        best_ = own;
    if (!reference_)
        reference_ = Measured{own.config, own.value, artifact ? std::optional(*artifact) : std::nullopt};
    if (artifact)
        byArtifact_.try_emplace(artifact->hash, trial);
}

Status ProblemSearch::giveWay() {
    const Status given = options_.turns->giveWay();
    return given.ok() || given.error().isCancelled() ? Status() : given;
}

void ProblemSearch::tell(const Trial& trial) const {
    if (!options_.listener)
        return;
    TuneTrial told;
    told.workload = workload_;
    told.index = trials_ - 1;
    told.budget = static_cast<std::int64_t>(options_.trials.value_or(0));
    told.status = trialStatusName(trial.status);
    told.detail = trial.message;
    told.config = trial.asked.text();
    told.predicted = trial.predicted;
    if (isTime()) {
        if (trial.ok())
            told.ms = trial.objectives.front().value;
        if (best_)
            told.bestMs = best_->value;
        if (ofDefault_)
            told.firstMs = ofDefault_->value;
    }
    options_.listener->onTrial(told);
}

// The least of many noisy times is too good to be true: it is measured once more, in turns with the default, which goes only for what beats it beyond doubt.
Status ProblemSearch::holdFinal() {
    if (hasFinal_ || !isTime() || !best_ || !ofDefault_ || best_->config == ofDefault_->config)
        return {};
    options_.turns->plan({{kBuild, buildNeed(1)}, {kProfile, {cores_}}});
    TS_TRY(turn(kBuild, buildNeed(1)));
    const std::array<Config, 2> configs{ofDefault_->config, best_->config};
    std::array<Artifact, 2> artifacts;
    std::array<std::vector<float>, 2> samples;
    for (std::size_t i = 0; i < 2; ++i)
        if (auto built = problem_.build(configs[i], options_.work.stop); built.ok())
            artifacts[i] = std::move(built->artifact);
        else
            return {};
    ProfileLimits limits;
    limits.deadlineSeconds = options_.profileSeconds;
    limits.stop = options_.work.stop;
    double spent = 0; // measuring
    FinalDecision decision;
    TS_TRY(turn(kProfile, {cores_}));
    for (std::size_t wanted = kFinalSamples; !decision.certain && wanted <= kMostFinalSamples; wanted += kFinalSamples) {
        while (samples[0].size() < wanted && spent < kFinalSeconds) {
            const auto begun = Clock::now();
            for (std::size_t i = 0; i < 2; ++i) {
                const Trial trial = problem_.profile(artifacts[i], limits);
                if (!trial.ok())
                    return {};
                samples[i].insert(samples[i].end(), trial.samples.begin(), trial.samples.end());
            }
            spent += secondsSince(begun);
            TS_TRY(giveWay());
        }
        const std::size_t pairs = std::min(samples[0].size(), samples[1].size());
        for (auto& each : samples)
            each.resize(pairs);
        decision = decideFinal(samples, 0);
        if (spent >= kFinalSeconds)
            break;
    }
    const std::vector<double> ofDefault(samples[0].begin(), samples[0].end()), ofBest(samples[1].begin(), samples[1].end());
    TS_ASSIGN(const Verdict verdict, judgePaired(ofDefault, ofBest, {}, {0.01, "the default", "the best"}));
    return keepFinal(configs[decision.winner], samples[decision.winner], lowQuantile(samples[0]), verdict.text);
}

Status ProblemSearch::keepFinal(const Config& winner, const std::vector<float>& samples, double defaultMs, std::string verdict) {
    Trial trial;
    trial.asked = trial.effective = winner;
    trial.samples = samples;
    trial.objectives = {{objective_.name, lowQuantile(samples), objective_.unit}, {"untuned " + objective_.name, defaultMs, objective_.unit}};
    trial.message = std::move(verdict);
    TrialRow row = rowFromTrial(trial, run_, workload_, problem_.featureVersion());
    row.batch = batches_;
    row.index = numbers_.takeFree(trials_);
    row.isFinal = true;
    TS_ASSIGN([[maybe_unused]] const TrialId id, store_.addTrial(row));
    remember(trial, nullptr);
    settle(trial);
    tell(trial);
    return {};
}

void ProblemSearch::settle(const Trial& final) {
    const double value = final.objectives.front().value;
    best_ = Best{final.effective, value, value};
    if (ofDefault_ && final.objectives.size() > 1)
        ofDefault_->value = ofDefault_->cost = final.objectives[1].value;
    verdict_ = final.message;
    hasFinal_ = true;
}

void ProblemSearch::report() const {
    double share = options_.trials ? static_cast<double>(trials_) / static_cast<double>(std::max<std::size_t>(1, *options_.trials)) : -1;
    if (options_.seconds)
        share = std::max(share, (options_.turns->seconds() - begun_) / *options_.seconds);
    options_.work.report("tuning", std::min(share, 1.0), std::to_string(trials_) + " trials" + (best_ ? ", best " + valueText(best_->value, objective_.unit) : std::string()));
}

} // namespace tunesmith
