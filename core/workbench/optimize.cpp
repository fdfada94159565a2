// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/optimize.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/cost/rank_metrics.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/interpreter.h"
#include "core/ops/raise_opset.h"
#include "core/ops/settle_choices.h"
#include "core/optimize/graph_search.h"
#include "core/optimize/measured_cost.h"
#include "core/rewrite/model_draft.h"
#include "core/schedule/stage_memory.h"
#include "core/workbench/graph_race.h"
#include "core/workbench/kernel_times.h"
#include "core/workbench/machine.h"
#include "core/workbench/optimize_rules.h"

namespace tunesmith {
namespace {

using optimize::StatePtr;

// What drafts are judged by; kernels that were measured leave the last word to modules.
struct Judge {
    std::unique_ptr<optimize::DraftCost> cost;
    bool measuresKernels = false;
    GraphRace::LayoutPlanner planner = {};
};

struct Cost {
    NamedText info;
    std::function<Result<Judge>(const OptimizeRequest&, StageTurns&, const Work&)> make;
};

int threadsOf(const OptimizeRequest& request) { return request.threads > 0 ? request.threads : usableCores(); }

Result<MachineReport> machineOf(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    if (auto known = knownMachine(request.store))
        return std::move(*known);
    const StageTurns::Rest rest(turns);
    TS_TRY(turns.enter("profile", {usableCores()}));
    auto measured = machineReport(request.store, false, work);
    turns.leave();
    return measured;
}

Result<optimize::MachineRates> ratesOf(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(const MachineReport machine, machineOf(request, turns, work));
    optimize::MachineRates rates;
    rates.gflops = machine.peakGflops(threadsOf(request));
    for (const CeilingsAt& at : machine.threads)
        rates.gigabytesPerSecond = at.threads <= threadsOf(request) ? at.memoryGbs : rates.gigabytesPerSecond;
    return rates;
}

Result<Judge> rooflineCost(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(const optimize::MachineRates rates, ratesOf(request, turns, work));
    return Judge{std::make_unique<optimize::RooflineCost>(rates)};
}

template <typename Measured>
Result<std::unique_ptr<Measured>> measuring(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(const optimize::MachineRates rates, ratesOf(request, turns, work));
    TS_ASSIGN(const Target target, hostTarget(threadsOf(request)));
    TS_ASSIGN(std::shared_ptr<KernelTimes> times, KernelTimes::open({request.store, target, {}, request.seed, turns, work}));
    return std::make_unique<Measured>(target, rates, [times](const Workload& workload) { return times->ms(workload); });
}

Result<Judge> measuredCost(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(auto cost, measuring<optimize::MeasuredCost>(request, turns, work));
    return Judge{std::move(cost), true};
}

Result<Judge> plannedCost(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    TS_ASSIGN(auto cost, measuring<optimize::PlannedCost>(request, turns, work));
    Judge judge{nullptr, true, [cost = cost.get()](const Graph& prepared) { return cost->plan(prepared); }};
    judge.cost = std::move(cost);
    return judge;
}

const std::vector<Cost>& costs() {
    static const std::vector<Cost> all{
        {{"kernels", "kernel launches, 7 MiB of added weights for one, then bytes of weights that are read: the same on every machine"},
         [](const OptimizeRequest&, StageTurns&, const Work&) -> Result<Judge> { return Judge{std::make_unique<optimize::LaunchCost>()}; }},
        {{"roofline", "time by this machine's measured ceilings of arithmetic and memory"}, rooflineCost},
        {{"measured", "time of the kernels that are compiled: records of the store, untuned kernels measured where there are none"}, measuredCost},
        {{"planned", "as measured, in the layouts that are best for each graph: graphs and layouts are chosen at once"}, plannedCost},
    };
    return all;
}

Result<Judge> makeJudge(const OptimizeRequest& request, StageTurns& turns, const Work& work) {
    std::string known;
    for (const Cost& cost : costs()) {
        if (cost.info.name == request.cost)
            return cost.make(request, turns, work);
        known += (known.empty() ? "" : ", ") + cost.info.name;
    }
    return inputError("there is no cost '" + request.cost + "'; there are " + known);
}

Result<optimize::RuleSet> makeRules(const OptimizeRequest& request, const optimize::DraftCost& cost) {
    TS_ASSIGN(std::vector<rewrite::SubstitutionPtr> rules, substitutionsOf(request));
    if (!cost.countsWork())
        std::erase_if(rules, [](const rewrite::SubstitutionPtr& rule) { return rule->card().savesWork; });
    return optimize::RuleSet(std::move(rules));
}

std::map<std::string, std::int64_t> operatorsOf(const Graph& graph) {
    std::map<std::string, std::int64_t> counts;
    for (const auto& node : graph.nodes())
        ++counts[node->op];
    return counts;
}

// The search's result as the facade tells it.
class Teller {
public:
    Teller(const rewrite::ModelDraft& model, const optimize::RuleSet& rules, OptimizedModel& told) : model_(model), rules_(rules), told_(told) {}

