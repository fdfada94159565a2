// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <unordered_set>
#include <vector>

#include "core/search/space.h"
#include "core/search/trial.h"

namespace tunesmith {

// Draws configs that were not drawn before, until there are none. Indexed spaces are exhausted to the last
// point; in a space without an index, where what is left cannot be listed, a long run of repeats counts as
// the end.
class Unseen {
public:
    explicit Unseen(const Space& space) : space_(space) {}

    bool contains(std::uint64_t hash) const { return seen_.contains(hash); }
    bool mark(const Config& config) {
        return seen_.insert(space_.hash(config)).second;
    } // true when it was new
    // Marks what a trial has tried. What was built; null: the trial is of another space.
    const Config* learn(const Trial& trial);
    std::size_t count() const { return seen_.size(); }

    std::optional<Config> draw(Rng& rng); // uniform over the unseen ones where there is an index; marks it
    std::optional<Config> nextStartingPoint(); // the space's own suggestions, each once; marks it

    std::vector<std::uint64_t> hashes() const; // sorted
    void setHashes(const std::vector<std::uint64_t>& hashes) { seen_ = {hashes.begin(), hashes.end()}; }

private:
    std::optional<Config> drawFromRest(Rng& rng);

    const Space& space_;
    std::unordered_set<std::uint64_t> seen_;
};

} // namespace tunesmith
