// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/optimize.h"

#include <algorithm>
#include <cmath>

#include "core/cost/rank_metrics.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/raise_opset.h"
#include "core/ops/settle_choices.h"
#include "core/optimize/retrace.h"
#include "core/rewrite/model_draft.h"
#include "core/schedule/stage_memory.h"
#include "core/workbench/graph_check.h"
#include "core/workbench/model_output.h"
#include "core/workbench/optimize_costs.h"
#include "core/workbench/optimize_rules.h"
#include "core/workbench/optimize_told.h"
#include "core/workbench/plan_model.h"
#include "core/workbench/read_inputs.h"
#include "core/workbench/rewrite_repair.h"

namespace tunesmith {
namespace {

using optimize::StatePtr;

Result<std::vector<rewrite::SubstitutionPtr>> rulesOf(const OptimizeRequest& request, const optimize::DraftCost& cost, const Work& work) {
    TS_ASSIGN(std::vector<rewrite::SubstitutionPtr> rules, substitutionsOf(request, work));
    if (!cost.countsWork())
        std::erase_if(rules, [](const rewrite::SubstitutionPtr& rule) { return rule->card().savesWork; });
    return rules;
}

Result<Graph> foldedGraph(const rewrite::ModelDraft& model, const rewrite::Draft& draft, const std::string& rule) {
    TS_ASSIGN(const Graph graph, rewrite::graphOf(model, draft, rule));
    return foldConstants(graph, FoldOptions::rewriting());
}

constexpr const char *kPrepare = "prepare", *kSearch = "search", *kCheck = "check"; // stages
constexpr std::int64_t kSearchMb = 600; // drafts that are remembered (GraphSearchOptions::memory), and what is known of others
constexpr std::size_t kFinalists = 4;
constexpr double kRaceSeconds = 2, kBriefRaceSeconds = 1;

// The cheapest drafts, and those on the way to the best: what the kernels promise one by one, a module need not keep.
std::vector<StatePtr> finalistsOf(const optimize::GraphSearchResult& found) {
    std::vector<StatePtr> finalists = found.leaders;
    std::vector<StatePtr> trail = optimize::trailOf(found.best);
    for (auto state = trail.rbegin(); state != trail.rend(); ++state)
        finalists.push_back(*state);
    std::vector<StatePtr> distinct;
    for (const StatePtr& state : finalists)
        if (std::isfinite(state->cost) && std::ranges::none_of(distinct, [&](const StatePtr& other) { return other->draft.hash() == state->draft.hash(); }))
            distinct.push_back(state);
    if (distinct.size() > kFinalists) // the best, and others from far and near
        for (std::size_t i = 1; i < kFinalists; ++i)
            distinct[i] = distinct[i * (distinct.size() - 1) / (kFinalists - 1)];
    distinct.resize(std::min(distinct.size(), kFinalists));
    return distinct;
}

// One optimization from the request to the file.
class Optimization {
public:
    Optimization(const Model& model, const OptimizeRequest& request, const Work& work, const OptimizeObserver& observer)
        : model_(model), request_(request), work_(work), observer_(observer), turns_(request.gate, work.stop), weightsMb_(constantMb(model.graph())) {}

    Result<OptimizedModel> run() {
        TS_TRY(begin());
        TS_TRY(search());
        changed_ = isChanged();
        TS_TRY(verify());
        TS_TRY(choose());
        return finish();
    }

    Result<OptimizedModel> without(std::size_t step, const OptimizedModel& made) {
        TS_TRY(begin());
        TS_TRY(walkWithout(step, made));
        return finish();
    }

private:
    Status begin() {
        TS_TRY(checkRequest());
        turns_.plan({{kPrepare, preparing()}, {kSearch, searching()}, {kCheck, checking()}});
        TS_TRY(turns_.enter(kPrepare, preparing()));
        TS_ASSIGN(judge_, makeJudge(request_, turns_, work_));
        TS_ASSIGN(ruleList_, rulesOf(request_, *judge_.cost, work_));
        rules_.emplace(ruleList_);
        return prepare();
    }

    Result<OptimizedModel> finish() {
        TS_TRY(verify()); // of several finalists another one may have won
        TS_TRY(tell());
        if (!request_.file.empty())
            TS_TRY(exportCheckedOnnx(told_.after, request_.file));
        return std::move(told_);
    }