    Status tell(const optimize::GraphSearchResult& found) {
        told_.costBefore = found.start->step.costBefore;
        told_.costAfter = found.best->cost;
        told_.expanded = found.expanded;
        told_.generated = found.generated;
        told_.seconds = found.seconds;
        told_.stopReason = found.stopReason;
        for (const optimize::GraphSearchProgress& point : found.curve)
            told_.curve.push_back({point.expanded, point.generated, point.best, point.seconds});
        for (const StatePtr& state : optimize::trailOf(found.best))
            TS_TRY(addStep(*state));
        tellRules();
        for (const auto& [what, count] : found.refusals.counts)
            told_.refusals.push_back({rules_[what.first].card().name, what.second, count});
        std::ranges::stable_sort(told_.refusals, std::greater(), &RuleRefusal::count);
        return {};
    }

private:
    // The start is a step only if simplifying changed something.
    Status addStep(const optimize::State& state) {
        if (!state.parent && state.step.simplifications.empty())
            return {};
        GraphStep step;
        step.rule = state.parent ? rules_[state.step.rule].card().name : "simplify";
        step.costBefore = state.step.costBefore;
        step.costAfter = state.step.costAfter;
        for (const std::uint32_t rule : state.step.simplifications)
            step.simplifications.push_back(rules_[rule].card().name);
        TS_ASSIGN(step.graph, rewrite::graphOf(model_, state.draft, step.rule));
        const double gain = step.costBefore - step.costAfter;
        if (state.parent)
            use(state.step.rule, gain);
        else
            for (const std::uint32_t rule : state.step.simplifications)
                use(rule, gain / static_cast<double>(state.step.simplifications.size()));
        told_.steps.push_back(std::move(step));
        return {};
    }

    void use(std::uint32_t rule, double gain) {
        ++uses_[rule].first;
        uses_[rule].second += gain;
    }

    void tellRules() {
        for (const auto& [rule, use] : uses_)
            told_.rules.push_back({rules_[rule].card().name, rules_[rule].card().equation, rules_[rule].card().conditions, rules_[rule].card().evidence, use.first, use.second});
        std::ranges::stable_sort(told_.rules, std::greater(), &RuleUse::gain);
    }

