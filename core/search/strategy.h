// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/search/space.h"
#include "core/search/trial.h"

namespace tunesmith {

// How a space is searched, in two verbs. The caller decides how many configs are under way: it may propose
// again before it has observed, and observe in any portions, as long as it does so in the same order to get
// the same trail. Deterministic: seed, space and the order of calls decide everything. Not thread-safe;
// borrows its space.
class Strategy {
public:
    virtual ~Strategy() = default;

    virtual std::string name() const = 0;

    // The next configs to try, never one twice. Fewer than asked for means that the space is exhausted.
    // Proposing n and then m gives the same configs as proposing n + m, so that an interrupted batch can be
    // repeated.
    virtual std::vector<Config> propose(std::size_t count) = 0;

    // What became of them; also of configs that were not proposed here (earlier runs, other strategies).
    // Skipped and cancelled trials teach nothing.
    virtual void observe(std::span<const Trial> trials) = 0;

    // What the strategy expected of a config that it has just proposed; higher is better. None without a
    // model.
    virtual std::optional<double> predicted(const Config&) const { return std::nullopt; }

    // JSON text with everything that decides what comes next, the random generator too: a strategy made with
    // the same arguments and restored from it goes on exactly as this one would.
    virtual std::string saveState() const = 0;
    virtual Status restoreState(std::string_view state) = 0;
};

} // namespace tunesmith
