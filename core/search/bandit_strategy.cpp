// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/bandit_strategy.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/search/bandit_credit.h"
#include "core/search/bandit_technique.h"
#include "core/search/trial_strategy.h"

namespace tunesmith {
namespace {

class Bandit final : public TrialStrategy {
public:
    Bandit(const Space& space, std::uint64_t seed, TrialCost cost, BanditOptions options)
        : TrialStrategy(space, seed, std::move(cost)), cube_(space),
          credit_(4, options.exploration, options.window) {
        techniques_.push_back(makeDifferentialEvolution());
        techniques_.push_back(makeUniformMutation());
        techniques_.push_back(makeNormalMutation());
        techniques_.push_back(makeNelderMead());
    }
    std::string name() const override { return "bandit"; }

protected:
    std::optional<Config> pick() override;
    void observed(const Outcome& outcome) override;
    nlohmann::json saveOwn() const override;
    void restoreOwn(const nlohmann::json& json) override;

private:
    TechniqueView view() {
        return {space(),
                cube_,
                measured(),
                [this](std::uint64_t hash) { return isFresh(hash); },
                [this](std::uint64_t hash) { return underWay(hash); },
                rng()};
    }
    std::vector<std::size_t> mostDeservingFirst() const;

    UnitCube cube_;
    BanditCredit credit_;
    std::vector<std::unique_ptr<Technique>> techniques_;
    std::map<std::uint64_t, std::size_t> proposer_; // of what is under way: which technique
};

std::vector<std::size_t> Bandit::mostDeservingFirst() const {
    std::vector<std::size_t> underWay(techniques_.size(), 0);
    for (const auto& [hash, technique] : proposer_)
        ++underWay[technique];
    const std::vector<double> scores = credit_.scores(underWay);
    std::vector<std::size_t> order(techniques_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return scores[i]; });
    return order;
}

std::optional<Config> Bandit::pick() {
    const TechniqueView seen = view();
    for (const std::size_t technique : mostDeservingFirst()) {
        if (auto config = techniques_[technique]->pick(seen)) {
            proposer_[space().hash(*config)] = technique;
            return config;
        }
    }
    return std::nullopt;
}

void Bandit::observed(const Outcome& outcome) {
    const auto proposer = proposer_.extract(outcome.asked);
    if (proposer && outcome.known)
        credit_.record(proposer.mapped(), outcome.newBest);
    const TechniqueView seen = view();
    for (std::size_t i = 0; i < techniques_.size(); ++i)
        techniques_[i]->observed(seen, {outcome.asked, outcome.known, proposer && proposer.mapped() != i});
}

nlohmann::json Bandit::saveOwn() const {
    nlohmann::json techniques = nlohmann::json::array();
    for (const auto& technique : techniques_)
        techniques.push_back(technique->save());
    return {{"history", credit_.history()}, {"techniques", techniques}, {"proposer", proposer_}};
}

void Bandit::restoreOwn(const nlohmann::json& json) {
    auto history = json.at("history").get<BanditCredit::History>();
    auto proposer = json.at("proposer").get<std::map<std::uint64_t, std::size_t>>();
    const auto exists = [&](std::size_t technique) { return technique < techniques_.size(); };
    if (!std::ranges::all_of(history, exists, &BanditCredit::History::value_type::first) ||
        !std::ranges::all_of(proposer, [&](const auto& item) { return exists(item.second); }))
        throw nlohmann::json::other_error::create(501, "an unknown technique", &json);
    std::vector<std::function<void()>> enforce;
    for (std::size_t i = 0; i < techniques_.size(); ++i)
        enforce.push_back(techniques_[i]->read(json.at("techniques").at(i), cube_));
    for (const auto& restore : enforce)
        restore();
    credit_.setHistory(std::move(history));
    proposer_ = std::move(proposer);
}

} // namespace

Result<std::unique_ptr<Strategy>> makeBandit(const Space& space, std::uint64_t seed, TrialCost cost,
                                             BanditOptions options) {
    if (!space.choices())
        return unsupportedError("space " + space.name() +
                                " has no knobs to count in: use the strategy genetic instead of bandit");
    return std::unique_ptr<Strategy>(std::make_unique<Bandit>(space, seed, std::move(cost), options));
}

} // namespace tunesmith
