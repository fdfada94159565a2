// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/stats/verdict.h"
#include "core/workbench/measure_module.h"

namespace tunesmith {

// Inside core/workbench only: rewritten forms of a model against the original, each as a module, in turns with it: what a rewrite gains in truth,
// caches and all.
class GraphRace {
public:
    // The plan says for which threads, and with which store's records kernels are compiled.
    static Result<GraphRace> make(const Model& original, const PlanRequest& plan, std::uint64_t seed);

    struct Times {
        double beforeMs = 0, afterMs = 0; // p5
        VerdictKind verdict = VerdictKind::cannotTell;
    };
    Result<Times> time(const Graph& rewritten, double seconds) const;

private:
    GraphRace(PlanRequest plan, std::uint64_t seed, Subject original) : plan_(std::move(plan)), seed_(seed), original_(std::move(original)) {}
    PlanRequest plan_;
    std::uint64_t seed_;
    Subject original_;
};

} // namespace tunesmith
