// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/layout_stage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>

#include "core/measure/machine.h"
#include "core/module/layout_knowledge.h"
#include "core/schedule/records.h"
#include "core/schedule/time_records.h"
#include "core/workbench/layout_contest.h"
#include "core/workbench/layout_records.h"

namespace tunesmith {
namespace {

constexpr int kRounds = 6;
constexpr std::size_t kLeastTrials = 8;
constexpr double kModelSeconds = 5;

std::string milliseconds(double ms) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", ms);
    return text;
}

class LayoutStage {
public:
    explicit LayoutStage(const LayoutStageRequest& request) : asked_(request), options_(request.options), work_{request.request.stop, [this](const Progress& p) { asked_.listener.onProgress(p); }} {}

    Result<TunedLayouts> run() {
        work_.report("planning layouts");
        TS_ASSIGN(prepared_, prepareGraph(asked_.model.graph()));
        TS_ASSIGN(const LayoutProblem problem, LayoutProblem::make(prepared_, asked_.target));
        TS_ASSIGN(const MachineRow machine, thisMachine());
        machine_ = machine.key;
        shareBudget();
        TS_TRY(measureUntilSure(problem));
        TS_TRY(confirm(problem));
        TS_ASSIGN(const bool decided, decide(problem));
        if (!decided)
            return std::move(report_);
        TS_ASSIGN(const RunRow leg, asked_.store.run(asked_.run));
        TS_ASSIGN(const RunId stored, storeLayouts(asked_.store, prepared_, leg, machine_, verdict_));
        report_.run = stored.value();
        return std::move(report_);
    }

private:
    // The leg had three quarters of what was asked for.
    void shareBudget() {
        options_.kind = kLayoutTrialsKind;
        options_.followedBy.clear();
        options_.follows = RunId();
        if (options_.totalTrials)
            trialsLeft_ = std::max<std::size_t>(*options_.totalTrials / 3, kLeastTrials);
        if (options_.seconds)
            secondsLeft_ = *options_.seconds / 3;
        options_.trialsPerWorkload = std::max(options_.trialsPerWorkload.value_or(64) / 4, kLeastTrials);
        options_.totalTrials.reset();
        options_.seconds.reset();
    }

    bool exhausted() const { return (trialsLeft_ && *trialsLeft_ < kLeastTrials) || (secondsLeft_ && *secondsLeft_ < 1); }

    Status measureUntilSure(const LayoutProblem& problem) {
        TS_TRY(readRecords(problem));
        std::vector<std::size_t> wanted = known_->unmeasured(known_->greedy()); // its conversions and what was not tuned before
        for (int round = 0; round <= kRounds; ++round) {
            if (!wanted.empty())
                TS_TRY(measure(problem, wanted));
            if (round == kRounds || exhausted())
                break;
            wanted = known_->promising();
            if (wanted.empty())
                break;
        }
        return {};
    }

    // The kernels in which plan and greedy choice differ are timed once more, next to each other, until the plan has no other ones.
    Status confirm(const LayoutProblem& problem) {
        std::set<std::size_t> confirmed;
        for (int round = 0; round < kRounds; ++round) {
            const auto planned = known_->best();
            std::vector<std::size_t> doubtful;
            if (planned)
                std::ranges::set_symmetric_difference(planned->workloads, known_->greedy(), std::back_inserter(doubtful));
            std::erase_if(doubtful, [&](std::size_t i) { return !known_->isMeasured(i) || !confirmed.insert(i).second; });
            if (doubtful.empty())
                break;
            work_.report("measuring layouts", -1, "once more: " + std::to_string(doubtful.size()) + " kernels");
            std::vector<Workload> workloads;
            for (const std::size_t i : doubtful)
                workloads.push_back(problem.workloads()[i]);
            TS_ASSIGN(const auto times, timeRecords(asked_.store, workloads, asked_.target, machine_, options_.workers, work_.stop));
            for (std::size_t k = 0; k < doubtful.size(); ++k)
                if (times[k])
                    known_->learn(doubtful[k], times[k]);
        }
        return {};
    }

    Status readRecords(const LayoutProblem& problem) {
        known_.emplace(problem);
        for (std::size_t i = 0; i < problem.workloads().size(); ++i)
            TS_TRY(readRecord(problem, i));
        return {};
    }

    Status readRecord(const LayoutProblem& problem, std::size_t i) {
        TS_ASSIGN(const auto record, asked_.store.bestRecord(problem.workloads()[i].key, asked_.target.key(), machine_));
        if (record && record->trial.p5Ms)
            known_->learn(i, record->trial.p5Ms);
        return {};
    }

    // A config that is good in the greedy layouts is a guess for others.
    Result<std::vector<Config>> knownConfigs(const LayoutProblem& problem, std::size_t workload) const {
        std::vector<Config> configs;
        for (const std::size_t i : known_->greedy())
            if (!problem.isConversion(i) && !problem.isConversion(workload) && problem.family(i) == problem.family(workload)) {
                TS_ASSIGN(const auto known, bestConfig(asked_.store, problem.workloads()[i].key, asked_.target, machine_));
                if (known)
                    configs.push_back(known->config);
            }
        return configs;
    }

