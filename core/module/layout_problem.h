// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>

#include "core/module/layout_candidates.h"
#include "core/schedule/workload.h"

namespace tunesmith {

struct LayoutLimits {
    std::size_t layouts = 3;       // of a value
    std::size_t combinations = 48; // of a kernel's reads and output; where there are more, those that differ little from greedy
};

// A plan and what it comes to by the costs that it was chosen by.
struct LayoutChoice {
    LayoutPlan plan;
    double ms = 0;
    bool proven = false;                // nothing is cheaper
    std::vector<std::size_t> workloads; // what runs: kernels and conversions, each once, ascending
};

// In which layout each value of a graph is kept, as a problem of its own: the costs come from outside, in ms for each of workloads(). A
// kernel costs what it takes with the layouts in which it reads and writes; between a kernel and who reads its result in another layout
// stands a conversion. Concatenations whose pieces lie one after the other cost a copy for each piece that is not written in place.
// A conversion that several readers share is counted for each of them.
// (After the graph-level layouts of NeoCPU, ATC'19, and AutoTVM's graph tuner; solved as a PBQP, as Anderson and Gregg, CGO'18.)
class LayoutProblem {
public:
    static Result<LayoutProblem> make(const Graph& prepared, const Target& target, const LayoutLimits& limits = {});

    const Target& target() const { return target_; }
    const std::vector<Workload>& workloads() const { return workloads_; }
    bool isConversion(std::size_t workload) const { return families_[workload] == kConversion; }
    // Workloads that differ in layouts only are of one family. Not for conversions.
    std::size_t family(std::size_t workload) const { return families_[workload]; }

    const LayoutPlan& greedyPlan() const { return greedy_; }
    LayoutChoice greedy(const std::vector<double>& costs) const; // chooseLayouts()
    // The cheapest plan. Infinite costs forbid; none where they leave no plan. `handicap`: the share by which kernels that
    // differ from greedy are taken for slower than they are, so that nothing is changed for next to nothing.
    std::optional<LayoutChoice> solve(const std::vector<double>& costs, double handicap = 0) const;

private:
    static constexpr std::size_t kConversion = static_cast<std::size_t>(-1);

    struct Alternative {
        std::optional<std::size_t> kernel;         // none: pieces are copied into place, or nothing is
        std::map<ValueId, loops::Layout> reads;    // maps, without those that are copied
        loops::Layout made;                        // where the output is a map
        std::vector<std::size_t> conversions;      // that are needed whatever the others take
    };
    struct Node { // a kernel group
        NodeId first;
        ValueId output; // none where its layout cannot be chosen
        std::vector<Alternative> alternatives; // the greedy one first
    };
    struct Link { // of a maker and a reader of a map: the conversion between each two of their alternatives, if one is needed
        std::size_t maker = 0, reader = 0;
        std::vector<std::optional<std::size_t>> conversions; // row after row, of the maker
    };
    friend class LayoutProblemMaker;

    LayoutChoice choiceOf(const std::vector<std::size_t>& taken, const std::vector<double>& costs) const;

    Target target_;
    LayoutPlan greedy_;
    std::vector<Workload> workloads_;
    std::vector<std::size_t> families_;
    std::vector<Node> nodes_;
    std::vector<Link> links_;
};

} // namespace tunesmith
