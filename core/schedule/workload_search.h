// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <limits>
#include <map>

#include "core/schedule/final.h"
#include "core/schedule/tuner.h"
#include "core/search/stored_trial.h"

namespace tunesmith {

// One batch on its way through the tuner.
struct BatchUnderWay {
    class WorkloadSearch* search = nullptr;
    std::unique_ptr<StageGate::Chain> stages; // none: the run has no gate
    SearchSession::Batch batch;
    std::vector<Config> open; // those without a stored trial
    std::vector<std::int64_t> indices; // of the open ones, within run and workload
    std::vector<std::optional<double>> predicted;
    std::int64_t nextIndex = 0; // of the batch after this one
    std::vector<ScheduleProblem::BuildOutcome> builds;
    std::vector<Trial> trials;
};

// The search for the best schedule of one workload within a tuning run: problem, strategy, session and what is known so far.
class WorkloadSearch {
public:
    struct Setup {
        TuneTask task;
        std::size_t budget = 0; // trials; 0: no limit
        std::vector<Config> starts; // tried first
    };
    static Result<std::unique_ptr<WorkloadSearch>> make(std::unique_ptr<ScheduleProblem> problem, Setup setup,
                                                        const TuneOptions& options, const StopToken& stop);
    Status takeOver(const std::vector<TrialRow>& rows); // the trials of an earlier part of the run

    const std::string& key() const { return problem_->workload().key; }
    const TuneTask& task() const { return setup_.task; }
    std::size_t budget() const { return setup_.budget; }
    ScheduleProblem& problem() { return *problem_; }

    std::optional<BatchUnderWay> next(std::size_t most = std::numeric_limits<std::size_t>::max());
    void deliver(BatchUnderWay& batch);
    // For each trial as soon as it is there, stored or not: keeps best, leaders and counts.
    void remember(const Trial& trial, const Artifact* artifact);
    const Trial* sameCode(std::uint64_t artifactHash) const; // an earlier trial of the same machine code

    bool open() const { return !session_->reason(); }         // may propose more
    void close(StopReason reason) { session_->close(reason); }
    bool finished() const { return session_->finished(); }    // and all is delivered
    std::optional<StopReason> reason() const { return session_->reason(); }
    bool isDone() const { return done_; }
    void setDone() { done_ = true; }

    std::size_t trials() const { return trials_; }
    std::size_t failed() const { return failed_; }
    std::size_t storedTrials() const { return stored_; } // of an earlier part of the run, without finals
    std::size_t proposals() const { return numbers_.proposals(); }
    std::int64_t takeFinalNumber() { return numbers_.takeFree(static_cast<std::int64_t>(trials_)); }
    std::int64_t batches() const { return batches_; }
    std::optional<double> bestMs() const { return bestMs_; }
    std::optional<double> deliveredMs() const { return session_->bestCost(); } // the best of the batches that were delivered
    bool hasFinal() const { return hasFinal_; } // held, and nothing was tried since
    std::optional<double> defaultMs() const { return defaultMs_; }
    TunedWorkload summary() const;

    // The first kernel that ran, which the others are timed beside; built again after a resume.
    std::optional<ProfileLimits::Reference> reference(const StopToken& stop);
    std::vector<Finalist> finalists() const; // the best few and the default, fastest first
    const Config& defaultConfig() const { return defaultTrial_ ? defaultTrial_->config : default_; } // as it was built
    void settle(const FinalResult& result); // what the final says overrules what single trials said

private:
    WorkloadSearch() = default;
    void keepLeader(const Trial& trial, const Artifact* artifact);

    std::unique_ptr<ScheduleProblem> problem_;
    Setup setup_;
    std::unique_ptr<Space> space_; // the problem's with its starting points
    std::unique_ptr<Strategy> strategy_;
    std::unique_ptr<SearchSession> session_;
    std::map<std::uint64_t, Trial> byCode_;
    std::vector<Finalist> leaders_; // fastest first
    std::optional<Finalist> defaultTrial_, reference_;
    TrialNumbers numbers_;
    Config default_, best_;
    std::size_t trials_ = 0, failed_ = 0, stored_ = 0;
    std::int64_t batches_ = 0;
    std::optional<double> bestMs_, defaultMs_;
    bool done_ = false, hasFinal_ = false;
};

} // namespace tunesmith
