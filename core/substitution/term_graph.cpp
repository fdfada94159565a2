// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/term_graph.h"

#include <set>

#include "core/base/rng.h"

namespace tunesmith::substitution {
namespace {

TermShape withoutCuts(TermShape shape) {
    shape.cuts = {};
    return shape;
}

TermNode nodeOf(const Term& term, const TermShape& a, std::span<const std::uint32_t> inputs) {
    TermNode node{term.op, term.axis, term.part, static_cast<std::uint8_t>(inputs.size()), 0, {}};
    if (term.op == TermOp::split)
        node.cut = a.cuts[term.axis];
    std::ranges::copy(inputs, node.inputs.begin());
    return node;
}

std::set<TermId> variablesOf(const Rule& rule, const std::vector<TermId>& results) {
    std::set<TermId> found;
    const auto visit = [&](auto& self, TermId id) -> void {
        if (rule.nodes[id].op == TermOp::input)
            found.insert(id);
        else
            for (const TermId input : rule.nodes[id].inputs)
                if (input != kNoTerm)
                    self(self, input);
    };
    for (const TermId result : results)
        visit(visit, result);
    return found;
}

} // namespace

void TermNode::settle() {
    if (traits(op).commutes && inputs[1] < inputs[0])
        std::swap(inputs[0], inputs[1]);
}

std::size_t TermNode::hash() const {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
    std::uint64_t hash = static_cast<std::uint64_t>(op) | std::uint64_t(axis) << 8 | std::uint64_t(part) << 16 | std::uint64_t(cut) << 32;
    hash = (hash * kFactor) ^ (std::uint64_t(inputs[0]) << 32 | inputs[1]);
    hash *= kFactor;
    return hash ^ (hash >> 32);
}

std::vector<Rewrite> rewritesOf(const Rule& rule) {
    std::vector<Rewrite> rewrites;
    const auto offer = [&](const std::vector<TermId>& from, const std::vector<TermId>& to) {
        const auto isVariable = [&](TermId id) { return rule.nodes[id].op == TermOp::input; };
        const auto known = variablesOf(rule, from), needed = variablesOf(rule, to);
        if (std::ranges::none_of(from, isVariable) && std::ranges::includes(known, needed))
            rewrites.push_back({&rule, &from, &to});
    };
    offer(rule.left, rule.right);
    offer(rule.right, rule.left);
    return rewrites;
}

// Finds a side of a rule in the graph: goals are nodes of the rule that are to be in given classes.
class TermMatcher {
public:
    TermMatcher(const TermGraph& graph, const Rewrite& rewrite, std::vector<TermGraph::Match>& matches)
        : graph_(graph), rewrite_(rewrite), rule_(*rewrite.rule), matches_(matches), classes_(rule_.nodes.size()) {}

    void run() { nextResult(0); }

private:
    using ClassId = TermGraph::ClassId;
    using Goals = std::vector<std::pair<TermId, ClassId>>;

    void nextResult(std::size_t number) {
        if (number == rewrite_.from->size())
            return chooseCuts();
        const TermId id = (*rewrite_.from)[number];
        for (ClassId at = 0; at < graph_.graph_.classes(); ++at)
            if (graph_.graph_.isRoot(at)) {
                Goals goals{{id, at}};
                solve(goals, number);
            }
    }

    void solve(Goals& goals, std::size_t number) {
        if (goals.empty())
            return nextResult(number + 1);
        const auto [id, at] = goals.back();
        goals.pop_back();
        if (classes_[id]) {
            if (*classes_[id] == at)
                solve(goals, number);
        } else {
            classes_[id] = at;
            if (rule_.nodes[id].op == TermOp::input)
                solve(goals, number);
            else
                solveNode(rule_.nodes[id], at, goals, number);
            classes_[id].reset();
        }
        goals.emplace_back(id, at);
    }

    void solveNode(const Term& term, ClassId at, Goals& goals, std::size_t number) {
        for (const TermNode& node : graph_.graph_[at].nodes) {
            if (node.op != term.op || node.axis != term.axis || node.part != term.part)
                continue;
            cuts_.push_back(node.cut);
            solveOperands(term, node.inputs, node.count, goals, number);
            if (node.count == 2 && traits(term.op).commutes && node.inputs[0] != node.inputs[1])
                solveOperands(term, {node.inputs[1], node.inputs[0]}, 2, goals, number);
            cuts_.pop_back();
        }
    }

    void solveOperands(const Term& term, const std::array<ClassId, 2>& inputs, std::size_t count, Goals& goals, std::size_t number) {
        const std::size_t before = goals.size();
        for (std::size_t i = 0; i < count; ++i)
            goals.emplace_back(term.inputs[i], graph_.graph_.root(inputs[i]));
        solve(goals, number);
        goals.resize(before);
    }

    // Where a variable is put together is told by the splits that were met. What was found is then written out again: splits may have been met
    // that cut elsewhere.
    void chooseCuts() {
        TermGraph::Binding binding(rule_.nodes.size());
        std::vector<std::pair<TermId, std::size_t>> open;
        for (TermId id = 0; id < rule_.nodes.size(); ++id)
            if (rule_.nodes[id].op == TermOp::input && classes_[id]) {
                binding[id] = {*classes_[id], graph_.graph_[*classes_[id]].data.shape};
                for (std::size_t axis = 0; axis < 4; ++axis)
                    if (rule_.variables[rule_.nodes[id].inputs[0]].cuts[axis] != 0)
                        open.emplace_back(id, axis);
            }
        chooseCuts(binding, open);
    }

