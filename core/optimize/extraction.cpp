// SPDX-License-Identifier: GPL-3.0-or-later
#include <glpk.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <set>

#include "core/optimize/equal_nodes.h"

namespace tunesmith::optimize {
namespace {

using ClassNo = EqualNodes::ClassNo;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The makers of each class; inputs, constants and weights have none and need none.
std::vector<std::vector<std::size_t>> makersByClass(const EqualNodes& nodes) {
    std::vector<std::vector<std::size_t>> makers(nodes.classes());
    for (std::size_t i = 0; i < nodes.makers().size(); ++i)
        for (const ClassNo output : nodes.makers()[i].outputs)
            makers[nodes.root(output)].push_back(i);
    return makers;
}

// What is reached from the results when each class takes its chosen maker.
Extraction collected(const EqualNodes& nodes, const std::vector<ClassNo>& results, const std::vector<std::optional<std::size_t>>& chosen) {
    Extraction extraction;
    std::set<std::size_t> seen;
    std::vector<ClassNo> open(results.begin(), results.end());
    while (!open.empty()) {
        const auto maker = chosen[nodes.root(open.back())];
        open.pop_back();
        if (!maker || !seen.insert(*maker).second)
            continue;
        extraction.cost += nodes.makers()[*maker].cost;
        open.insert(open.end(), nodes.makers()[*maker].operands.begin(), nodes.makers()[*maker].operands.end());
    }
    extraction.makers.assign(seen.begin(), seen.end());
    return extraction;
}

// A program over one binary variable for each maker: results are made, and so is what chosen makers read.
class Program {
public:
    Program(const EqualNodes& nodes, const std::vector<ClassNo>& results) : nodes_(nodes), results_(results), makers_(makersByClass(nodes)), problem_(glp_create_prob(), glp_delete_prob) {
        glp_term_out(GLP_OFF);
        glp_add_cols(problem_.get(), static_cast<int>(nodes.makers().size()));
        for (std::size_t i = 0; i < nodes.makers().size(); ++i) {
            glp_set_col_kind(problem_.get(), column(i), GLP_BV);
            glp_set_obj_coef(problem_.get(), column(i), nodes.makers()[i].cost + 1e-9);
        }
        for (const ClassNo result : results)
            addNeed(std::nullopt, nodes.root(result));
        for (std::size_t i = 0; i < nodes.makers().size(); ++i)
            for (const ClassNo operand : nodes.makers()[i].operands)
                addNeed(i, nodes.root(operand));
    }

    // Solved until the answer has no cycle; nothing where the limits or the search's own end come first.
    std::optional<Extraction> solve(double seconds, const StopToken& stop) {
        const std::chrono::duration<double> most(std::min(seconds, 1e6));
        limit_ = {std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(most), stop};
        while (relax() && branch()) {
            const std::vector<std::size_t> cycle = findCycle();
            if (cycle.empty())
                return answer();
            forbid(cycle);
        }
        return std::nullopt;
    }

private:
    static int column(std::size_t maker) { return static_cast<int>(maker) + 1; }
    bool taken(std::size_t maker) const { return glp_mip_col_val(problem_.get(), column(maker)) > 0.5; }

    void addRow(const std::map<int, double>& terms, double atLeast) {
        std::vector<int> indices{0};
        std::vector<double> factors{0};
        for (const auto& [index, factor] : terms) {
            indices.push_back(index);
            factors.push_back(factor);
        }
        const int row = glp_add_rows(problem_.get(), 1);
        glp_set_row_bnds(problem_.get(), row, GLP_LO, atLeast, 0);
        glp_set_mat_row(problem_.get(), row, static_cast<int>(terms.size()), indices.data(), factors.data());
    }

    // One of the class's makers, if the reader is taken.
    void addNeed(std::optional<std::size_t> reader, ClassNo needed) {
        if (makers_[needed].empty())
            return;
        std::map<int, double> terms;
        for (const std::size_t maker : makers_[needed])
            terms[column(maker)] = 1;
        if (reader)
            terms[column(*reader)] -= 1;
        addRow(terms, reader ? 0 : 1);
    }

    // Work is limited by counts, so that the same search finds the same; time and the wish to stop end it sooner.
    struct Limit {
        std::chrono::steady_clock::time_point end;
        StopToken stop;
        std::int64_t pivots = 200'000, branches = 5'000;
        bool reached() const { return stop.stopRequested() || pivots <= 0 || branches <= 0 || std::chrono::steady_clock::now() >= end; }
        double seconds() const { return std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count(); }
    };

