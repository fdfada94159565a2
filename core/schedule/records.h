// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include "core/codegen/target.h"
#include "core/schedule/workload.h"
#include "core/search/config.h"
#include "core/store/store.h"

namespace tunesmith {

// What tuning has found out about a workload: the config to compile it with.
struct KnownBest {
    Config config; // the one that was really built
    SpaceKind space = SpaceKind::tunesmith; // in which it means something
    double ms = 0;
    Record record; // its target may have another thread count than was asked for
};

// The best record of a workload for a target: of this very key, else of the same instruction set with the nearest thread
// count (the smaller one of equals), else none; of the named machine, else of the others. Whether the config is
// still a member of the workload's space is for the caller to check: templates change.
Result<std::optional<KnownBest>> bestConfig(const Store& store, const std::string& workload, const Target& target,
                                            const std::string& machine = {});

// The same of a workload in our space, or its record in another space where that is faster. Times are compared only if they
// are of one target and machine. Where ours was never tuned, another space's best is not known to beat our untuned schedule.
Result<std::optional<KnownBest>> bestOfSpaces(const Store& store, const Workload& workload, const Target& target, const std::string& machine = {});

} // namespace tunesmith
