// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/substitution/enumeration.h"
#include "core/substitution/term.h"

namespace tunesmith::substitution {

// An equation between two graphs of terms: the results on the left equal those on the right, pairwise. One list of nodes for both sides, each
// before what reads it; equal nodes are one.
struct Rule {
    static constexpr std::size_t kMostNodes = 64, kMostResults = 16; // of one that is read: a search for so many results is short

    std::vector<TermShape> variables; // shapes with which the equation was found
    std::vector<Term> nodes;          // of an input, inputs[0] is the number of its variable
    std::vector<TermId> left, right;  // numbers of nodes

    int operators(const std::vector<TermId>& results) const; // how many a side has; both parts of a split are one
};

// Adds nodes to a rule under construction; equal terms get the same number.
class RuleBuilder {
public:
    explicit RuleBuilder(Rule& rule) : rule_(rule) {}
    TermId variable(const TermShape& shape);
    TermId add(const Term& term);

private:
    Rule& rule_;
};

// Numbers from that of listed terms on are those of `more` terms over these.
Rule ruleOf(const TermEnumeration& all, const std::vector<TermId>& left, const std::vector<TermId>& right, std::span<const Term> more = {});

// A rule in words: variables are numbered as they occur, operands of what commutes and results are in the order of their texts, several
// results with semicolons between them. Rules that differ in names only are the same then.
struct NamedRule {
    std::string left, right;                                 // "add(v1, v2)"
    std::vector<std::pair<std::string, TermShape>> variables; // with shapes for which the equation was found
};
NamedRule namedRule(const Rule& rule);
std::string toText(const Rule& rule); // "add(v1, v2) = add(v2, v1)"
std::string termText(const Rule& rule, TermId id); // with variables by their numbers in the rule, from 1

// What is wrong with a rule that was read: an operator that does not take its operands, or sides of different shapes.
struct ShapeFault {
    TermId node;
    std::string what;
};
std::optional<ShapeFault> shapeFault(const Rule& rule);

// Whether the equation holds for other values of the variables, modulo two primes.
bool holds(const Rule& rule, std::uint64_t seed);

// The same with the operators as they are, in small whole numbers.
bool holdsForReals(const Rule& rule, std::uint64_t seed);

// The rule in which a term that both sides have is a variable of its own, wherever that still holds: what it says of any value.
Rule generalised(const Rule& rule);

// The rule for depthwise convolutions: with weights of one channel, if it holds for those, too.
std::optional<Rule> depthwise(const Rule& rule);

// Whether each result on the left has the same operator as its partner and equal operands: nothing but what those say.
bool followsFromOperands(const Rule& rule);

} // namespace tunesmith::substitution
