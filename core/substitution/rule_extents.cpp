// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/rule_extents.h"

#include <algorithm>
#include <map>

#include "core/base/rng.h"
#include "core/substitution/linear_extents.h"

namespace tunesmith::substitution {
namespace {

bool isConv(const Term& term) { return term.op == TermOp::conv || term.op == TermOp::convRelu; }
bool isFree(const Term& term) { return traits(term.op).inputs == 0; }

std::vector<TermShape> shapesOf(const Rule& rule) {
    std::vector<TermShape> shapes;
    for (const Term& term : rule.nodes) {
        const auto operand = [&](std::size_t i) { return static_cast<int>(i) < traits(term.op).inputs ? shapes[term.inputs[i]] : TermShape(); };
        shapes.push_back(term.op == TermOp::input ? rule.variables[term.inputs[0]] : anyShapeOf(term, operand(0), operand(1)));
    }
    return shapes;
}

// Follows a cut down to where it was made, as shapeOf() passes it on.
class CutTracer {
public:
    explicit CutTracer(const Rule& rule) : rule_(rule), shapes_(shapesOf(rule)) {}

    std::vector<CutOrigin> trace(TermId id, std::uint8_t axis) const {
        std::vector<CutOrigin> found;
        trace(id, axis, found);
        return found;
    }

private:
    void trace(TermId id, std::uint8_t axis, std::vector<CutOrigin>& found) const {
        const Term& term = rule_.nodes[id];
        if (shapes_[id].cuts[axis] == 0)
            return;
        const auto put = [&](const CutOrigin& origin) {
            if (std::ranges::find(found, origin) == found.end())
                found.push_back(origin);
        };
        const auto other = static_cast<std::uint8_t>(1 - axis);
        switch (term.op) {
        case TermOp::input: return put({id, axis, true});
        case TermOp::matmul: return trace(term.inputs[axis], axis, found);
        case TermOp::conv:
        case TermOp::convRelu: return trace(term.inputs[axis], 0, found);
        case TermOp::transpose: return trace(term.inputs[0], other, found);
        case TermOp::concat:
            if (term.axis == axis)
                return put({term.inputs[0], axis, false});
            [[fallthrough]];
        case TermOp::add:
        case TermOp::mul: trace(term.inputs[0], axis, found); return trace(term.inputs[1], axis, found);
        default: return trace(term.inputs[0], axis, found);
        }
    }

    const Rule& rule_;
    std::vector<TermShape> shapes_;
};

// The rule's extents as sums of unknowns, and what is known of those.
class UnknownExtents {
public:
    explicit UnknownExtents(const Rule& rule) : rule_(rule), origins_(cutOriginsOf(rule)) {
        for (TermId id = 0; id < rule.nodes.size(); ++id)
            nodes_.push_back(extentsOfNode(id));
        for (std::size_t i = 0; i < rule.left.size(); ++i)
            for (std::size_t axis = 0; axis < 4; ++axis)
                system_.same(nodes_[rule.left[i]][axis], nodes_[rule.right[i]][axis]);
    }

    void demand(const ShapeCondition& condition) {
        if (condition.kind == ShapeCondition::Kind::oneGroup) {
            demandOneGroup(rule_.nodes[condition.a]);
        } else if (condition.kind == ShapeCondition::Kind::pointwise) {
            for (const std::size_t axis : {2, 3})
                system_.same(nodes_[condition.a][axis], LinearExtents::number(1));
        } else if (condition.kind == ShapeCondition::Kind::sameExtent) {
            system_.same(nodes_[condition.a][condition.axis], nodes_[condition.b][condition.axis]);
        } else {
            system_.same(cutOf({condition.a, condition.axis, true}), cutOf({condition.b, condition.axis, true}));
        }
    }

    std::optional<GenericExtents> solved() {
        Rng rng(5);
        if (!system_.solve(rng))
            return std::nullopt;
        GenericExtents result;
        for (TermId id = 0; id < rule_.nodes.size(); ++id) {
            Extents<std::uint64_t> extents{};
            for (std::size_t axis = 0; axis < 4; ++axis)
                extents[axis] = system_.value(nodes_[id][axis]);
            result.nodes.push_back(extents);
            result.cuts.push_back(origins_[id].empty() ? 0 : system_.value(cutOf(origins_[id][0])));
        }
        return result;
    }

private:
    using Sum = LinearExtents::Sum;

    // Where parts of the data are convolved with parts of the weights, too, those have one group each: none has less than one, and all together have
    // as many channels as one each.
    void demandOneGroup(const Term& conv) {
        const Term &data = rule_.nodes[conv.inputs[0]], &weights = rule_.nodes[conv.inputs[1]];
        const auto sameChannels = [&](TermId x, TermId w) { system_.same(nodes_[x][1], nodes_[w][1]); };
        sameChannels(conv.inputs[0], conv.inputs[1]);
        const auto areConvolved = [&](std::size_t part) {
            const std::array parts{data.inputs[part], weights.inputs[part]};
            return std::ranges::any_of(rule_.nodes, [&](const Term& term) { return isConv(term) && term.inputs == parts; });
        };
        const auto areChannels = [](const Term& term) { return term.op == TermOp::concat && term.axis == 1; };
        if (areChannels(data) && areChannels(weights) && areConvolved(0) && areConvolved(1))
            for (const std::size_t part : {0, 1})
                sameChannels(data.inputs[part], weights.inputs[part]);
    }

