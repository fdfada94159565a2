// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/layout_problem.h"

#include <set>

#include "core/search/pbqp.h"

namespace tunesmith {

LayoutChoice LayoutProblem::greedy(const std::vector<double>& costs) const {
    LayoutChoice choice = choiceOf(std::vector<std::size_t>(nodes_.size(), 0), costs);
    choice.plan = greedy_;
    return choice;
}

std::optional<LayoutChoice> LayoutProblem::solve(const std::vector<double>& costs, double handicap) const {
    assert(costs.size() == workloads_.size());
    PbqpProblem problem;
    for (const Node& node : nodes_) {
        std::vector<double>& own = problem.nodes.emplace_back();
        for (const Alternative& alternative : node.alternatives) {
            const bool differs = alternative.kernel != node.alternatives[0].kernel;
            double cost = alternative.kernel ? costs[*alternative.kernel] * (differs ? 1 + handicap : 1) : 0;
            for (const std::size_t conversion : alternative.conversions)
                cost += costs[conversion];
            own.push_back(cost);
        }
    }
    for (const Link& link : links_) {
        std::vector<double>& between = problem.edges.emplace_back(PbqpEdge{link.maker, link.reader, {}}).costs;
        for (const auto& conversion : link.conversions)
            between.push_back(conversion ? costs[*conversion] : 0);
    }
    const PbqpSolution solution = solvePbqp(problem);
    if (!solution.feasible)
        return std::nullopt;
    LayoutChoice choice = choiceOf(solution.choice, costs);
    choice.proven = solution.proven;
    return choice;
}

LayoutChoice LayoutProblem::choiceOf(const std::vector<std::size_t>& taken, const std::vector<double>& costs) const {
    LayoutChoice choice;
    std::set<std::size_t> used;
    const auto use = [&](std::size_t workload) {
        used.insert(workload);
        choice.ms += costs[workload];
    };
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        const Alternative& alternative = nodes_[n].alternatives[taken[n]];
        if (alternative.kernel)
            use(*alternative.kernel);
        for (const std::size_t conversion : alternative.conversions)
            use(conversion);
        if (nodes_[n].output.valid() && !alternative.made.isRowMajor())
            choice.plan.values[nodes_[n].output] = alternative.made;
    }
    for (const Link& link : links_)
        if (const auto& conversion = link.conversions[taken[link.maker] * nodes_[link.reader].alternatives.size() + taken[link.reader]])
            use(*conversion);
    for (std::size_t n = 0; n < nodes_.size(); ++n) // once all values have their layouts
        for (const auto& [value, layout] : nodes_[n].alternatives[taken[n]].reads) {
            const auto kept = choice.plan.values.find(value);
            if (layout != (kept != choice.plan.values.end() ? kept->second : loops::Layout::rowMajor(4)))
                choice.plan.reads[{nodes_[n].first, value}] = layout;
        }
    choice.workloads.assign(used.begin(), used.end());
    return choice;
}

} // namespace tunesmith