    StageNeed preparing() const { return {1, 2 * weightsMb_}; }
    StageNeed searching() const { return {1, 2 * weightsMb_ + kSearchMb}; }
    StageNeed checking() const { return {1, 3 * weightsMb_}; }

    // What can be known before anything is searched.
    Status checkRequest() const {
        if (!model_.info().openDimensions.empty())
            return inputError(model_.name() + ": dimension '" + model_.info().openDimensions[0] + "' is open; give it a value with --dims, for costs are those of shapes");
        TS_TRY(requireComputable(model_)); // or nothing could be compared with the original
        TS_TRY(checkInputNames(wantedInputs(model_.graph()), {request_.inputs, request_.seed}));
        return checkModelOutput(request_.file, model_.source());
    }

    Status prepare() {
        work_.report("folding constants");
        told_.unit = judge_.cost->unit();
        FoldOptions folding;
        folding.stop = work_.stop;
        TS_ASSIGN(told_.before, settleChoices(model_.graph(), folding));
        TS_ASSIGN(const Graph raised, raisedOpset(told_.before));
        TS_ASSIGN(draft_, rewrite::draftOf(raised));
        return {};
    }

    Status search() {
        optimize::GraphSearchOptions options{request_.search, request_.alpha, request_.budget, request_.seconds, request_.seed};
        options.leaders = 2;
        options.clock = [this] { return turns_.seconds(); };
        TS_TRY(turns_.enter(kSearch, searching(), StageTurns::By::thread));
        TS_ASSIGN(found_, optimize::searchGraph(draft_->draft, *rules_, *judge_.cost, options, work_.stop | request_.enough, [this](const auto& at) { watch(at); }));
        turns_.leave();
        if (!std::isfinite(found_.start->step.costBefore))
            return cancelledError(); // before it was known what the model itself costs
        interrupted_ = request_.enough.stopRequested();
        if (interrupted_ && work_.stop.stopRequested())
            work_.stop = request_.atOnce; // the same wish, and it is fulfilled
        return {};
    }

    // The way of another run without one of its steps.
    Status walkWithout(std::size_t undone, const OptimizedModel& made) {
        work_.report("walking the other rewrites again");
        TS_TRY(turns_.enter(kSearch, searching(), StageTurns::By::thread));
        std::vector<optimize::PlacedRule> way;
        for (std::size_t i = 0; i < made.steps.size(); ++i) {
            if (made.steps[i].place.empty() || i + 1 == undone)
                continue;
            TS_ASSIGN(const std::uint32_t rule, ruleNamed(made.steps[i].rule));
            way.push_back({rule, made.steps[i].place});
        }
        TS_ASSIGN(optimize::Retraced again, optimize::retrace(draft_->draft, *rules_, *judge_.cost, way, work_.stop));
        turns_.leave();
        found_ = std::move(again.found);
        changed_ = found_.best->draft.hash() != draft_->draft.hash();
        told_.notRaced = "a rewrite was taken back by hand";
        told_.undone = made.undone;
        told_.undone.push_back(made.steps[undone - 1].rule);
        told_.lost = made.lost;
        for (const std::size_t step : again.lost)
            told_.lost.push_back((*rules_)[way[step].rule].card().name);
        return {};
    }

    Result<std::uint32_t> ruleNamed(const std::string& name) const {
        for (std::uint32_t rule = 0; rule < rules_->size(); ++rule)
            if ((*rules_)[rule].card().name == name)
                return rule;
        return inputError("rule " + name + " is not in the store any more; run the search again");
    }

    void watch(const optimize::GraphSearchProgress& at) {
        const double done = static_cast<double>(at.expanded) / static_cast<double>(std::max<std::int64_t>(request_.budget, 1));
        work_.report(kSearchPhase, std::max(done, request_.seconds > 0 ? at.seconds / request_.seconds : 0), "best " + std::to_string(at.best) + " " + told_.unit);
        if (observer_)
            observer_({at.expanded, at.generated, at.best, at.seconds});
        static_cast<void>(turns_.giveWay()); // the search notices a stop by itself
    }

    bool isChanged() const {
        const bool cheaper = found_.best->cost < found_.start->step.costBefore || found_.best->draft.order().size() < draft_->draft.order().size();
        return std::isfinite(found_.best->cost) && cheaper;
    }