    Extents<Sum> extentsOfNode(TermId id) {
        const Term& term = rule_.nodes[id];
        if (term.op == TermOp::input)
            return extentsOfVariable(id);
        if (isFree(term))
            return constantExtents(system_, term, unknown(term.op == TermOp::ones ? 4 : 1));
        for (std::size_t i = 1; i < origins_[id].size(); ++i)
            system_.same(cutOf(origins_[id][0]), cutOf(origins_[id][i]));
        const Extents<Sum> none{};
        const Sum cut = origins_[id].empty() ? Sum{} : cutOf(origins_[id][0]);
        return extentsOf(system_, term, nodes_[term.inputs[0]], term.inputs[1] == kNoTerm ? none : nodes_[term.inputs[1]], cut);
    }

    // What a tensor is multiplied with stays a single number.
    Extents<Sum> extentsOfVariable(TermId id) {
        const TermShape& shape = rule_.variables[rule_.nodes[id].inputs[0]];
        const bool isNumber = std::ranges::any_of(rule_.nodes, [&](const Term& term) { return term.op == TermOp::scale && term.inputs[1] == id; });
        if (!isNumber && shape.rank > 1)
            return unknown(shape.rank);
        Extents<Sum> extents;
        for (std::size_t axis = 0; axis < 4; ++axis)
            extents[axis] = system_.number(axis < shape.rank ? shape.extents[axis] : 0U);
        return extents;
    }

    Extents<Sum> unknown(std::size_t rank) {
        Extents<Sum> extents;
        for (std::size_t axis = 0; axis < 4; ++axis)
            extents[axis] = axis < rank ? system_.unknown() : system_.number(0);
        return extents;
    }

    const Sum& cutOf(const CutOrigin& origin) {
        if (!origin.ofVariable)
            return nodes_[origin.node][origin.axis];
        const auto [cut, isNew] = cuts_.try_emplace({origin.node, origin.axis});
        if (isNew)
            cut->second = system_.unknown();
        return cut->second;
    }

    const Rule& rule_;
    std::vector<std::vector<CutOrigin>> origins_;
    LinearExtents system_;
    std::vector<Extents<Sum>> nodes_;
    std::map<std::pair<TermId, std::uint8_t>, Sum> cuts_; // of variables
};

} // namespace

std::uint64_t FieldExtents::product(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide(a) * b % kPrime);
}

std::uint64_t FieldExtents::inverse(std::uint64_t value) { // by Fermat's little theorem
    std::uint64_t result = 1;
    for (std::uint64_t exponent = kPrime - 2; exponent > 0; exponent /= 2, value = product(value, value))
        if (exponent % 2 == 1)
            result = product(result, value);
    return result;
}

std::vector<std::vector<CutOrigin>> cutOriginsOf(const Rule& rule) {
    const CutTracer tracer(rule);
    std::vector<std::vector<CutOrigin>> origins(rule.nodes.size());
    for (TermId id = 0; id < rule.nodes.size(); ++id)
        if (const Term& term = rule.nodes[id]; term.op == TermOp::split)
            origins[id] = tracer.trace(term.inputs[0], term.axis);
    return origins;
}

std::string toText(const ShapeCondition& condition, const Rule& rule) {
    const std::string a = termText(rule, condition.a), b = termText(rule, condition.b), axis = std::to_string(condition.axis);
    switch (condition.kind) {
    case ShapeCondition::Kind::oneGroup: return a + " has one group";
    case ShapeCondition::Kind::pointwise: return a + " is 1x1";
    case ShapeCondition::Kind::sameExtent: return a + " and " + b + " have the same extent along axis " + axis;
    default: return a + " and " + b + " are put together at the same place of axis " + axis;
    }
}

std::vector<ShapeCondition> conditionsOf(const Rule& rule) {
    const std::vector<TermShape> shapes = shapesOf(rule);
    std::vector<ShapeCondition> conditions;
    for (TermId id = 0; id < rule.nodes.size(); ++id)
        if (const Term& term = rule.nodes[id]; isConv(term) && shapes[term.inputs[0]].extents[1] == shapes[term.inputs[1]].extents[1])
            conditions.push_back({ShapeCondition::Kind::oneGroup, id, id, 0});
    for (TermId id = 0; id < rule.nodes.size(); ++id)
        if (rule.nodes[id].op == TermOp::input && shapes[id].rank == 4 && shapes[id].extents[2] * shapes[id].extents[3] == 1)
            conditions.push_back({ShapeCondition::Kind::pointwise, id, id, 0});
    for (TermId b = 0; b < rule.nodes.size(); ++b)
        for (TermId a = 0; a < b; ++a)
            for (std::uint8_t axis = 0; axis < shapes[a].rank; ++axis) {
                if (rule.nodes[a].op != TermOp::input || rule.nodes[b].op != TermOp::input || !shapes[a].sameExtents(shapes[b]))
                    continue;
                if (shapes[a].extents[axis] == shapes[b].extents[axis])
                    conditions.push_back({ShapeCondition::Kind::sameExtent, a, b, axis});
                if (shapes[a].cuts[axis] == shapes[b].cuts[axis] && shapes[a].cuts[axis] != 0)
                    conditions.push_back({ShapeCondition::Kind::sameCut, a, b, axis});
            }
    return conditions;
}

std::optional<GenericExtents> genericExtents(const Rule& rule, const std::vector<ShapeCondition>& conditions) {
    UnknownExtents extents(rule);
    for (const ShapeCondition& condition : conditions)
        extents.demand(condition);
    return extents.solved();
}

} // namespace tunesmith::substitution
