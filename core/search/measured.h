// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/search/config.h"

namespace tunesmith {

struct MeasuredConfig {
    Config config;
    std::uint64_t hash = 0;     // the space's
    std::optional<double> cost; // lower is better; none: it failed
};

// What is known of a space: every config that was tried, once, with the best of its costs, because what
// disturbs a measurement only ever makes it slower. Pointers last until the next add().
class Measured {
public:
    // `asked` is the hash of the config that was asked for: it finds the one that was built, too.
    void add(const Config& config, std::uint64_t hash, std::uint64_t asked, std::optional<double> cost);

    const MeasuredConfig* find(std::uint64_t hash) const; // null: never tried
    const MeasuredConfig* best() const;                   // null: nothing has worked yet
    const std::vector<MeasuredConfig>& all() const {
        return all_;
    } // in the order in which they were first seen

    // How much worse `next` is than `current`: the logarithm of their ratio; where not both are positive,
    // their difference as a share of all costs' range.
    double loss(double next, double current) const;

    // For saved states. `aliases` are the hashes of asked configs with the place in all() of what was built.
    using Aliases = std::vector<std::pair<std::uint64_t, std::size_t>>;
    Aliases aliases() const; // sorted
    std::optional<std::size_t> bestPlace() const { return best_; }
    static std::optional<Measured>
    restored(std::vector<MeasuredConfig> all, const Aliases& aliases,
             std::optional<std::size_t> best); // none: they do not fit together

private:
    std::vector<MeasuredConfig> all_;
    std::unordered_map<std::uint64_t, std::size_t> places_;
    std::optional<std::size_t> best_;
};

} // namespace tunesmith
