// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/substitution/real_value.h"

namespace tunesmith::substitution {
namespace {

// Copies terms into a rule; what `given` names is replaced.
class Copier {
public:
    Copier(RuleBuilder& nodes, std::map<TermId, TermId> given) : nodes_(nodes), done_(std::move(given)) {}

    template <class TermOf, class VariableOf> TermId copy(TermId id, const TermOf& termOf, const VariableOf& variableOf) {
        if (const auto known = done_.find(id); known != done_.end())
            return known->second;
        Term term = termOf(id);
        if (term.op == TermOp::input)
            return done_[id] = variableOf(id);
        for (TermId& input : term.inputs)
            if (input != kNoTerm)
                input = copy(input, termOf, variableOf);
        return done_[id] = nodes_.add(term);
    }

private:
    RuleBuilder& nodes_;
    std::map<TermId, TermId> done_;
};

// A side in words, with variables named by `nameOf`.
template <class NameOf> std::string wordsOf(const Rule& rule, TermId id, const NameOf& nameOf) {
    const Term& term = rule.nodes[id];
    if (term.op == TermOp::input)
        return nameOf(term.inputs[0]);
    std::string name(traits(term.op).name);
    if (term.op == TermOp::concat || term.op == TermOp::split)
        name += std::to_string(term.axis);
    if (term.op == TermOp::split)
        name += term.part == 0 ? "a" : "b";
    if (term.op == TermOp::convIdentity)
        name += std::to_string(term.axis) + std::to_string(term.part);
    if (traits(term.op).inputs == 0)
        return name;
    std::string first = wordsOf(rule, term.inputs[0], nameOf);
    if (traits(term.op).inputs == 1)
        return name + "(" + first + ")";
    return name + "(" + first + ", " + wordsOf(rule, term.inputs[1], nameOf) + ")";
}

std::string shapeOfWords(const Rule& rule, TermId id) {
    return wordsOf(rule, id, [](TermId) { return std::string("v"); });
}

// Operands of what commutes by their texts without names.
Rule ordered(Rule rule) {
    for (Term& term : rule.nodes)
        if (traits(term.op).commutes && shapeOfWords(rule, term.inputs[1]) < shapeOfWords(rule, term.inputs[0]))
            std::swap(term.inputs[0], term.inputs[1]);
    return rule;
}

// The nodes of a rule for random values of its variables: modulo primes or with the operators as they are.
struct PrimeNumbers {
    using Value = PrimeValue;
    using Operand = PrimeOperand;
    static Value random(const TermShape& shape, Rng& rng) { return randomValue(shape, rng); }
    static Value evaluate(const Term& term, const TermShape& shape, const Operand& a, const Operand& b) {
        Value value;
        evaluateTerm(term, shape, a, b, value);
        return value;
    }
    static bool equal(const Value& a, const Value& b) { return a == b; }
};

struct RealNumbers {
    using Value = RealValue;
    using Operand = RealOperand;
    static Value random(const TermShape& shape, Rng& rng) { return randomReal(shape, rng); }
    static Value evaluate(const Term& term, const TermShape& shape, const Operand& a, const Operand& b) { return evaluateReal(term, shape, a, b); }
    static bool equal(const Value& a, const Value& b) { return areEqual(a, b); }
};

template <class Numbers> class Evaluation {
public:
    Evaluation(const Rule& rule, std::uint64_t seed) : rule_(rule), shapes_(rule.nodes.size()), values_(rule.nodes.size()) {
        Rng rng(seed);
        std::vector<typename Numbers::Value> variables;
        for (const TermShape& shape : rule.variables)
            variables.push_back(Numbers::random(shape, rng));
        for (TermId id = 0; id < rule.nodes.size() && legal_; ++id) {
            const Term& term = rule.nodes[id];
            if (term.op == TermOp::input) {
                shapes_[id] = rule.variables[term.inputs[0]];
                values_[id] = variables[term.inputs[0]];
            } else {
                evaluate(id, term);
            }
        }
    }

    const TermShape& shape(TermId id) const { return shapes_[id]; }
    bool equal(TermId a, TermId b) const { return legal_ && shapes_[a].sameExtents(shapes_[b]) && Numbers::equal(values_[a], values_[b]); }

    bool sidesAreEqual() const {
        for (std::size_t i = 0; i < rule_.left.size(); ++i)
            if (!equal(rule_.left[i], rule_.right[i]))
                return false;
        return true;
    }

private:
    void evaluate(TermId id, const Term& term) {
        using Operand = typename Numbers::Operand;
        const auto operand = [&](std::size_t i) {
            return term.inputs[i] == kNoTerm ? Operand{} : Operand{shapes_[term.inputs[i]], values_[term.inputs[i]]};
        };
        const Operand a = operand(0), b = operand(1);
        shapes_[id] = shapeOf(term, a.shape, b.shape);
        legal_ = shapes_[id].rank > 0;
        if (legal_)
            values_[id] = Numbers::evaluate(term, shapes_[id], a, b);
    }

    const Rule& rule_;
    std::vector<TermShape> shapes_;
    std::vector<typename Numbers::Value> values_;
    bool legal_ = true;
};

std::set<TermId> reachable(const Rule& rule, const std::vector<TermId>& results) {
    std::set<TermId> found;
    const auto visit = [&](auto& self, TermId id) -> void {
        if (!found.insert(id).second || rule.nodes[id].op == TermOp::input)
            return;
        for (const TermId input : rule.nodes[id].inputs)
            if (input != kNoTerm)
                self(self, input);
    };
    for (const TermId result : results)
        visit(visit, result);
    return found;
}

// The rule over what its results need, without results that are the same on both sides, with `replaced` a variable of its own where it is given.
Rule rebuilt(const Rule& rule, std::optional<std::pair<TermId, TermShape>> replaced = {}) {
    Rule made;
    RuleBuilder nodes(made);
    std::map<TermId, TermId> given;
    if (replaced)
        given[replaced->first] = nodes.variable(replaced->second);
    Copier copier(nodes, given);
    const auto copy = [&](TermId id) {
        return copier.copy(id, [&](TermId i) { return rule.nodes[i]; }, [&](TermId i) { return nodes.variable(rule.variables[rule.nodes[i].inputs[0]]); });
    };
    for (std::size_t i = 0; i < rule.left.size(); ++i)
        if (rule.left[i] != rule.right[i] && (!replaced || rule.left[i] != replaced->first || rule.right[i] != replaced->first)) {
            made.left.push_back(copy(rule.left[i]));
            made.right.push_back(copy(rule.right[i]));
        }
    return made;
}

bool holdsAgain(const Rule& rule) { return holds(rule, 2) && holds(rule, 3); }

// Variables are put together of parts only where that matters.
Rule withFewestCuts(Rule rule) {
    for (TermShape& shape : rule.variables)
        for (std::uint16_t& cut : shape.cuts)
            if (const std::uint16_t before = std::exchange(cut, std::uint16_t(0)); before != 0 && !holdsAgain(rule))
                cut = before;
    return rule;
}

// Two results of a split are one operator.
std::tuple<TermOp, std::uint8_t, TermId> operatorOf(const Term& term, TermId id) {
    return term.op == TermOp::split ? std::tuple(term.op, term.axis, term.inputs[0]) : std::tuple(TermOp::input, std::uint8_t(0), id);
}

} // namespace

TermId RuleBuilder::variable(const TermShape& shape) {
    rule_.variables.push_back(shape);
    return add({TermOp::input, 0, 0, {static_cast<TermId>(rule_.variables.size() - 1), kNoTerm}});
}

TermId RuleBuilder::add(const Term& term) {
    const auto known = std::ranges::find(rule_.nodes, term);
    if (known != rule_.nodes.end())
        return static_cast<TermId>(known - rule_.nodes.begin());
    rule_.nodes.push_back(term);
    return static_cast<TermId>(rule_.nodes.size() - 1);
}

int Rule::operators(const std::vector<TermId>& results) const {
    std::set<std::tuple<TermOp, std::uint8_t, TermId>> distinct;
    for (const TermId id : reachable(*this, results))
        if (nodes[id].op != TermOp::input)
            distinct.insert(operatorOf(nodes[id], id));
    return static_cast<int>(distinct.size());
}

Rule ruleOf(const TermEnumeration& all, const std::vector<TermId>& left, const std::vector<TermId>& right, std::span<const Term> more) {
    Rule rule;
    RuleBuilder nodes(rule);
    const std::size_t listed = all.terms().size();
    const auto termOf = [&](TermId id) { return id < listed ? all.terms()[id].term : more[id - listed]; };
    Copier copier(nodes, {});
    const auto copy = [&](TermId id) {
        return copier.copy(id, termOf, [&](TermId i) { return nodes.variable(all.terms()[i].shape); });
    };
    for (const TermId id : left)
        rule.left.push_back(copy(id));
    for (const TermId id : right)
        rule.right.push_back(copy(id));
    return rule;
}

NamedRule namedRule(const Rule& rule) {
    Rule sorted = ordered(rule);
    std::vector<std::size_t> order(sorted.left.size());
    std::ranges::generate(order, [i = std::size_t(0)]() mutable { return i++; });
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return shapeOfWords(sorted, sorted.left[i]) + " = " + shapeOfWords(sorted, sorted.right[i]); });
    std::map<TermId, std::string> names;
    NamedRule named;
    const auto nameOf = [&](TermId variable) {
        const auto [known, isNew] = names.try_emplace(variable, "v" + std::to_string(names.size() + 1));
        if (isNew)
            named.variables.emplace_back(known->second, sorted.variables[variable]);
        return known->second;
    };
    const auto side = [&](const std::vector<TermId>& results) {
        std::string text;
        for (const std::size_t i : order)
            text += (text.empty() ? "" : "; ") + wordsOf(sorted, results[i], nameOf);
        return text;
    };
    named.left = side(sorted.left);
    named.right = side(sorted.right);
    return named;
}

