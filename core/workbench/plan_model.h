// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/module/build.h"
#include "core/module/export.h"
#include "core/module/plan.h"
#include "core/store/store.h"
#include "core/workbench/model.h"
#include "core/workbench/tasks.h"

namespace tunesmith {

// Inside core/workbench only: from a model and the store's records to a plan, and to a module that was
// exported somewhere.
struct PlanRequest {
    std::string store; // empty: the default store
    int threads = 0;   // 0: all cores
    int builders = 0;
    bool untuned = false;
    Work work = {};
    // Whose defaults and records; none: our own, and another space's records where they are faster than ours.
    std::optional<SpaceKind> space = {};
    std::optional<LayoutPlan> layouts = {}; // none: those that the store has for this very graph, else chooseLayouts()
};

struct PlannedModel {
    ModulePlan plan;
    Graph prepared; // what the kernels were cut from
    nlohmann::json graph;   // for module.json
    nlohmann::json records; // likewise: what each tuned kernel was chosen by
    std::size_t tuned = 0;   // kernels
    std::size_t foreign = 0; // records among them that another machine measured
    std::size_t layouts = 0; // values that lie otherwise than chooseLayouts() has them
};

Result<PlannedModel> planModel(const Model& model, const PlanRequest& request);
// The same for a graph that is not a whole model; module.json then describes little of it.
Result<PlannedModel> planGraph(const Graph& graph, const std::string& name, const PlanRequest& request);
// What there is to tune in a model whose dimensions are all bound, each workload in the space that was asked for if that knows it.
Result<std::vector<ModelWorkload>> workloadsOf(const Model& model, const Target& target, SpaceKind space);
// Likewise what the store's plan of layouts makes of it; nothing where it has none.
Result<std::vector<ModelWorkload>> plannedWorkloadsOf(const Model& model, const Target& target, const Store& store, SpaceKind space);
Result<std::vector<TuningTask>> describeTasks(const std::vector<ModelWorkload>& workloads, const Target& target);
// Of a request's text: none if it is empty.
Result<std::optional<SpaceKind>> askedSpace(const std::string& name);
Status requireComputable(const Model& model); // an Error names all operators that no engine can run

struct ExportChoice {
    nlohmann::json check = nullptr; // for module.json
    std::string prefix = {};        // as in ExportInfo
    bool probes = false;
};
Result<ExportSummary> exportPlanned(const PlannedModel& planned, const std::filesystem::path& folder, ExportChoice choice = {});

} // namespace tunesmith
