// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/stop_token.h"
#include "core/substitution/axioms.h"
#include "core/substitution/egraph.h"
#include "core/substitution/proof_problem.h"
#include "core/substitution/rule_extents.h"

namespace tunesmith::substitution {

// An operator on classes of equal terms.
struct AxiomNode {
    TermOp op = TermOp::input;
    std::uint8_t axis = 0, part = 0, count = 0;
    std::uint64_t cut = 0;          // of a split; of a variable its number
    Extents<std::uint64_t> own{};   // of a constant
    std::array<std::uint32_t, 2> inputs{};

    std::span<std::uint32_t> operands() { return {inputs.data(), count}; }
    void settle() {} // that operands may change places is an axiom
    std::size_t hash() const;
    bool operator==(const AxiomNode&) const = default;
};

struct AxiomClass {
    Extents<std::uint64_t> extents{};
    std::size_t call = 0; // the first term of the class, in the problem
};

// The terms of a rule, with extents that stand for any (rule_extents.h), and what the axioms say of them.
//
// All terms are ones whose operands fit wherever those of both sides of the rule do: an axiom is used where one of its legal terms is found
// and its conditions are true of all extents, and then the operands of its other terms fit, too. So nothing but the axioms need be believed, and
// that the rule's sides have fitting operands, results of equal shapes, and the rule's conditions. What a search misses is no harm.
class AxiomGraph {
public:
    AxiomGraph(const Rule& rule, const GenericExtents& extents);

    bool goalsAreMet() const;
    // Merges what one round of axioms says, until there are so many nodes. Whether anything was new.
    bool apply(std::size_t mostNodes, const StopToken& stop);
    ProofProblem problem() const;

    std::size_t nodes() const { return graph_.nodes(); }
    std::size_t refused() const { return refused_; } // uses of axioms in which operands do not fit; there are none if the axioms are right

private:
    friend class AxiomMatcher;
    using ClassId = std::uint32_t;
    // What an axiom's terms are found to be, by node.
    struct Binding {
        std::vector<std::optional<ClassId>> classes;
        std::vector<std::uint64_t> cuts; // of splits
    };

    ClassId add(const AxiomNode& node, const Extents<std::uint64_t>& extents);
    std::optional<ClassId> addOperator(const AxiomNode& node);
    std::optional<ClassId> make(const Rule& rule, TermId id, Binding& binding);
    std::optional<ClassId> makeConstant(const Rule& rule, TermId id, ClassId other, Binding& binding);
    bool use(const Axiom& axiom, Binding& binding);
    bool addOtherParts();

    // Terms as they are written down.
    std::size_t call(const AxiomNode& node, std::vector<std::size_t> operands);
    std::size_t written(const Rule& rule, TermId id, const Binding& binding);
    std::string functionOf(const AxiomNode& node);
    std::string extentText(std::uint64_t extent);

    EGraph<AxiomNode, AxiomClass> graph_;
    ProofProblem problem_;
    std::map<std::pair<std::string, std::vector<std::size_t>>, std::size_t> numbers_; // of calls
    std::map<std::uint64_t, std::size_t> names_;                                       // of extents
    std::vector<std::pair<ClassId, ClassId>> goals_;
    std::size_t refused_ = 0;
};

} // namespace tunesmith::substitution
