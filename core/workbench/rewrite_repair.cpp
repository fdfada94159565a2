// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rewrite_repair.h"

#include <algorithm>
#include <set>

#include "core/optimize/retrace.h"

namespace tunesmith {
namespace {

using optimize::StatePtr;

// A rewrite by the name of its rule, which is another number in another set.
struct NamedStep {
    std::string rule;
    optimize::Place place;
};

class SearchRepair {
public:
    SearchRepair(const rewrite::Draft& start, const std::vector<rewrite::SubstitutionPtr>& rules, optimize::DraftCost& cost, const DraftAgrees& agrees, const StopToken& stop)
        : start_(start), rules_(rules), cost_(cost), agrees_(agrees), stop_(stop) {}

    Result<RepairedSearch> run(const optimize::GraphSearchResult& found) {
        RepairedSearch repaired{found, optimize::RuleSet(rules_), {}};
        for (const StatePtr& state : optimize::trailOf(found.best))
            if (!state->step.place.empty())
                way_.push_back({repaired.rules[state->step.rule].card().name, state->step.place});
        for (bool agrees = false; !agrees;) {
            TS_TRY(blame(repaired));
            TS_ASSIGN(repaired, walk(way_.size()));
            TS_ASSIGN(agrees, agrees_(repaired.found.best->draft));
        }
        repaired.leftOut.assign(without_.begin(), without_.end());
        return repaired;
    }

private:
    // The way up to a step, without some rules.
    Result<RepairedSearch> walk(std::size_t steps) const {
        std::vector<rewrite::SubstitutionPtr> kept;
        std::ranges::copy_if(rules_, std::back_inserter(kept), [&](const auto& rule) { return !without_.contains(rule->card().name); });
        optimize::RuleSet rules(kept);
        std::vector<optimize::PlacedRule> way;
        for (std::size_t i = 0; i < steps; ++i)
            for (std::uint32_t rule = 0; rule < kept.size(); ++rule)
                if (kept[rule]->card().name == way_[i].rule)
                    way.push_back({rule, way_[i].place});
        TS_ASSIGN(optimize::Retraced again, optimize::retrace(start_, rules, cost_, way, stop_));
        return RepairedSearch{std::move(again.found), std::move(rules), {}};
    }

    // Adds the rules of the first step that changed what is computed to those that are left out.
    Status blame(const RepairedSearch& wrong) {
        const std::vector<StatePtr> trail = optimize::trailOf(wrong.found.best);
        std::size_t first = 0, last = trail.size() - 1; // the first that differs is among these
        while (first < last) {
            const std::size_t middle = (first + last) / 2;
            TS_ASSIGN(const bool agrees, agrees_(trail[middle]->draft));
            agrees ? first = middle + 1 : last = middle;
        }
        const optimize::Step& step = trail[first]->step;
        std::set<std::string> suspects;
        for (const std::uint32_t rule : step.simplifications)
            suspects.insert(wrong.rules[rule].card().name);
        if (!step.place.empty())
            suspects.insert(wrong.rules[step.rule].card().name);
        if (suspects.empty())
            return internalError("the model computes something else before anything is rewritten");
        return convict(suspects, first);
    }

    // The one without which the same steps agree; all of them where it takes several.
    Status convict(const std::set<std::string>& suspects, std::size_t steps) {
        for (const std::string& suspect : suspects) {
            if (suspects.size() == 1)
                break;
            without_.insert(suspect);
            TS_ASSIGN(const RepairedSearch tried, walk(std::min(steps, way_.size())));
            TS_ASSIGN(const bool agrees, agrees_(tried.found.best->draft));
            if (agrees)
                return {};
            without_.erase(suspect);
        }
        without_.insert(suspects.begin(), suspects.end());
        return {};
    }

    const rewrite::Draft& start_;
    const std::vector<rewrite::SubstitutionPtr>& rules_;
    optimize::DraftCost& cost_;
    const DraftAgrees& agrees_;
    const StopToken& stop_;
    std::vector<NamedStep> way_;
    std::set<std::string> without_;
};

} // namespace

Result<RepairedSearch> repairSearch(const rewrite::Draft& start, const std::vector<rewrite::SubstitutionPtr>& rules, optimize::DraftCost& cost,
                                    const optimize::GraphSearchResult& found, const DraftAgrees& agrees, const StopToken& stop) {
    return SearchRepair(start, rules, cost, agrees, stop).run(found);
}

} // namespace tunesmith
