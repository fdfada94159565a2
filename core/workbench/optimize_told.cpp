// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/optimize_told.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/optimize/retrace.h"
#include "core/rewrite/written/near_misses.h"

namespace tunesmith {
namespace {

std::map<std::string, std::int64_t> operatorsIn(const Graph& graph) {
    std::map<std::string, std::int64_t> counts;
    for (const auto& node : graph.nodes())
        ++counts[node->op];
    return counts;
}

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
            if (std::isfinite(point.best))
                told_.curve.push_back({point.expanded, point.generated, point.best, point.seconds});
        for (const optimize::StatePtr& state : optimize::trailOf(found.best))
            TS_TRY(addStep(*state));
        tellRules();
        for (const auto& [what, count] : found.refusals.counts)
            told_.refusals.push_back({rules_[what.first].card().name, what.second, count});
        tellNearMisses(found.best->draft);
        std::ranges::stable_sort(told_.refusals, std::greater(), &RuleRefusal::count);
        return {};
    }

private:
    // What was only simplified is a step if that changed something.
    Status addStep(const optimize::State& state) {
        if (state.step.place.empty() && state.step.simplifications.empty())
            return {};
        GraphStep step;
        const bool chosen = !state.step.place.empty();
        step.rule = chosen ? rules_[state.step.rule].card().name : "simplify";
        step.place = state.step.place;
        step.costBefore = state.step.costBefore;
        step.costAfter = state.step.costAfter;
        for (const std::uint32_t rule : state.step.simplifications)
            step.simplifications.push_back(rules_[rule].card().name);
        TS_ASSIGN(step.graph, rewrite::graphOf(model_, state.draft, step.rule));
        const double gain = step.costBefore - step.costAfter;
        if (chosen)
            use(state.step.rule, gain);
        for (const std::uint32_t rule : state.step.simplifications) // what a move made possible is that one's gain
            use(rule, chosen ? 0 : gain / static_cast<double>(state.step.simplifications.size()));
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

    void tellNearMisses(const rewrite::Draft& draft) {
        std::set<std::string> used;
        for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
            used.insert(rules_[rule].card().name);
        std::map<std::pair<std::string, std::string>, std::int64_t> counts;
        for (const rewrite::NearMiss& miss : rewrite::nearMisses(draft))
            if (used.contains(miss.rule))
                ++counts[{miss.rule, std::string(miss.reason)}];
        for (const auto& [what, count] : counts)
            told_.refusals.push_back({what.first, what.second, count});
    }

    const rewrite::ModelDraft& model_;
    const optimize::RuleSet& rules_;
    OptimizedModel& told_;
    std::map<std::uint32_t, std::pair<std::int64_t, double>> uses_;
};

} // namespace

Status tellSearch(const rewrite::ModelDraft& model, const optimize::RuleSet& rules, const optimize::GraphSearchResult& found, OptimizedModel& told) {
    return Teller(model, rules, told).tell(found);
}

void tellOperators(OptimizedModel& told) {
    told.nodesBefore = static_cast<std::int64_t>(told.before.nodeCount());
    told.nodesAfter = static_cast<std::int64_t>(told.after.nodeCount());
    told.opsBefore = operatorsIn(told.before);
    told.opsAfter = operatorsIn(told.after);
}

} // namespace tunesmith
