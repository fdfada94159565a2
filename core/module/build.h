// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "core/base/stop_token.h"
#include "core/module/plan.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/template.h"

namespace tunesmith {

// From a model to a ModulePlan, in steps that can be looked at one by one.

// Dimensions bound, constants folded, batch norms folded into convolutions: what kernels are cut from.
Result<Graph> prepareGraph(const Graph& model, const DimBindings& dims = {});

// A workload of a model and the nodes that it stands for.
struct ModelWorkload {
    Workload workload;
    std::vector<std::string> nodes; // names, one entry per occurrence
    std::size_t count() const { return nodes.size(); }
};
// The distinct workloads of a prepared graph, those of most FLOPs first. Layout conversions are not among them. An Error names
// the first node that is no kernel where none is one.
Result<std::vector<ModelWorkload>> modelWorkloads(const Graph& prepared, const Target& target, const std::optional<LayoutPlan>& layouts = {});

struct ChosenConfig {
    Config config;
    double expectedMs = 0;
    SpaceKind space = SpaceKind::tunesmith; // of the config
};

struct BuildOptions {
    Target target;
    SpaceKind space = SpaceKind::tunesmith; // whose defaults untuned kernels have, and whose keys steps are named by
    // The schedule of a workload of that space; none: the template's default.
    std::function<std::optional<ChosenConfig>(const Workload&)> chooseConfig;
    std::optional<LayoutPlan> layouts; // none: chooseLayouts(); an Error where they do not fit the graph
    // Called before each kernel is compiled, from the calling thread.
    std::function<void(std::size_t done, std::size_t total)> progress;
    int compileThreads = 2;
    StopToken stop;
};

// Groups, lays out, compiles each distinct kernel once, plans memory. What is no kernel is a step of the reference kernels.
Result<ModulePlan> buildModule(const Graph& prepared, const BuildOptions& options);

} // namespace tunesmith
