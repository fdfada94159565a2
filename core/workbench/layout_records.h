// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/schedule/layouts.h"
#include "core/store/store.h"

namespace tunesmith {

// Inside core/workbench only: layout plans in the store. Each comparison of a plan with the greedy choice is a run of a kind of its own
// (store/FORMAT.md); the newest one of a graph, target and machine says how to build.
inline constexpr const char* kLayoutsKind = "layouts";
inline constexpr const char* kLayoutTrialsKind = "layout-trials"; // in which kernels of other layouts were measured

struct LayoutVerdict {
    LayoutPlan plan;   // empty where the greedy choice stands
    bool kept = false; // the plan is certainly faster
    double greedyPredictedMs = 0, plannedPredictedMs = 0;
    std::optional<double> greedyMs, plannedMs; // of the whole model, in turns
};

// `run`: what it belongs to; model, target and version are taken from there.
Result<RunId> storeLayouts(Store& store, const Graph& prepared, const RunRow& run, const std::string& machine, const LayoutVerdict& verdict);

// None where the greedy choice stands, nothing was compared, or the plan does not fit the graph's names or the target.
Result<std::optional<LayoutPlan>> storedLayouts(const Store& store, const Graph& prepared, const Target& target, const std::string& machine);

} // namespace tunesmith
