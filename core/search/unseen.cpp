// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/unseen.h"

#include <algorithm>

namespace tunesmith {
namespace {

constexpr int kDrawsWithIndex = 200;              // with an index: then the rest is listed
constexpr int kDrawsWithoutIndex = 2000; // without one: then the space counts as exhausted
constexpr std::uint64_t kListable = 1u << 22;

} // namespace

std::optional<Config> Unseen::draw(Rng& rng) {
    const bool listable = space_.indexed() && space_.indexed()->indexCount() <= kListable;
    const int tries = listable ? kDrawsWithIndex : kDrawsWithoutIndex;
    for (int i = 0; i < tries; ++i)
        if (Config config = space_.sample(rng); mark(config))
            return config;
    return listable ? drawFromRest(rng) : std::nullopt;
}

std::optional<Config> Unseen::drawFromRest(Rng& rng) {
    const IndexedSpace& index = *space_.indexed();
    std::vector<std::uint64_t> rest;
    for (std::uint64_t i = 0; i < index.indexCount(); ++i)
        if (const auto config = index.at(i); config && !contains(space_.hash(*config)))
            rest.push_back(i);
    if (rest.empty())
        return std::nullopt;
    std::optional<Config> config = index.at(rest[rng.below(rest.size())]);
    mark(*config);
    return config;
}

const Config* Unseen::learn(const Trial& trial) {
    if (!space_.validate(trial.asked).ok())
        return nullptr;
    mark(trial.asked);
    const Config& built = trial.ok() && space_.validate(trial.effective).ok() ? trial.effective : trial.asked;
    mark(built);
    return &built;
}

std::optional<Config> Unseen::nextStartingPoint() {
    for (const Config& config : space_.startingPoints())
        if (mark(config))
            return config;
    return std::nullopt;
}

std::vector<std::uint64_t> Unseen::hashes() const {
    std::vector<std::uint64_t> out(seen_.begin(), seen_.end());
    std::ranges::sort(out);
    return out;
}

} // namespace tunesmith