std::string toText(const Rule& rule) {
    const NamedRule named = namedRule(rule);
    return named.left + " = " + named.right;
}

std::string termText(const Rule& rule, TermId id) {
    return wordsOf(rule, id, [](TermId variable) { return "v" + std::to_string(variable + 1); });
}

bool holds(const Rule& rule, std::uint64_t seed) { return Evaluation<PrimeNumbers>(rule, seed).sidesAreEqual(); }

bool holdsForReals(const Rule& rule, std::uint64_t seed) { return Evaluation<RealNumbers>(rule, seed).sidesAreEqual(); }

Rule generalised(const Rule& rule) {
    const Evaluation<PrimeNumbers> evaluation(rule, 1);
    const std::set<TermId> left = reachable(rule, rule.left), right = reachable(rule, rule.right);
    for (auto id = static_cast<TermId>(rule.nodes.size()); id-- > 0;) {
        if (rule.nodes[id].op == TermOp::input || !left.contains(id) || !right.contains(id))
            continue;
        const Rule wider = rebuilt(rule, std::pair(id, evaluation.shape(id)));
        if (holdsAgain(wider))
            return generalised(wider);
    }
    return withFewestCuts(rebuilt(rule));
}

std::optional<Rule> depthwise(const Rule& rule) {
    Rule made = rule;
    for (TermShape& shape : made.variables)
        if (shape.rank == 4 && shape.extents[0] == shape.extents[1]) // the generator's weights; its images are fewer than their channels
            shape.extents[1] = 1;
    return made.variables != rule.variables && holdsAgain(made) ? std::optional(made) : std::nullopt;
}

