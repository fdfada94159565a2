// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>
#include <map>

#include "core/graph/graph.h"
#include "core/schedule/stage_gate.h"
#include "core/search/search_event.h"
#include "core/workbench/model.h"

namespace tunesmith {

// A model's graph by an equal one that costs less: substitutions chosen by a search, judged by a cost, checked against the original.

struct OptimizeRequest {
    std::string search = "backtracking"; // of graphSearches()
    std::string cost = "roofline";       // of graphCosts()
    double alpha = 1.05;                 // how much dearer than the best a graph may be that is looked at further
    std::int64_t budget = 1000;          // expansions
    double seconds = 0;                  // 0: no limit of time
    std::uint64_t seed = 1;
    std::map<std::string, std::filesystem::path> inputs; // .npy files by name, of check and race; the others are drawn
    int threads = 0;                     // of the target: 0: all cores
    std::string rules = "written";       // of graphRuleSets()
    std::string store;                   // empty: the default one
    std::vector<std::string> without;    // rules that are not to be used, by name; some may be of another set
    std::filesystem::path file;          // where the model is written to; empty: nowhere
    StopToken enough;                    // ends the search and keeps what it found: that is still raced, briefly, checked and written
    StopToken atOnce;                    // where one wish is both `enough` and the work's stop: the next, which ends the race, so that the original stays
    int builders = 0;                    // compilers at a time, of modules that are timed; 0: one per core
    std::shared_ptr<StageGate> gate;     // where others use the machine at the same time
    // Costs in ms only say which graphs are worth a look: the cheapest few are timed as modules, in turns with the original, which stays if none is certainly
    // faster. Costs of measured kernels always do so, the roofline where a file is written; `measure` does in any case, and times both where launches are counted.
    bool measure = false;
    bool noMeasure = false; // no modules are timed to choose; `measure` still times both
};

struct NamedText {
    std::string name, text;
};
std::vector<NamedText> graphSearches();
std::vector<NamedText> graphCosts();
std::vector<NamedText> graphRuleSets();

// What a search chooses from, and what it applies wherever it can.
struct GraphRule {
    std::string name, equation;
    std::vector<std::string> conditions; // under which it holds
    std::string evidence;                // why it is believed: a proof, trials
};
bool measuresModules(const OptimizeRequest& request); // whether it may do so, so that the machine is to be quiet

Result<std::vector<GraphRule>> graphRules(const OptimizeRequest& request); // of its set, also those that it does without

// What a search says while it runs.
struct OptimizeProgress {
    std::int64_t expanded = 0, generated = 0;
    double best = 0, seconds = 0;
};

// One rewrite on the way from the first graph to the best.
struct GraphStep {
    std::string rule;
    std::vector<std::string> simplifications; // rules that were applied because of it
    double costBefore = 0, costAfter = 0;
    Graph graph; // after it; lineage says what became of the nodes of the first
    std::vector<std::uint64_t> place = {}; // which tensors it took hold of, for undoRewrite(); empty: nothing but simplifications
};

struct RuleUse {
    std::string rule, equation;
    std::vector<std::string> conditions;
    std::string evidence;
    std::int64_t count = 0; // in the best trail
    double gain = 0;        // by how much those steps made the graph cheaper
};

// Where a rule was found and could not be applied, in all graphs that were expanded; and where it nearly fits the graph that is taken.
struct RuleRefusal {
    std::string rule, reason;
    std::int64_t count = 0; // places
};

// A graph that was timed as a module: what the cost promised, and what it took.
struct TimedGraph {
    double predictedMs = 0, measuredMs = 0;
};

// How far costs tell times of modules.
struct Prediction {
    double error = 0;      // mean of |predicted / measured - 1|
    double kendallTau = 0; // between both orders
};

struct OptimizedModel {
    Graph before, after; // constants folded
    std::string unit;    // of costs: "kernels", "ms"
    double costBefore = 0, costAfter = 0;
    std::int64_t nodesBefore = 0, nodesAfter = 0;
    std::map<std::string, std::int64_t> opsBefore, opsAfter;
    std::vector<GraphStep> steps;
    std::vector<RuleUse> rules;        // of the best trail, most gain first
    std::vector<RuleRefusal> refusals; // most places first
    std::vector<OptimizeProgress> curve;
    std::int64_t expanded = 0, generated = 0;
    double seconds = 0; // of the search
    StopReason stopReason = StopReason::exhausted;
    std::optional<double> maxRelativeError; // of outputs on random inputs, relative to their scale; none: nothing was compared
    std::string checked;         // what the check found, in one sentence; empty: nothing was changed
    std::vector<std::string> leftOut; // rules without which the way of the search was walked again, for they computed something else
    double measuredBeforeMs = 0, measuredAfterMs = 0; // 0: not measured
    bool raced = false;        // what is taken was compared with the original as a module
    std::string notRaced;      // why not, where the search found something
    bool keptOriginal = false; // what the search found was not certainly faster as a module, or was not raced to the end
    std::vector<TimedGraph> timed; // the original first, then those that raced it; empty: there was no race
    std::vector<std::string> undone; // rules of rewrites that a person took back,
    std::vector<std::string> lost;   // and of those that could not be made without them
    std::size_t layouts = 0;       // values that lie otherwise than by the greedy choice, where modules were measured; the store knows which
};
Prediction predictionOf(const std::vector<TimedGraph>& timed);

inline constexpr const char* kSearchPhase = "searching"; // of Progress: while the search goes on, which `enough` ends
using OptimizeObserver = std::function<void(const OptimizeProgress&)>; // from the thread that works
Result<OptimizedModel> optimizeModel(const Model& model, const OptimizeRequest& request, const Work& work = {}, const OptimizeObserver& observer = {});

// The same without one of its rewrites, from 1: all others are made again, but for those that needed it. For the run's own model and request; nothing is timed or
// written. An Error where the step only simplified, or where a rule has gone from the store.
Result<OptimizedModel> undoRewrite(const Model& model, const OptimizeRequest& request, const OptimizedModel& made, std::size_t step, const Work& work = {});

// The graph after so many of the steps as any runtime loads it, written once it was compared with the first; the largest relative error.
Result<double> exportStep(const OptimizedModel& made, std::size_t steps, const std::filesystem::path& file, const Work& work = {});

} // namespace tunesmith
