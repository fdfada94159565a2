// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>

#include "core/search/problem.h"
#include "core/search/stored_trial.h"
#include "core/store/store.h"
#include "core/workbench/stage_turns.h"
#include "core/workbench/tune.h"
#include "core/workbench/tune_problem.h"

namespace tunesmith {

// Inside core/workbench only.
struct ProblemSearchOptions {
    std::string strategy;
    std::uint64_t seed = 1;
    std::size_t batch = 8;
    std::optional<std::size_t> trials;
    std::optional<double> seconds;
    std::size_t builders = 1;
    double profileSeconds = 0;
    Work work;
    StageTurns* turns = nullptr;     // of the thread that searches; outlives the search
    TuneListener* listener = nullptr; // of trials; may be null
};

// The search of one problem within a run that is ours: propose a batch, build it on several threads, measure it one by one, store each
// trial, learn; each of them in its turn. Nothing is built while something is measured: what is tuned may want every core.
class ProblemSearch {
public:
    struct Best {
        Config config;
        double value = 0, cost = 0;
    };

    static Result<std::unique_ptr<ProblemSearch>> make(Problem& problem, Store& store, RunId run, std::string workload, ProblemSearchOptions options);
    Status takeOver(const std::vector<TrialRow>& rows); // the trials of an earlier part of the run
    Result<StopReason> go();

    bool isTime() const { return objective_.unit == "ms" && !objective_.higherIsBetter; }
    const Config& defaultConfig() const { return default_; }
    const std::optional<Best>& best() const { return best_; }
    const std::optional<Best>& ofDefault() const { return ofDefault_; }
    const std::string& verdict() const { return verdict_; }
    const std::string& firstFailure() const { return firstFailure_; }
    std::int64_t trials() const { return trials_; }
    std::int64_t failed() const { return failed_; }

private:
    struct Build {
        std::optional<Built> built;
        std::optional<Error> error;
        double seconds = 0;
    };
    struct Round { // a batch on its way
        SearchSession::Batch batch;
        std::vector<Config> open;
        std::vector<Build> builds;
    };
    ProblemSearch(Problem& problem, Store& store, RunId run, std::string workload, ProblemSearchOptions options);
    Status turn(const char* stage, const StageNeed& need = {});
    Status giveWay();
    void expectBatches(std::int64_t batches) const;
    std::optional<std::int64_t> batchesLeft() const;
    void planBatch(const StageNeed& building) const;
    std::vector<Build> build(const std::vector<Config>& configs);
    Result<std::optional<Round>> prepare();
    Result<std::vector<Trial>> measure(Round& round);
    Trial measureOne(const Config& config, Build& build);
    std::optional<ProfileLimits::Reference> reference();
    Status keep(const Trial& trial, const SearchSession::Batch& batch, std::int64_t number, bool closes);
    void remember(const Trial& trial, const Artifact* artifact);
    void tell(const Trial& trial) const;
    Status holdFinal();
    Status keepFinal(const Config& winner, const std::vector<float>& samples, double defaultMs, std::string verdict);
    void settle(const Trial& final);
    void report() const;
    double costOfTrial(const Trial& trial) const { return costOf(trial, std::span(&objective_, 1)); }

    Problem& problem_;
    Store& store_;
    RunId run_;
    std::string workload_;
    ProblemSearchOptions options_;
    ObjectiveInfo objective_;
    Config default_;
    std::unique_ptr<Strategy> strategy_;
    std::unique_ptr<SearchSession> session_;
    TrialNumbers numbers_;
    std::map<std::uint64_t, Trial> byArtifact_;
    std::optional<Best> best_, ofDefault_;
    struct Measured {
        Config config;
        double value = 0;
        std::optional<Artifact> artifact; // none: of an earlier part of the run
    };
    std::optional<Measured> reference_; // the first config that worked
    std::string verdict_, firstFailure_;
    std::int64_t trials_ = 0, failed_ = 0, batches_ = 0;
    bool hasFinal_ = false;
    const int cores_; // of the machine
    const double begun_; // on the clock of the turns
};

} // namespace tunesmith
