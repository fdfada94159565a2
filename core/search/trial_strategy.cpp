// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/trial_strategy.h"

#include <cassert>
#include <cmath>

namespace tunesmith {

TrialStrategy::TrialStrategy(const Space& space, std::uint64_t seed, TrialCost cost)
    : space_(space), cost_(std::move(cost)), rng_(seed), unseen_(space) {
    if (!cost_)
        cost_ = [](const Trial& trial) { return trial.objectives.at(0).value; };
}

std::vector<Config> TrialStrategy::propose(std::size_t count) {
    std::vector<Config> out;
    while (out.size() < count) {
        std::optional<Config> config = unseen_.nextStartingPoint();
        bool picked = false;
        if (!config && (config = pick())) {
            picked = unseen_.mark(*config);
            assert(picked);
        }
        if (!config)
            config = unseen_.draw(rng_);
        if (!config)
            break;
        const std::uint64_t hash = space_.hash(*config);
        underWay_.insert(hash);
        if (!picked)
            drawn(hash);
        out.push_back(std::move(*config));
    }
    return out;
}

void TrialStrategy::observe(std::span<const Trial> trials) {
    for (const Trial& trial : trials) {
        if (!space_.validate(trial.asked).ok())
            continue; // of another space
        Outcome outcome;
        outcome.asked = space_.hash(trial.asked);
        underWay_.erase(outcome.asked);
        if (trial.informative())
            learn(trial, outcome);
        observed(outcome);
    }
}

void TrialStrategy::learn(const Trial& trial, Outcome& outcome) {
    const Config& built = *unseen_.learn(trial);
    std::optional<double> cost = trial.ok() ? std::optional(cost_(trial)) : std::nullopt;
    if (cost && !std::isfinite(*cost))
        cost.reset();
    outcome.newBest = cost && (!measured_.best() || *cost < *measured_.best()->cost);
    const std::uint64_t hash = space_.hash(built);
    measured_.add(built, hash, outcome.asked, cost);
    outcome.known = measured_.find(hash);
}

nlohmann::json TrialStrategy::jsonOf(const MeasuredConfig& known) {
    return {known.config.text(), known.cost ? nlohmann::json(*known.cost) : nlohmann::json()};
}

MeasuredConfig TrialStrategy::measuredFrom(const nlohmann::json& json) const {
    MeasuredConfig out;
    out.config = configFromState(json.at(0), space_);
    out.hash = space_.hash(out.config);
    if (!json.at(1).is_null())
        out.cost = json.at(1).get<double>();
    return out;
}

std::string TrialStrategy::saveState() const {
    nlohmann::json json{{"rng", rng_.state()},
                        {"seen", unseen_.hashes()},
                        {"under_way", underWay_},
                        {"measured", nlohmann::json::array()},
                        {"aliases", measured_.aliases()},
                        {"own", saveOwn()}};
    for (const MeasuredConfig& known : measured_.all())
        json["measured"].push_back(jsonOf(known));
    json["best"] = measured_.bestPlace() ? nlohmann::json(*measured_.bestPlace()) : nlohmann::json();
    return json.dump();
}

Measured TrialStrategy::measuredFromState(const nlohmann::json& json) const {
    std::vector<MeasuredConfig> all;
    for (const auto& known : json.at("measured"))
        all.push_back(measuredFrom(known));
    std::optional<std::size_t> best;
    if (!json.at("best").is_null())
        best = json.at("best").get<std::size_t>();
    auto out = Measured::restored(std::move(all), json.at("aliases").get<Measured::Aliases>(), best);
    if (!out)
        throw nlohmann::json::other_error::create(501, "its trials do not fit together", &json);
    return std::move(*out);
}

Status TrialStrategy::restoreState(std::string_view state) {
    return readState(name(), state, [&](const nlohmann::json& json) {
        const auto rng = json.at("rng").get<std::array<std::uint64_t, 4>>();
        const auto seen = json.at("seen").get<std::vector<std::uint64_t>>();
        auto underWay = json.at("under_way").get<std::set<std::uint64_t>>();
        Measured measured = measuredFromState(json);
        restoreOwn(json.at("own"));
        // Nothing below throws: a broken state leaves the strategy as it was.
        rng_.setState(rng);
        unseen_.setHashes(seen);
        underWay_ = std::move(underWay);
        measured_ = std::move(measured);
    });
}

} // namespace tunesmith