    const rewrite::ModelDraft& model_;
    const optimize::RuleSet& rules_;
    OptimizedModel& told_;
    std::map<std::uint32_t, std::pair<std::int64_t, double>> uses_;
};

// Both graphs on the same random inputs, with the reference kernels: the largest difference relative to the outputs' scale.
Result<double> checkAgainstOriginal(const Graph& before, const Graph& after, std::uint64_t seed, const Work& work) {
    work.report("checking against the original");
    TS_ASSIGN(const std::vector<Tensor> inputs, randomInputs(before, seed));
    RunOptions options;
    options.stop = work.stop;
    TS_ASSIGN(const std::vector<Tensor> expected, Interpreter(before).run(inputs, options));
    TS_ASSIGN(const std::vector<Tensor> got, Interpreter(after).run(inputs, options));
    double largest = 0;
    for (const Difference& difference : compareTensors(expected, got)) {
        if (!difference.equal)
            return internalError("the rewritten graph computes something else: " + difference.text + "; nothing was written");
        largest = std::max(largest, difference.scale > 0 ? difference.maxAbs / difference.scale : difference.maxAbs);
    }
    return largest;
}

Result<Graph> foldedGraph(const rewrite::ModelDraft& model, const rewrite::Draft& draft, const std::string& rule) {
    TS_ASSIGN(const Graph graph, rewrite::graphOf(model, draft, rule));
    return foldConstants(graph, FoldOptions::weights());
}

constexpr std::int64_t kSearchMb = 100; // drafts that are remembered
constexpr std::size_t kFinalists = 4;
constexpr double kRaceSeconds = 2;

// The cheapest drafts, and those on the way to the best: what the kernels promise one by one, a module need not keep.
std::vector<StatePtr> finalistsOf(const optimize::GraphSearchResult& found) {
    std::vector<StatePtr> finalists = found.leaders;
    std::vector<StatePtr> trail = optimize::trailOf(found.best);
    for (auto state = trail.rbegin(); state != trail.rend(); ++state)
        finalists.push_back(*state);
    std::vector<StatePtr> distinct;
    for (const StatePtr& state : finalists)
        if (std::ranges::none_of(distinct, [&](const StatePtr& other) { return other->draft.hash() == state->draft.hash(); }))
            distinct.push_back(state);
    if (distinct.size() > kFinalists) // the best, and others from far and near
        for (std::size_t i = 1; i < kFinalists; ++i)
            distinct[i] = distinct[i * (distinct.size() - 1) / (kFinalists - 1)];
    distinct.resize(std::min(distinct.size(), kFinalists));
    return distinct;
}

// The model as it came, not even simplified.
StatePtr originalOf(const rewrite::ModelDraft& model, const optimize::GraphSearchResult& found) {
    const double cost = found.start->step.costBefore;
    return std::make_shared<optimize::State>(optimize::State{model.draft, cost, nullptr, {0, {}, cost, cost}});
}

bool gainsSomething(const optimize::GraphSearchResult& found, const rewrite::ModelDraft& model) {
    return found.best->cost < found.start->step.costBefore || found.best->draft.order().size() < model.draft.order().size();
}

// The finalists as modules, in turns with the original. The fastest wins if it is certainly faster; else the graph stays what it was.
Status holdFinal(optimize::GraphSearchResult& found, OptimizedModel& told, const rewrite::ModelDraft& draft, const GraphRace& race) {
    StatePtr winner = originalOf(draft, found);
    double gain = 1;
    for (const StatePtr& state : finalistsOf(found)) {
        TS_ASSIGN(const Graph graph, foldedGraph(draft, state->draft, {}));
        TS_ASSIGN(const GraphRace::Times times, race.time(graph, kRaceSeconds));
        if (told.timed.empty())
            told.timed.push_back({found.start->step.costBefore, times.beforeMs});
        told.timed.push_back({state->cost, times.afterMs / times.beforeMs * told.timed[0].measuredMs}); // machines change their speed
        if (times.verdict != VerdictKind::faster || times.afterMs / times.beforeMs >= gain)
            continue;
        winner = state;
        gain = times.afterMs / times.beforeMs;
    }
    told.keptOriginal = gain == 1;
    found.best = winner;
    return {};
}

} // namespace

Prediction predictionOf(const std::vector<TimedGraph>& timed) {
    Prediction prediction;
    std::vector<float> predicted, measured;
    for (const TimedGraph& graph : timed) {
        prediction.error += std::abs(graph.predictedMs / graph.measuredMs - 1) / static_cast<double>(timed.size());
        predicted.push_back(static_cast<float>(graph.predictedMs));
        measured.push_back(static_cast<float>(graph.measuredMs));
    }
    prediction.kendallTau = kendallTau(measured, predicted);
    return prediction;
}

std::vector<NamedText> graphSearches() {
    std::vector<NamedText> all;
    for (const optimize::GraphStrategyInfo& info : optimize::graphStrategies())
        all.push_back({info.name, info.description});
    return all;
}

std::vector<NamedText> graphCosts() {
    std::vector<NamedText> all;
    std::ranges::transform(costs(), std::back_inserter(all), &Cost::info);
    return all;
}

Result<OptimizedModel> optimizeModel(const Model& model, const OptimizeRequest& request, const Work& asked, const OptimizeObserver& observer) {
    Work work = asked;
    if (!model.info().openDimensions.empty())
        return inputError(model.name() + ": dimension '" + model.info().openDimensions[0] + "' is open; give it a value with --dims, for costs are those of shapes");
    StageTurns turns(request.gate, work.stop);
    const std::int64_t weightsMb = constantMb(model.graph());
    TS_TRY(turns.enter("prepare", {1, 2 * weightsMb}));
    TS_ASSIGN(const Judge judge, makeJudge(request, turns, work));
    TS_ASSIGN(const optimize::RuleSet rules, makeRules(request, *judge.cost));
    OptimizedModel told;
    told.unit = judge.cost->unit();
    work.report("folding constants");
    FoldOptions folding;
    folding.stop = work.stop;
    TS_ASSIGN(told.before, settleChoices(model.graph(), folding));
    TS_ASSIGN(const Graph raised, raisedOpset(told.before));
    TS_ASSIGN(const rewrite::ModelDraft draft, rewrite::draftOf(raised));
    optimize::GraphSearchOptions options{request.search, request.alpha, request.budget, request.seconds, request.seed};
    options.leaders = 2;
    options.clock = [&turns] { return turns.seconds(); };
    const auto watch = [&](const optimize::GraphSearchProgress& at) {
        const double done = static_cast<double>(at.expanded) / static_cast<double>(std::max<std::int64_t>(request.budget, 1));
        work.report("searching", std::max(done, request.seconds > 0 ? at.seconds / request.seconds : 0), "best " + std::to_string(at.best) + " " + told.unit);
        if (observer)
            observer({at.expanded, at.generated, at.best, at.seconds});
        static_cast<void>(turns.giveWay()); // the search notices a stop by itself
    };
    TS_TRY(turns.enter("search", {1, 2 * weightsMb + kSearchMb}, StageTurns::By::thread));
    TS_ASSIGN(optimize::GraphSearchResult found, optimize::searchGraph(draft.draft, rules, *judge.cost, options, work.stop | request.enough, watch));
    turns.leave();
    if (request.enough.stopRequested())
        work.stop = {}; // the same wish, perhaps, and it is fulfilled
    const bool measured = judge.measuresKernels && !request.enough.stopRequested(), gains = gainsSomething(found, draft);
    std::optional<GraphRace> race;
    if (measured || request.measure) {
        TS_ASSIGN(race, GraphRace::make(model, {request.store, threadsOf(request), request.builders, false, work}, request.seed, turns, judge.planner));
    }
    if (!gains)
        found.best = originalOf(draft, found);
    else if (measured)
        TS_TRY(holdFinal(found, told, draft, *race));
    TS_TRY(Teller(draft, rules, told).tell(found));
    told.after = told.before; // not even in another order
    if (gains && !told.keptOriginal) {
        TS_ASSIGN(told.after, foldedGraph(draft, found.best->draft, request.search));
    }
    told.nodesBefore = static_cast<std::int64_t>(told.before.nodeCount());
    told.nodesAfter = static_cast<std::int64_t>(told.after.nodeCount());
    told.opsBefore = operatorsOf(told.before);
    told.opsAfter = operatorsOf(told.after);
    TS_TRY(turns.enter("check", {1, 3 * weightsMb}, StageTurns::By::thread));
    TS_ASSIGN(told.maxRelativeError, checkAgainstOriginal(told.before, told.after, request.seed, work));
    if (!request.file.empty())
        TS_TRY(exportOnnx(told.after, request.file));
    if (race) {
        TS_ASSIGN(const GraphRace::Times times, race->time(told.after, 2 * kRaceSeconds));
        told.measuredBeforeMs = times.beforeMs;
        told.measuredAfterMs = times.afterMs;
        told.layouts = times.layouts;
    }
    return told;
}

Result<double> exportStep(const OptimizedModel& made, std::size_t steps, const std::filesystem::path& file, const Work& work) {
    const Graph& step = steps == 0 ? made.before : made.steps[steps - 1].graph;
    TS_ASSIGN(const Graph graph, foldConstants(step, FoldOptions::weights()));
    TS_ASSIGN(const double error, checkAgainstOriginal(made.before, graph, 1, work));
    TS_TRY(exportOnnx(graph, file));
    return error;
}

} // namespace tunesmith