    Status measure(const LayoutProblem& problem, std::vector<std::size_t> wanted) {
        std::ranges::stable_sort(wanted, std::greater(), [&](std::size_t i) { return problem.workloads()[i].flops; });
        if (trialsLeft_)
            wanted.resize(std::min(wanted.size(), std::max<std::size_t>(1, *trialsLeft_ / *options_.trialsPerWorkload)));
        std::vector<TuneTask> tasks;
        for (const std::size_t i : wanted) {
            TuneTask task{problem.workloads()[i]};
            TS_ASSIGN(task.starts, knownConfigs(problem, i));
            tasks.push_back(std::move(task));
        }
        options_.seconds = secondsLeft_;
        Tuner tuner(asked_.store, [&](const TuneEvent& event) {
            if (event.kind == TuneEvent::Kind::measured)
                work_.report("measuring layouts", -1, event.name);
        });
        TS_ASSIGN(const TuneResult result, tuner.run(tasks, asked_.target, options_, work_.stop));
        if (work_.stop.stopRequested())
            return cancelledError();
        if (result.reason == StopReason::failed)
            return internalError("kernels in other layouts could not be measured: " + result.message);
        spend(result);
        for (const std::size_t i : wanted) {
            TS_TRY(readRecord(problem, i));
            if (!known_->isMeasured(i))
                known_->learn(i, std::nullopt);
        }
        return {};
    }

    void spend(const TuneResult& result) {
        report_.trials += static_cast<std::int64_t>(result.trials);
        if (trialsLeft_)
            trialsLeft_ = *trialsLeft_ - std::min(*trialsLeft_, result.trials);
        if (secondsLeft_)
            secondsLeft_ = std::max(0.0, *secondsLeft_ - result.seconds);
    }

    // Of what was measured alone. False where that is too little to say anything.
    Result<bool> decide(const LayoutProblem& problem) {
        const LayoutChoice greedy = problem.greedy(known_->costs());
        const auto planned = known_->best();
        if (!planned || !std::isfinite(greedy.ms)) {
            report_.text = "layouts: not planned, not all that the model consists of could be measured";
            return false;
        }
        report_.greedyPredictedMs = verdict_.greedyPredictedMs = greedy.ms;
        report_.plannedPredictedMs = verdict_.plannedPredictedMs = planned->ms;
        report_.proven = planned->proven;
        report_.changed = differencesOf(problem.greedyPlan(), planned->plan);
        if (report_.changed == 0 || planned->ms >= greedy.ms) {
            report_.changed = 0;
            verdict_.plannedPredictedMs = report_.plannedPredictedMs = greedy.ms;
            report_.text = "layouts: the greedy choice stands, no plan of measured kernels is faster than its " + milliseconds(greedy.ms);
            return true;
        }
        TS_TRY(compare(problem.greedyPlan(), planned->plan));
        return true;
    }

    Result<Subject> subjectOf(const LayoutPlan& plan) const {
        return compiledSubject(asked_.model, {asked_.request.store, asked_.target.threads, asked_.request.builders, false, work_, {}, plan}, {});
    }

    Status compare(const LayoutPlan& greedy, const LayoutPlan& planned) {
        TS_ASSIGN(const Subject before, subjectOf(greedy));
        TS_ASSIGN(const Subject after, subjectOf(planned));
        work_.report("comparing layouts in the whole model");
        TS_ASSIGN(const LayoutContest contest, contestLayouts(before, after, kModelSeconds, work_.stop));
        verdict_.kept = report_.kept = contest.agree && contest.faster;
        verdict_.greedyMs = report_.greedyMs = contest.aMs;
        verdict_.plannedMs = report_.plannedMs = contest.bMs;
        if (verdict_.kept)
            verdict_.plan = planned;
        report_.text = "layouts: " + std::to_string(report_.changed) + " values differ from the greedy choice, predicted " +
                       milliseconds(report_.greedyPredictedMs) + " -> " + milliseconds(report_.plannedPredictedMs) + ", measured " +
                       milliseconds(*report_.greedyMs) + " -> " + milliseconds(*report_.plannedMs) +
                       (report_.kept ? ": kept" : !contest.agree ? ": outputs differ, the greedy choice stands" : ": not certainly faster, the greedy choice stands");
        return {};
    }

    const LayoutStageRequest& asked_;
    TuneOptions options_;
    Work work_;
    Graph prepared_;
    std::string machine_;
    std::optional<std::size_t> trialsLeft_;
    std::optional<double> secondsLeft_;
    std::optional<LayoutKnowledge> known_;
    LayoutVerdict verdict_;
    TunedLayouts report_;
};

} // namespace

Result<TunedLayouts> planByMeasuring(const LayoutStageRequest& request) { return LayoutStage(request).run(); }

} // namespace tunesmith
