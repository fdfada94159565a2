// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/optimize/planned_cost.h"
#include "core/stats/verdict.h"
#include "core/workbench/measure_module.h"
#include "core/workbench/stage_turns.h"

namespace tunesmith {

// Inside core/workbench only: rewritten forms of a model against the original, each as a module, in turns with it: what a rewrite gains in truth,
// caches and all.
class GraphRace {
public:
    // Layouts for a graph as the compiler has it.
    using LayoutPlanner = std::function<Result<optimize::PlannedLayouts>(const Graph& prepared)>;

    // The plan says for which threads, and with which store's records kernels are compiled. With a planner every graph, the original as well, is first
    // compiled a second time, in its layouts; where that is certainly faster it runs so, and the store remembers them for whoever compiles that graph.
    static Result<GraphRace> make(const Model& original, const PlanRequest& plan, const InputChoice& inputs, StageTurns& turns, LayoutPlanner planner = {});

    struct Times {
        double beforeMs = 0, afterMs = 0; // p5
        VerdictKind verdict = VerdictKind::cannotTell;
        std::size_t layouts = 0; // values of the rewritten graph that lie otherwise than by the greedy choice
    };
    Result<Times> time(const Graph& rewritten, double seconds) const;

private:
    GraphRace(PlanRequest plan, InputChoice inputs, StageTurns& turns, LayoutPlanner planner) : plan_(std::move(plan)), inputs_(std::move(inputs)), turns_(&turns), planner_(std::move(planner)) {}
    Result<Subject> compiled(const Model& model, const PlanRequest& plan) const;
    Status beginMeasuring(const Graph& graph) const;
    Result<Subject> runnerOf(const Model& model) const;
    Result<Subject> fasterOf(Subject usual, const Model& model, const Graph& prepared, const optimize::PlannedLayouts& planned) const;

    PlanRequest plan_;
    InputChoice inputs_;
    StageTurns* turns_; // outlives this
    LayoutPlanner planner_;
    Subject original_;
};

} // namespace tunesmith
