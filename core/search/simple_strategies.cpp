// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/simple_strategies.h"

#include "core/search/state_json.h"

namespace tunesmith {

std::vector<Config> RandomStrategy::propose(std::size_t count) {
    std::vector<Config> out;
    while (out.size() < count) {
        std::optional<Config> config = unseen_.nextStartingPoint();
        if (!config)
            config = unseen_.draw(rng_);
        if (!config)
            break;
        out.push_back(std::move(*config));
    }
    return out;
}

void RandomStrategy::observe(std::span<const Trial> trials) {
    for (const Trial& trial : trials)
        if (trial.informative())
            unseen_.learn(trial);
}

std::string RandomStrategy::saveState() const {
    return nlohmann::json{{"rng", rng_.state()}, {"seen", unseen_.hashes()}}.dump();
}

Status RandomStrategy::restoreState(std::string_view state) {
    return readState(name(), state, [&](const nlohmann::json& json) {
        const auto seen = json.at("seen").get<std::vector<std::uint64_t>>();
        rng_.setState(json.at("rng").get<std::array<std::uint64_t, 4>>());
        unseen_.setHashes(seen);
    });
}

Result<std::unique_ptr<GridStrategy>> GridStrategy::make(const Space& space) {
    if (!space.indexed())
        return unsupportedError("space " + space.name() +
                                " has no index: use the strategy random instead of grid");
    return std::unique_ptr<GridStrategy>(new GridStrategy(space));
}

std::vector<Config> GridStrategy::propose(std::size_t count) {
    std::vector<Config> out;
    while (out.size() < count) {
        std::optional<Config> config = unseen_.nextStartingPoint();
        for (; !config && next_ < index_.indexCount(); ++next_)
            if (config = index_.at(next_); config && !unseen_.mark(*config))
                config.reset();
        if (!config)
            break;
        out.push_back(std::move(*config));
    }
    return out;
}

void GridStrategy::observe(std::span<const Trial> trials) {
    for (const Trial& trial : trials)
        if (trial.informative())
            unseen_.learn(trial);
}

std::string GridStrategy::saveState() const {
    return nlohmann::json{{"next", next_}, {"seen", unseen_.hashes()}}.dump();
}

Status GridStrategy::restoreState(std::string_view state) {
    return readState(name(), state, [&](const nlohmann::json& json) {
        const auto seen = json.at("seen").get<std::vector<std::uint64_t>>();
        next_ = json.at("next").get<std::uint64_t>();
        unseen_.setHashes(seen);
    });
}

} // namespace tunesmith
