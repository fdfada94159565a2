// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>

#include "core/search/annealer.h"
#include "core/search/cost_model.h"
#include "core/search/strategy.h"
#include "core/search/unseen.h"

namespace tunesmith {

struct ModelGuidedOptions {
    std::uint64_t seed = 0;
    std::size_t firstFit = 16; // trials before the model is trusted; random until then
    std::size_t plan = 64;     // configs planned from one fit
    double randomShare = 0.05; // of all proposals, so that the model also sees what it does not believe in
    double localShare =
        0.2; // of all proposals: steps from the best measured config, where ruggedness hides from the model
    double diversity = 0.1; // weight of unlikeness within a plan against the score, in standard deviations
    std::size_t refitStep =
        8; // refit after so many new trials, or a sixteenth of those known if that is more
    AnnealOptions anneal;
    TrialCost cost;
    TrainingSet prior; // rows of other workloads with the same features: then the first batch is guided, too
};

// The learned search of AutoTVM (Chen et al., NeurIPS 2018): a model that ranks configs is fitted to what was
// measured, simulated annealing finds what it likes best, a few random configs and a few steps from the best
// one keep it honest. The first batch is random. Labels are best cost / cost (1 for the best, 0 for every
// failure); where costs are not all positive, the place of the cost between worst and best. Trials are
// learned under the config that was really built.
class ModelGuidedStrategy : public Strategy {
public:
    ModelGuidedStrategy(const Space& space, std::unique_ptr<CostModel> model, ModelGuidedOptions options);

    std::string name() const override { return "model-guided"; }
    std::vector<Config> propose(std::size_t count) override;
    void observe(std::span<const Trial> trials) override;
    std::optional<double> predicted(const Config& config) const override;
    std::string saveState() const override;
    Status restoreState(std::string_view state) override;

    const CostModel& model() const { return *model_; }
    TrainingSet trainingSet() const {
        return trainingSet(configs_.size());
    } // what it has learned from, without the prior
    std::size_t fits() const { return fits_; }

private:
    void remember(const Config& config, std::optional<double> cost);
    void fitIfDue();
    void fit(std::size_t rows);
    TrainingSet trainingSet(std::size_t rows) const;
    void makePlan();
    void seedChains();
    std::vector<float> score(std::span<const Config> configs) const;
    std::optional<Config> nextPlanned();
    std::optional<Config> nextLocal();
    std::optional<Config> nextGuided();
    std::vector<std::size_t> bestFirst() const;

    const Space& space_;
    std::unique_ptr<CostModel> model_;
    ModelGuidedOptions options_;
    Unseen unseen_;
    Rng rng_;
    std::vector<Config> configs_;              // learned from, in the order of observation
    std::vector<std::optional<double>> costs_; // of those; none for a failure
    FeatureMatrix features_;                   // of those
    std::size_t fittedRows_ = 0;
    std::size_t fits_ = 0;
    std::vector<Config> chains_;
    std::vector<ScoredConfig> plan_; // best first; planAt_ is the next one
    std::size_t planAt_ = 0;
    bool planStale_ = true;                                // the model has changed since
    bool planDry_ = false;                                 // planning found nothing that is new
    std::unordered_map<std::uint64_t, float> predictions_; // of what was proposed and not yet observed
};

} // namespace tunesmith
