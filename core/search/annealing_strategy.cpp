// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/annealing_strategy.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "core/search/trial_strategy.h"

namespace tunesmith {
namespace {

constexpr int kFreeSteps = 64; // over known configs, for one proposal

class Annealing final : public TrialStrategy {
public:
    Annealing(const Space& space, std::uint64_t seed, TrialCost cost, AnnealingOptions options)
        : TrialStrategy(space, seed, std::move(cost)), options_(options), chains_(options.chains) {
        assert(options.chains > 0 && options.sweep > 0);
    }
    std::string name() const override { return "annealing"; }

protected:
    std::optional<Config> pick() override;
    void drawn(std::uint64_t hash) override { takeTurn(hash); }
    void observed(const Outcome& outcome) override;
    nlohmann::json saveOwn() const override;
    void restoreOwn(const nlohmann::json& json) override;

private:
    using Chain = std::optional<MeasuredConfig>; // where it stands; none: it waits for a random start

    double temperature() const {
        const double passed = static_cast<double>(age_) / static_cast<double>(options_.sweep);
        return options_.hot * std::pow(options_.cold / options_.hot, passed);
    }
    void takeTurn(std::uint64_t hash) {
        stepOf_[hash] = turn_;
        turn_ = (turn_ + 1) % chains_.size();
    }
    void offer(Chain& chain, const MeasuredConfig& next);
    void offerForeign(const MeasuredConfig& known, bool newBest);
    void cool();

    AnnealingOptions options_;
    std::vector<Chain> chains_;
    std::size_t turn_ = 0;                        // the chain that proposes next
    std::size_t age_ = 0;                         // trials since it was hot
    std::map<std::uint64_t, std::size_t> stepOf_; // of what is under way: whose step it is
};

std::optional<Config> Annealing::pick() {
    Chain& chain = chains_[turn_];
    for (int i = 0; chain && i < kFreeSteps; ++i) {
        Config next = space().neighbour(chain->config, rng());
        if (fresh(next)) {
            takeTurn(space().hash(next));
            return next;
        }
        if (const MeasuredConfig* known = measured().find(space().hash(next)))
            offer(chain, *known);
    }
    chain.reset();
    return std::nullopt;
}

void Annealing::offer(Chain& chain, const MeasuredConfig& next) {
    if (!next.cost)
        return;
    if (chain) {
        const double loss = measured().loss(*next.cost, *chain->cost);
        if (loss > 0 && !rng().chance(std::exp(-loss / temperature())))
            return;
    }
    chain = next;
}

// Of use where a chain has no place yet, and where it is better than all that the chains have found.
void Annealing::offerForeign(const MeasuredConfig& known, bool newBest) {
    if (!known.cost)
        return;
    auto worst = std::ranges::find_if(chains_, [](const Chain& chain) { return !chain; });
    if (worst == chains_.end() && newBest)
        worst = std::ranges::max_element(chains_, {}, [](const Chain& chain) { return *chain->cost; });
    if (worst != chains_.end())
        *worst = known;
}

void Annealing::observed(const Outcome& outcome) {
    const auto step = stepOf_.extract(outcome.asked);
    if (!outcome.known)
        return;
    if (step)
        offer(chains_[step.mapped()], *outcome.known);
    else
        offerForeign(*outcome.known, outcome.newBest);
    cool();
}

void Annealing::cool() {
    if (++age_ < options_.sweep)
        return;
    age_ = 0;
    if (const MeasuredConfig* best = measured().best())
        for (std::size_t i = 0; i < chains_.size(); i += 2)
            chains_[i] = *best;
}

nlohmann::json Annealing::saveOwn() const {
    nlohmann::json chains = nlohmann::json::array();
    for (const Chain& chain : chains_)
        chains.push_back(chain ? jsonOf(*chain) : nlohmann::json());
    return {{"chains", chains}, {"turn", turn_}, {"age", age_}, {"step_of", stepOf_}};
}

void Annealing::restoreOwn(const nlohmann::json& json) {
    std::vector<Chain> chains;
    for (const auto& chain : json.at("chains"))
        chains.push_back(chain.is_null() ? std::nullopt : Chain(measuredFrom(chain)));
    const auto turn = json.at("turn").get<std::size_t>(), age = json.at("age").get<std::size_t>();
    auto stepOf = json.at("step_of").get<std::map<std::uint64_t, std::size_t>>();
    const bool fits =
        chains.size() == chains_.size() && turn < chains.size() &&
        std::ranges::all_of(stepOf, [&](const auto& step) { return step.second < chains.size(); }) &&
        std::ranges::all_of(chains, [](const Chain& chain) { return !chain || chain->cost; });
    if (!fits)
        throw nlohmann::json::other_error::create(501, "its chains do not fit together", &json);
    chains_ = std::move(chains);
    turn_ = turn;
    age_ = age;
    stepOf_ = std::move(stepOf);
}

} // namespace

std::unique_ptr<Strategy> makeAnnealing(const Space& space, std::uint64_t seed, TrialCost cost,
                                        AnnealingOptions options) {
    return std::make_unique<Annealing>(space, seed, std::move(cost), options);
}

} // namespace tunesmith