    void chooseCuts(TermGraph::Binding& binding, std::vector<std::pair<TermId, std::size_t>> open) {
        if (open.empty())
            return check(binding);
        const auto [id, axis] = open.back();
        open.pop_back();
        const std::set<std::uint16_t> cuts(cuts_.begin(), cuts_.end());
        for (const std::uint16_t cut : cuts)
            if (cut > 0 && cut < binding[id]->shape.extents[axis]) {
                binding[id]->shape.cuts[axis] = cut;
                chooseCuts(binding, open);
            }
    }

    void check(const TermGraph::Binding& variables) {
        TermGraph::Match match{rewrite_, variables, {}};
        TermGraph::Binding binding = variables;
        for (const TermId id : *rewrite_.from) {
            const auto placed = graph_.look(rule_, id, binding);
            if (!placed || placed->id != *classes_[id])
                return;
            match.results.push_back(placed->id);
        }
        matches_.push_back(std::move(match));
    }

    const TermGraph& graph_;
    const Rewrite rewrite_;
    const Rule& rule_;
    std::vector<TermGraph::Match>& matches_;
    std::vector<std::optional<ClassId>> classes_; // by node of the rule
    std::vector<std::uint16_t> cuts_;             // of the splits met
};

TermGraph::TermGraph(const std::vector<TermShape>& variables, std::size_t mostNodes) : mostNodes_(mostNodes) {
    Rng rng(7);
    for (std::size_t i = 0; i < variables.size(); ++i) {
        TermNode node;
        node.cut = static_cast<std::uint16_t>(i);
        const auto id = graph_.add(node, [&] { return TermClass{withoutCuts(variables[i]), randomValue(variables[i], rng)}; });
        variables_.push_back({id, variables[i]});
    }
}

template <class ToClass> std::optional<TermGraph::Placed> TermGraph::place(const Rule& rule, TermId id, Binding& binding, const ToClass& toClass) {
    if (binding[id])
        return binding[id];
    const Term& term = rule.nodes[id];
    std::array<Placed, 2> operands;
    std::array<ClassId, 2> inputs{};
    const auto count = static_cast<std::size_t>(traits(term.op).inputs);
    for (std::size_t i = 0; i < count; ++i) {
        const auto operand = place(rule, term.inputs[i], binding, toClass);
        if (!operand)
            return std::nullopt;
        operands[i] = *operand;
        inputs[i] = operand->id;
    }
    const TermShape shape = shapeOf(term, operands[0].shape, operands[1].shape);
    if (term.op == TermOp::input || shape.rank == 0)
        return std::nullopt;
    const auto found = toClass(nodeOf(term, operands[0].shape, {inputs.data(), count}), term, shape, operands);
    if (found)
        binding[id] = Placed{*found, shape};
    return binding[id];
}

std::optional<TermGraph::Placed> TermGraph::look(const Rule& rule, TermId id, Binding& binding) const {
    return place(rule, id, binding, [this](const TermNode& node, const Term&, const TermShape&, const std::array<Placed, 2>&) { return graph_.find(node); });
}

std::optional<TermGraph::Placed> TermGraph::make(const Rule& rule, TermId id, Binding& binding) {
    return place(rule, id, binding, [this](const TermNode& node, const Term& term, const TermShape& shape, const std::array<Placed, 2>& operands) {
        return std::optional(graph_.add(node, [&] {
            TermClass made{withoutCuts(shape), {}};
            const auto operand = [&](std::size_t i) {
                return i < node.count ? PrimeOperand{operands[i].shape, graph_[operands[i].id].data.value} : PrimeOperand{};
            };
            evaluateTerm(term, shape, operand(0), operand(1), made.value);
            return made;
        }));
    });
}

TermGraph::Binding TermGraph::ownVariables(const Rule& rule) const {
    Binding binding(rule.nodes.size());
    for (TermId id = 0; id < rule.nodes.size(); ++id)
        if (rule.nodes[id].op == TermOp::input) {
            binding[id] = variables_[rule.nodes[id].inputs[0]];
            binding[id]->id = graph_.root(binding[id]->id);
        }
    return binding;
}

std::optional<TermGraph::ClassId> TermGraph::add(const Rule& rule, TermId id) {
    Binding binding = ownVariables(rule);
    const auto made = make(rule, id, binding);
    return made ? std::optional(made->id) : std::nullopt;
}

std::optional<TermGraph::ClassId> TermGraph::find(const Rule& rule, TermId id) const {
    Binding binding = ownVariables(rule);
    const auto found = look(rule, id, binding);
    return found ? std::optional(found->id) : std::nullopt;
}

bool TermGraph::apply(std::span<const Rewrite> rewrites) {
    std::vector<Match> matches;
    for (const Rewrite& rewrite : rewrites)
        TermMatcher(*this, rewrite, matches).run();
    const std::size_t before = graph_.classes();
    bool changed = false;
    for (Match& match : matches)
        changed |= graph_.nodes() < mostNodes_ && apply(match);
    graph_.rebuild();
    return changed || graph_.classes() > before;
}

bool TermGraph::apply(Match& match) {
    bool changed = false;
    for (std::size_t i = 0; i < match.results.size(); ++i) {
        const auto made = make(*match.rewrite.rule, (*match.rewrite.to)[i], match.variables);
        if (!made)
            continue;
        const TermClass &a = graph_[made->id].data, &b = graph_[match.results[i]].data;
        if (a.shape.sameExtents(b.shape) && a.value == b.value)
            changed |= graph_.merge(made->id, match.results[i]);
        else
            ++refused_;
    }
    return changed;
}

} // namespace tunesmith::substitution
