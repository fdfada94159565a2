// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/search/strategy.h"
#include "core/search/unseen.h"

namespace tunesmith {

// Uniform without repeats, after the space's starting points: the control that every cleverer strategy has to
// beat.
class RandomStrategy : public Strategy {
public:
    RandomStrategy(const Space& space, std::uint64_t seed) : unseen_(space), rng_(seed) {}

    std::string name() const override { return "random"; }
    std::vector<Config> propose(std::size_t count) override;
    void observe(std::span<const Trial> trials) override;
    std::string saveState() const override;
    Status restoreState(std::string_view state) override;

private:
    Unseen unseen_;
    Rng rng_;
};

// Every config in the order of its index, after the space's starting points, less what others have tried.
// Needs a space with an index.
class GridStrategy : public Strategy {
public:
    static Result<std::unique_ptr<GridStrategy>> make(const Space& space);

    std::string name() const override { return "grid"; }
    std::vector<Config> propose(std::size_t count) override;
    void observe(std::span<const Trial> trials) override;
    std::string saveState() const override;
    Status restoreState(std::string_view state) override;

private:
    explicit GridStrategy(const Space& space) : index_(*space.indexed()), unseen_(space) {}

    const IndexedSpace& index_;
    Unseen unseen_;
    std::uint64_t next_ = 0;
};

} // namespace tunesmith
