// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cost/learned_strategy.h"

#include "core/cost/learned_model.h"

namespace tunesmith {

StrategyOptions learnedStrategyOptions(std::uint64_t seed) {
    StrategyOptions options;
    options.seed = seed;
    options.model = [seed] {
        LearnedModelOptions model;
        model.seed = seed;
        model.rounds = 40;
        return makeLearnedModel(model);
    };
    options.guided.anneal.chains = 64;
    options.guided.anneal.steps = 150;
    options.guided.anneal.patience = 30;
    return options;
}

} // namespace tunesmith