    // Without the need for whole numbers. No cost is negative, so taking nothing is where the dual method can begin; it goes on from there
    // when rows are added.
    bool relax() {
        constexpr int kPivots = 200; // until the limits are looked at again
        glp_smcp options;
        glp_init_smcp(&options);
        options.meth = GLP_DUAL;
        options.msg_lev = GLP_MSG_OFF;
        options.it_lim = kPivots;
        int outcome = GLP_EITLIM;
        for (; outcome == GLP_EITLIM && !limit_.reached(); limit_.pivots -= kPivots)
            outcome = glp_simplex(problem_.get(), &options);
        return outcome == 0 && glp_get_status(problem_.get()) == GLP_OPT;
    }

    bool branch() {
        glp_iocp options;
        glp_init_iocp(&options);
        options.msg_lev = GLP_MSG_OFF;
        options.tm_lim = static_cast<int>(std::clamp(limit_.seconds() * 1000, 1.0, 1e9));
        options.cb_func = [](glp_tree* tree, void* limit) {
            auto& limits = *static_cast<Limit*>(limit);
            limits.branches -= glp_ios_reason(tree) == GLP_ISELECT ? 1 : 0;
            if (limits.reached())
                glp_ios_terminate(tree);
        };
        options.cb_info = &limit_;
        return glp_intopt(problem_.get(), &options) == 0 && glp_mip_status(problem_.get()) == GLP_OPT;
    }

    // Makers that are taken and make what `maker` reads.
    std::vector<std::size_t> below(std::size_t maker) const {
        std::vector<std::size_t> found;
        for (const ClassNo operand : nodes_.makers()[maker].operands)
            std::ranges::copy_if(makers_[nodes_.root(operand)], std::back_inserter(found), [this](std::size_t other) { return taken(other); });
        std::ranges::reverse(found); // the first comes last, and is taken first
        return found;
    }

    // Depth first over what is taken; the first cycle that shows.
    std::vector<std::size_t> findCycle() const {
        enum class Seen : std::uint8_t { no, onPath, done };
        std::vector<Seen> seen(nodes_.makers().size(), Seen::no);
        std::vector<std::size_t> path;
        std::vector<std::vector<std::size_t>> open; // of each on the path: what is to be visited below
        const auto enter = [&](std::size_t maker) {
            seen[maker] = Seen::onPath;
            path.push_back(maker);
            open.push_back(below(maker));
        };
        for (std::size_t i = 0; i < seen.size(); ++i) {
            if (taken(i) && seen[i] == Seen::no)
                enter(i);
            while (!path.empty()) {
                if (open.back().empty()) {
                    seen[path.back()] = Seen::done;
                    path.pop_back();
                    open.pop_back();
                    continue;
                }
                const std::size_t next = open.back().back();
                open.back().pop_back();
                if (seen[next] == Seen::onPath)
                    return {std::ranges::find(path, next), path.end()};
                if (seen[next] == Seen::no)
                    enter(next);
            }
        }
        return {};
    }

    void forbid(const std::vector<std::size_t>& cycle) {
        std::map<int, double> terms;
        for (const std::size_t maker : cycle)
            terms[column(maker)] = -1;
        addRow(terms, 1 - static_cast<double>(cycle.size()));
    }

    Extraction answer() const {
        Extraction extraction;
        extraction.exact = true;
        for (std::size_t i = 0; i < nodes_.makers().size(); ++i)
            if (taken(i)) {
                extraction.makers.push_back(i);
                extraction.cost += nodes_.makers()[i].cost;
            }
        return extraction;
    }

    const EqualNodes& nodes_;
    const std::vector<ClassNo>& results_;
    std::vector<std::vector<std::size_t>> makers_;
    std::unique_ptr<glp_prob, void (*)(glp_prob*)> problem_;
    Limit limit_;
};

} // namespace

Extraction extractGreedily(const EqualNodes& nodes, const std::vector<ClassNo>& results) {
    const auto makers = makersByClass(nodes);
    std::vector<double> costs(nodes.classes(), kInfinity);
    std::vector<std::optional<std::size_t>> chosen(nodes.classes());
    for (ClassNo number = 0; number < nodes.classes(); ++number)
        if (makers[number].empty())
            costs[number] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < nodes.makers().size(); ++i) {
            double sum = nodes.makers()[i].cost + 1e-9;
            for (const ClassNo operand : nodes.makers()[i].operands)
                sum += costs[nodes.root(operand)];
            for (const ClassNo output : nodes.makers()[i].outputs)
                if (sum < costs[nodes.root(output)]) {
                    costs[nodes.root(output)] = sum;
                    chosen[nodes.root(output)] = i;
                    changed = true;
                }
        }
    }
    return collected(nodes, results, chosen);
}

Extraction extractExactly(const EqualNodes& nodes, const std::vector<ClassNo>& results, double seconds, const StopToken& stop) {
    Extraction greedy = extractGreedily(nodes, results);
    const auto exact = Program(nodes, results).solve(seconds, stop);
    return exact && exact->cost <= greedy.cost + 1e-9 ? *exact : std::move(greedy);
}

} // namespace tunesmith::optimize
