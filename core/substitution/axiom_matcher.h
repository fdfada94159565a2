// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/substitution/axiom_graph.h"

namespace tunesmith::substitution {

// Where an axiom may be used from: terms that, when all are found, make the others fit.
struct AxiomUse {
    const Axiom* axiom = nullptr;
    std::vector<TermId> from;
    std::vector<std::vector<CutOrigin>> cutOrigins; // by node
};
const std::vector<AxiomUse>& axiomUses();

// Finds all places where an axiom may be used: its terms are there, its splits cut where they should, and its conditions are true.
class AxiomMatcher {
public:
    AxiomMatcher(const AxiomGraph& graph, const AxiomUse& use);
    std::vector<AxiomGraph::Binding> run();

private:
    using ClassId = AxiomGraph::ClassId;
    using Goals = std::vector<std::pair<TermId, ClassId>>;

    void nextRoot(std::size_t number);
    void solve(Goals& goals, std::size_t number);
    void solveNode(TermId id, ClassId at, Goals& goals, std::size_t number);
    void check();
    bool cutsFit() const;
    bool holds(const AxiomCondition& condition) const;
    std::uint64_t extent(TermId id, std::uint8_t axis) const;

    const AxiomGraph& graph_;
    const AxiomUse& use_;
    const Rule& rule_;
    AxiomGraph::Binding binding_;
    std::vector<AxiomGraph::Binding> found_;
};

} // namespace tunesmith::substitution
