// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <unordered_map>

#include "core/base/stop_token.h"
#include "core/optimize/draft_cost.h"

namespace tunesmith::optimize {

// An e-graph of the drafts that a search has made: classes of equal values and all the nodes that were found to make them (Willsey et al., egg,
// POPL 2021). A draft's labels say which values are equal, so each rewrite adds a few nodes, and the drafts that could be put together from
// the nodes are many more than were made.
class EqualNodes {
public:
    using ClassNo = std::uint32_t;
    struct Maker {
        rewrite::OperatorNo op = 0;
        std::vector<ClassNo> operands, outputs; // classes when it was added; see root()
        double cost = 0;
    };

    // The nodes that a draft has from this number on, with what they cost roughly. How many of them are new.
    std::size_t add(const Draft& draft, std::size_t firstNode, DraftCost& cost);

    const std::vector<Maker>& makers() const { return makers_; }
    std::size_t classes() const { return parents_.size(); }
    ClassNo root(ClassNo number) const;
    std::vector<ClassNo> resultsOf(const Draft& draft) const; // the classes of its outputs
    // Nodes of a draft by number of their maker here; none for what depends on constants only.
    std::vector<std::size_t> makersOf(const Draft& draft) const;

private:
    struct Key {
        rewrite::OperatorNo op;
        std::vector<ClassNo> classes; // operands, then outputs
        auto operator<=>(const Key&) const = default;
    };
    std::optional<ClassNo> known(std::uint64_t label) const;
    ClassNo classOf(std::uint64_t label);
    void merge(ClassNo a, ClassNo b);
    std::optional<Key> keyOf(const Draft& draft, NodeNo node) const;

    std::vector<Maker> makers_;
    std::map<Key, std::size_t> numbers_;
    std::unordered_map<std::uint64_t, ClassNo> classOfLabel_;
    mutable std::vector<ClassNo> parents_;
};

// The makers, one for each class that is needed, that make the results at the least sum of costs without a cycle.
struct Extraction {
    std::vector<std::size_t> makers;
    double cost = 0;
    bool exact = false; // nothing is cheaper
};
// Each class takes what is cheapest as a tree: quick, and dearer than need be where results are shared.
Extraction extractGreedily(const EqualNodes& nodes, const std::vector<EqualNodes::ClassNo>& results);
// By integer linear programming (GLPK), cycles forbidden one by one as they turn up. The greedy one where time or the limit of work
// comes first.
Extraction extractExactly(const EqualNodes& nodes, const std::vector<EqualNodes::ClassNo>& results, double seconds, const StopToken& stop);

} // namespace tunesmith::optimize