    Result<bool> agrees(const rewrite::Draft& draft) {
        TS_ASSIGN(const Graph graph, foldedGraph(*draft_, draft, {}));
        TS_ASSIGN(const GraphCheck check, compareGraphs(told_.before, graph, {request_.inputs, request_.seed}, work_));
        told_.maxRelativeError = check.difference;
        told_.checked = check.text;
        return check.same;
    }

    // What computes something else is not taken: the rules that are to blame are left out.
    Status verify() {
        if (!entered_) {
            TS_TRY(turns_.enter(kCheck, checking(), StageTurns::By::thread));
            entered_ = true;
        }
        if (!changed_ || verified_ == found_.best->draft.hash())
            return {};
        TS_ASSIGN(const bool same, agrees(found_.best->draft));
        if (!same)
            TS_TRY(repair());
        verified_ = found_.best->draft.hash();
        return {};
    }

    Status repair() {
        work_.report("looking for the rewrite that computes something else");
        auto repaired = repairSearch(draft_->draft, ruleList_, *judge_.cost, found_, [this](const rewrite::Draft& draft) { return agrees(draft); }, work_.stop);
        if (!repaired.ok() && repaired.error().kind == ErrorKind::internal) { // nobody in particular is to blame
            told_.leftOut = {"all that was found, for the graph computes something else: " + told_.checked};
            keepOriginal();
            return {};
        }
        TS_TRY(repaired);
        found_.best = repaired->found.best;
        found_.leaders = repaired->found.leaders;
        rules_ = std::move(repaired->rules);
        told_.leftOut = std::move(repaired->leftOut);
        found_.refusals = {}; // their rules have other numbers now
        changed_ = isChanged();
        return {};
    }

    // The graph that is taken: what was found, or what the modules say of it.
    Status choose() {
        const bool judges = told_.unit == "ms" && !request_.noMeasure && (judge_.measuresKernels || request_.measure || !request_.file.empty());
        const bool measures = request_.measure || (judges && (judge_.measuresKernels || changed_));
        if (changed_ && !judges)
            told_.notRaced = told_.unit != "ms" ? "the cost counts launches" : request_.noMeasure ? "it was asked not to measure" : "nothing is written";
        if (!measures)
            return {};
        const Status measured = measure(judges);
        if (measured.ok() || !measured.error().isCancelled() || !interrupted_)
            return measured;
        forgetRace();
        return {};
    }

    // Ended a second time: what was not raced to the end is not taken.
    void forgetRace() {
        work_.stop = {};
        told_.timed.clear();
        told_.raced = false;
        told_.notRaced = "the race was stopped";
        if (changed_)
            keepOriginal();
    }

    Status measure(bool judges) {
        const GraphRace::LayoutPlanner planner = interrupted_ ? GraphRace::LayoutPlanner() : judge_.planner;
        const auto race = GraphRace::make(model_, {request_.store, threadsOf(request_), request_.builders, false, work_}, {request_.inputs, request_.seed}, turns_, planner);
        if (!race.ok() && race.error().kind == ErrorKind::unsupported) {
            told_.notRaced = race.error().message; // there is no module of it
            return {};
        }
        if (!race.ok())
            return race.error();
        if (judges && changed_) {
            TS_TRY(holdFinal(*race));
            told_.raced = true;
        }
        return interrupted_ && told_.raced ? Status() : measureChosen(*race, judges);
    }

    // The finalists as modules, in turns with the original. The fastest wins if it is certainly faster; else the graph stays what it was.
    Status holdFinal(const GraphRace& race) {
        const StatePtr best = found_.best;
        double gain = 1;
        for (const StatePtr& state : interrupted_ ? std::vector{best} : finalistsOf(found_)) {
            TS_ASSIGN(const Graph graph, foldedGraph(*draft_, state->draft, {}));
            TS_ASSIGN(const GraphRace::Times times, race.time(graph, interrupted_ ? kBriefRaceSeconds : kRaceSeconds));
            if (told_.timed.empty())
                told_.timed.push_back({found_.start->step.costBefore, times.beforeMs});
            told_.timed.push_back({state->cost, times.afterMs / times.beforeMs * told_.timed[0].measuredMs}); // machines change their speed
            if (times.verdict != VerdictKind::faster || times.afterMs / times.beforeMs >= gain)
                continue;
            found_.best = state;
            gain = times.afterMs / times.beforeMs;
        }
        told_.measuredBeforeMs = told_.timed[0].measuredMs;
        told_.measuredAfterMs = gain * told_.measuredBeforeMs;
        if (gain == 1)
            keepOriginal();
        return {};
    }