std::optional<ShapeFault> shapeFault(const Rule& rule) {
    std::vector<TermShape> shapes;
    for (TermId id = 0; id < rule.nodes.size(); ++id) {
        const Term& term = rule.nodes[id];
        const auto shape = [&](std::size_t i) { return term.inputs[i] == kNoTerm ? TermShape() : shapes[term.inputs[i]]; };
        shapes.push_back(term.op == TermOp::input ? rule.variables[term.inputs[0]] : shapeOf(term, shape(0), shape(1)));
        if (shapes.back().rank == 0)
            return ShapeFault{id, std::string(traits(term.op).name) + " does not take " + toText(shape(0)) +
                                      (term.inputs[1] == kNoTerm ? "" : " and " + toText(shape(1))) + ", or its result is too large"};
    }
    for (std::size_t i = 0; i < rule.left.size(); ++i)
        if (const TermShape &left = shapes[rule.left[i]], &right = shapes[rule.right[i]]; !left.sameExtents(right))
            return ShapeFault{rule.right[i], "the left side is " + toText(left) + ", the right side " + toText(right)};
    return std::nullopt;
}

bool followsFromOperands(const Rule& rule) {
    const Evaluation<PrimeNumbers> evaluation(rule, 1);
    const auto sameOperands = [&](TermId a, TermId b) {
        const Term &l = rule.nodes[a], &r = rule.nodes[b];
        if (l.op == TermOp::input || l.op != r.op || l.axis != r.axis || l.part != r.part)
            return false;
        const auto equal = [&](std::size_t i, std::size_t j) {
            return l.inputs[i] == r.inputs[j] || (l.inputs[i] != kNoTerm && r.inputs[j] != kNoTerm && evaluation.equal(l.inputs[i], r.inputs[j]));
        };
        return (equal(0, 0) && equal(1, 1)) || (traits(l.op).commutes && equal(0, 1) && equal(1, 0));
    };
    for (std::size_t i = 0; i < rule.left.size(); ++i)
        if (!sameOperands(rule.left[i], rule.right[i]))
            return false;
    return true;
}

} // namespace tunesmith::substitution
