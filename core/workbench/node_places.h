// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <set>

#include "core/graph/graph.h"

namespace tunesmith {

// Inside core/workbench: which nodes of successive graphs are the same one. Each has a place, a number that is the same in all graphs. Inputs
// and outputs of the graph have places too, by name; nodes that only compute weights have none.
//
// A node of the first graph is known by lineage. One that a rule made is known by what it computes from what; where that changed because
// something before it was rewritten, by what reads it; else, if there is only one such node, by what it computes.
class NodePlaces {
public:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    struct Places {
        std::vector<std::size_t> inputs, nodes, outputs; // of the graph, in its order; kNone: computes weights
    };
    // New places are given in the order inputs, nodes, outputs.
    Places next(const Graph& graph);

private:
    // What a value of one graph is in all of them.
    struct Origin {
        enum class Kind : std::uint8_t { unknown, weight, made } kind = Kind::unknown;
        std::uint64_t token = 0;
    };
    struct Signature {
        std::uint64_t exact = 0, loose = 0; // loose: whatever it reads besides weights
    };

    void begin(const Graph& graph);
    void follow();
    void findWeights();
    void findByOperands();
    void findByReaders();
    void giveTheRest();
    void remember();
    Origin originOf(ValueId id);
    void setOrigins(std::size_t node);
    bool take(std::size_t node, std::size_t place); // false: another node has it
    bool readsWeightsOnly(const Node& node);
    bool knowsOperands(const Node& node);
    std::uint64_t looseOf(std::size_t node);
    std::uint64_t exactOf(std::size_t node);
    std::uint64_t readersOf(std::size_t node) const; // 0: some are not known
    std::size_t onlyOneLike(std::uint64_t loose) const;
    std::size_t terminal(ValueId id, bool input);

    int graphs_ = 0;
    std::size_t count_ = 0; // places
    std::vector<std::size_t> first_; // by node of the first graph
    std::map<std::pair<std::string, bool>, std::size_t> terminals_;
    std::map<std::uint64_t, std::set<std::size_t>> byExact_, byLoose_; // of nodes that rules made, in all graphs
    std::map<std::uint64_t, std::size_t> byReaders_;                   // of those in the graph before
    std::vector<bool> before_, here_;                                  // by place: whether the graph before, and this one, has it

    std::set<std::string> constants_; // names of those of the first graph

    const Graph* graph_ = nullptr; // at hand; what follows is about it
    std::vector<Origin> origins_;
    Places places_;
    std::vector<bool> weights_;
    std::vector<std::uint64_t> loose_; // 0: not computed yet
    std::map<ValueId, std::size_t> outputs_;
};

} // namespace tunesmith