    // Once more and for longer: the fastest of several was lucky, perhaps.
    Status measureChosen(const GraphRace& race, bool judges) {
        TS_ASSIGN(const Graph chosen, changed_ ? foldedGraph(*draft_, found_.best->draft, {}) : Result<Graph>(told_.before));
        TS_ASSIGN(const GraphRace::Times times, race.time(chosen, 2 * kRaceSeconds));
        told_.measuredBeforeMs = times.beforeMs;
        told_.measuredAfterMs = times.afterMs;
        told_.layouts = times.layouts;
        if (judges && changed_ && times.afterMs >= times.beforeMs) {
            keepOriginal();
            told_.measuredAfterMs = times.beforeMs;
            told_.layouts = 0;
        }
        return {};
    }

    void keepOriginal() {
        told_.keptOriginal = true;
        changed_ = false;
    }

    // The model as it came, not even simplified, unless something was chosen.
    Status tell() {
        const double cost = found_.start->step.costBefore;
        if (!changed_) { // what was compared is not what is taken
            told_.maxRelativeError.reset();
            told_.checked.clear();
        }
        if (!changed_)
            found_.best = std::make_shared<optimize::State>(optimize::State{draft_->draft, cost, nullptr, {0, {}, cost, cost}});
        TS_TRY(tellSearch(*draft_, *rules_, found_, told_));
        told_.after = told_.before; // not even in another order
        if (changed_) {
            TS_ASSIGN(told_.after, foldedGraph(*draft_, found_.best->draft, request_.search));
        }
        tellOperators(told_);
        return {};
    }

    const Model& model_;
    const OptimizeRequest& request_;
    Work work_;
    const OptimizeObserver& observer_;
    StageTurns turns_;
    const std::int64_t weightsMb_;
    GraphJudge judge_;
    std::vector<rewrite::SubstitutionPtr> ruleList_;
    std::optional<optimize::RuleSet> rules_; // of them
    std::optional<rewrite::ModelDraft> draft_;
    optimize::GraphSearchResult found_;
    OptimizedModel told_;
    bool interrupted_ = false; // by request.enough
    bool changed_ = false;     // another graph than the original is taken
    bool entered_ = false;     // the stage of checks
    std::uint64_t verified_ = 0; // hash of the draft that agrees with the original
};

} // namespace

bool measuresModules(const OptimizeRequest& request) {
    if (request.cost == "kernels" || (request.noMeasure && !request.measure))
        return request.measure;
    return request.cost != "roofline" || request.measure || !request.file.empty();
}

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

Result<OptimizedModel> optimizeModel(const Model& model, const OptimizeRequest& request, const Work& work, const OptimizeObserver& observer) {
    return Optimization(model, request, work, observer).run();
}

Result<OptimizedModel> undoRewrite(const Model& model, const OptimizeRequest& request, const OptimizedModel& made, std::size_t step, const Work& work) {
    if (step == 0 || step > made.steps.size())
        return inputError("there is no rewrite " + std::to_string(step) + "; the run has " + std::to_string(made.steps.size()));
    if (made.steps[step - 1].place.empty())
        return inputError("step " + std::to_string(step) + " only simplified the graph, which is done wherever it can be; leave its rules out of the next run instead");
    OptimizeRequest untimed = request;
    untimed.file.clear();
    return Optimization(model, untimed, work, {}).without(step, made);
}

Result<double> exportStep(const OptimizedModel& made, std::size_t steps, const std::filesystem::path& file, const Work& work) {
    if (steps > made.steps.size())
        return inputError("there is no rewrite " + std::to_string(steps) + "; the run has " + std::to_string(made.steps.size()));
    const Graph& step = steps == 0 ? made.before : made.steps[steps - 1].graph;
    TS_ASSIGN(const Graph graph, foldConstants(step, FoldOptions::rewriting()));
    TS_ASSIGN(const GraphCheck check, compareGraphs(made.before, graph, {}, work));
    if (!check.same)
        return internalError("the rewritten graph computes something else: " + check.text + "; nothing was written");
    TS_TRY(exportCheckedOnnx(graph, file));
    return check.difference;
}

} // namespace tunesmith
