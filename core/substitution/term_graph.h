// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/substitution/egraph.h"
#include "core/substitution/prime_value.h"
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// An operator on classes of equal terms. Where a split cuts is part of it: terms that are equal were put together in different places.
struct TermNode {
    TermOp op = TermOp::input;
    std::uint8_t axis = 0, part = 0, count = 0; // of an input: its number in `cut`
    std::uint16_t cut = 0;
    std::array<std::uint32_t, 2> inputs{};

    std::span<std::uint32_t> operands() { return {inputs.data(), count}; }
    void settle();
    std::size_t hash() const;
    bool operator==(const TermNode&) const = default;
};

// What a class of equal terms is: extents without cuts, and the value for one choice of the inputs.
struct TermClass {
    TermShape shape;
    PrimeValue value;
};

// One direction of a rule: where `from` is found, `to` is equal to it.
struct Rewrite {
    const Rule* rule = nullptr;
    const std::vector<TermId>*from = nullptr, *to = nullptr;
};

// The directions in which a rule says what to write: not from a variable, and to nothing that has variables of its own.
std::vector<Rewrite> rewritesOf(const Rule& rule);

// Terms over a rule's variables, and what other rules say of them. Every new term is computed modulo the primes of prime_value.h, and classes
// are merged only when their values are equal: a rule that does not hold for the shapes at hand does no harm.
class TermGraph {
public:
    using ClassId = std::uint32_t;

    TermGraph(const std::vector<TermShape>& variables, std::size_t mostNodes);

    // The class of a term of a rule over these variables; none if its operands do not fit.
    std::optional<ClassId> add(const Rule& rule, TermId id);
    std::optional<ClassId> find(const Rule& rule, TermId id) const;

    // Merges all that one round of rewriting finds. Returns whether anything changed; stops at so many nodes.
    bool apply(std::span<const Rewrite> rewrites);

    bool equal(ClassId a, ClassId b) const { return graph_.root(a) == graph_.root(b); }
    std::size_t nodes() const { return graph_.nodes(); }
    std::size_t refused() const { return refused_; } // merges of what has different values

private:
    friend class TermMatcher;
    // A term with its variables bound: its class, and its shape with the cuts that this way of writing it has.
    struct Placed {
        ClassId id = 0;
        TermShape shape;
    };
    using Binding = std::vector<std::optional<Placed>>; // by node of the rule
    struct Match {
        Rewrite rewrite;
        Binding variables;
        std::vector<ClassId> results;
    };

    Binding ownVariables(const Rule& rule) const;
    template <class ToClass> static std::optional<Placed> place(const Rule& rule, TermId id, Binding& binding, const ToClass& toClass);
    std::optional<Placed> look(const Rule& rule, TermId id, Binding& binding) const;
    std::optional<Placed> make(const Rule& rule, TermId id, Binding& binding);
    bool apply(Match& match);

    EGraph<TermNode, TermClass> graph_;
    std::vector<Placed> variables_;
    std::size_t mostNodes_, refused_ = 0;
};

} // namespace tunesmith::substitution
