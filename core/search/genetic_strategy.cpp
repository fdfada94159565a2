// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/genetic_strategy.h"

#include <algorithm>
#include <cassert>
#include <set>

#include "core/search/fitness.h"
#include "core/search/trial_strategy.h"

namespace tunesmith {
namespace {

constexpr int kChildren = 32;      // bred for one proposal before it is drawn at random
constexpr int kExtraMutations = 4; // of a child that is known already
constexpr int kCrossings = 32;     // of three parents, until a child is allowed

class Genetic final : public TrialStrategy {
public:
    Genetic(const Space& space, std::uint64_t seed, TrialCost cost, GeneticOptions options)
        : TrialStrategy(space, seed, std::move(cost)), options_(options) {
        assert(options.population >= 3);
        options_.elites = std::min(options.elites, options.population / 2);
    }
    std::string name() const override { return "genetic"; }

protected:
    std::optional<Config> pick() override;
    void observed(const Outcome&) override {} // measured() is all that counts
    nlohmann::json saveOwn() const override;
    void restoreOwn(const nlohmann::json& json) override;

private:
    void beginGeneration();
    void spinRoulette();
    std::vector<std::size_t> bestFirst() const;
    const Config& parent();
    Config crossed();
    Config child();

    GeneticOptions options_;
    std::vector<MeasuredConfig> parents_; // of this generation
    std::vector<double> roulette_;        // sums of their fitness up to each
    std::size_t children_ = 0;            // of this generation so far
};

std::optional<Config> Genetic::pick() {
    if (seen() < options_.population)
        return std::nullopt;
    if (parents_.empty() || children_ >= options_.population - options_.elites)
        beginGeneration();
    if (parents_.empty())
        return std::nullopt;
    ++children_;
    for (int i = 0; i < kChildren; ++i) {
        Config made = child();
        for (int j = 0; j < kExtraMutations && !fresh(made); ++j)
            made = space().neighbour(made, rng());
        if (fresh(made))
            return made;
    }
    return std::nullopt;
}

std::vector<std::size_t> Genetic::bestFirst() const {
    const auto& all = measured().all();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].cost)
            order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *all[i].cost; });
    return order;
}

void Genetic::beginGeneration() {
    const auto& all = measured().all();
    const std::vector<std::size_t> order = bestFirst();
    const auto elites = std::span(order).first(std::min(options_.elites, order.size()));
    std::set<std::size_t> chosen(elites.begin(), elites.end());
    for (std::size_t i = all.size(); i-- > 0 && chosen.size() < options_.population;)
        if (all[i].cost)
            chosen.insert(i);
    parents_.clear();
    children_ = 0;
    if (chosen.size() < 3)
        return;
    for (const std::size_t i : chosen)
        parents_.push_back(all[i]);
    spinRoulette();
}

void Genetic::spinRoulette() {
    std::vector<std::optional<double>> costs;
    for (const MeasuredConfig& known : parents_)
        costs.push_back(known.cost);
    roulette_.clear();
    double sum = 0;
    for (const double fitness : fitnessOf(costs))
        roulette_.push_back(sum += fitness);
}

const Config& Genetic::parent() {
    const auto found = std::ranges::upper_bound(roulette_, rng().uniform() * roulette_.back());
    const auto place = std::min<std::ptrdiff_t>(found - roulette_.begin(), std::ssize(roulette_) - 1);
    return parents_[static_cast<std::size_t>(place)].config;
}

Config Genetic::crossed() {
    const Config &one = parent(), &two = parent(), &three = parent();
    if (!space().choices()) {
        const CrossoverSpace* crossing = space().crossover();
        return crossing ? crossing->cross(crossing->cross(one, two, rng()), three, rng()) : one;
    }
    for (int i = 0; i < kCrossings; ++i) {
        Config made = one;
        for (std::size_t choice = 0; choice < made.choices.size(); ++choice)
            if (const std::uint64_t giver = rng().below(3); giver > 0)
                made.choices[choice] = (giver == 1 ? two : three).choices[choice];
        if (space().validate(made).ok())
            return made;
    }
    return one;
}

Config Genetic::child() {
    Config made = rng().chance(options_.crossover) ? crossed() : parent();
    const std::size_t choices = std::max<std::size_t>(made.choices.size(), 1);
    for (std::size_t i = 0; i < choices; ++i)
        if (rng().chance(options_.mutation))
            made = space().neighbour(made, rng());
    return made;
}

nlohmann::json Genetic::saveOwn() const {
    nlohmann::json parents = nlohmann::json::array();
    for (const MeasuredConfig& known : parents_)
        parents.push_back(jsonOf(known));
    return {{"parents", parents}, {"children", children_}};
}

void Genetic::restoreOwn(const nlohmann::json& json) {
    std::vector<MeasuredConfig> parents;
    for (const auto& known : json.at("parents"))
        parents.push_back(measuredFrom(known));
    const auto children = json.at("children").get<std::size_t>();
    if (std::ranges::any_of(parents, [](const MeasuredConfig& known) { return !known.cost; }))
        throw nlohmann::json::other_error::create(501, "a parent has no cost", &json);
    parents_ = std::move(parents);
    children_ = children;
    spinRoulette();
}

} // namespace

std::unique_ptr<Strategy> makeGenetic(const Space& space, std::uint64_t seed, TrialCost cost,
                                      GeneticOptions options) {
    return std::make_unique<Genetic>(space, seed, std::move(cost), options);
}

} // namespace tunesmith
