// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/operator.h"
#include "core/rewrite/write_nodes.h"
#include "core/rewrite/written/merging.h"

namespace tunesmith::rewrite {
namespace {

bool isElementwise(const Draft& draft, NodeNo node) {
    const Operator* const op = findOperator(draft.op(node).op, draft.op(node).domain);
    return op && op->fusion == Fusion::elementwise && draft.node(node).outputs == 1;
}

// The same elementwise operator on every part of a split, each beside a weight of its own or the same scalar: the operator on the whole, beside
// those weights put together.
class OperatorOnParts : public Substitution {
public:
    OperatorOnParts()
        : Substitution({"operator-on-parts", "f(split(x)a, v1); f(split(x)b, v2); ... = split(f(x, concat(v1, v2, ...)))",
                        {"nothing else reads the parts", "other operands are constants as wide as their part, or the same one everywhere"}, true}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (draft.is(anchor, "Split") && !readersOf(draft, anchor).empty())
            found.push_back({anchor, {draft.output(anchor)}});
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        const NodeNo split = draft.maker(match.values[0], "Split");
        const std::vector<NodeNo> readers = split == kNone ? std::vector<NodeNo>() : readersOf(draft, split);
        if (readers.empty())
            return "its parts are not all read alike";
        std::vector<ValueNo> operands, results;
        for (std::size_t i = 0; i < draft.operands(readers[0]).size(); ++i)
            operands.push_back(operandOfWhole(draft, split, readers, i));
        for (const NodeNo reader : readers)
            results.push_back(draft.output(reader));
        const auto axis = static_cast<std::int64_t>(axisOf(draft, split));
        const std::vector<std::int64_t> extents = extentsOf(draft, split);
        return replaceAll(draft, results, addSplit(draft, draft.add(draft.node(readers[0]).op, operands), axis, extents));
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        Draft draft(table);
        Shape shape;
        for (std::uint64_t i = 0, rank = 1 + rng.below(4); i < rank; ++i)
            shape.push_back(static_cast<std::int64_t>(1 + rng.below(3)));
        const std::size_t axis = rng.below(shape.size());
        const std::vector<std::int64_t> extents{static_cast<std::int64_t>(1 + rng.below(3)), static_cast<std::int64_t>(1 + rng.below(3))};
        shape[axis] = extents[0] + extents[1];
        const ValueNo parts = addSplit(draft, draft.addInput(table->add(TensorType(DType::f32, shape)), 1), static_cast<std::int64_t>(axis), extents);
        std::vector<ValueNo> outputs;
        const std::uint64_t kind = rng.below(4);
        const ValueNo shared = scalar(draft, DType::f32, 3);
        for (std::size_t i = 0; i < 2; ++i) {
            const ValueNo part = parts + static_cast<ValueNo>(i);
            Shape beside = shape;
            beside[axis] = extents[i];
            for (std::size_t d = 0; d < beside.size(); ++d)
                beside[d] = rng.chance(0.4) ? 1 : beside[d];
            outputs.push_back(kind == 0   ? addRelu(draft, part)
                              : kind == 1 ? draft.add("Mul", {part, shared})
                                          : draft.add(kind == 2 ? "Add" : "Sub", {kind == 2 ? part : randomWeight(draft, beside, rng), kind == 2 ? randomWeight(draft, beside, rng) : part}));
        }
        if (std::ranges::find(outputs, kNone) != outputs.end())
            return std::nullopt;
        draft.setOutputs(std::move(outputs));
        return draft.settle() ? std::optional(std::move(draft)) : std::nullopt;
    }

private:
    // The reader of each part; none where they differ.
    static std::vector<NodeNo> readersOf(const Draft& draft, NodeNo split) {
        std::vector<NodeNo> readers;
        for (std::size_t i = 0; i < draft.node(split).outputs; ++i) {
            const NodeNo reader = onlyReader(draft, draft.output(split, i));
            if (reader == kNone || !isElementwise(draft, reader) || draft.shape(draft.output(reader)) != draft.shape(draft.output(split, i)))
                return {};
            readers.push_back(reader);
            if (draft.node(reader).op != draft.node(readers[0]).op || draft.operands(reader).size() != draft.operands(readers[0]).size())
                return {};
        }
        for (std::size_t i = 0; i < draft.operands(readers[0]).size(); ++i)
            if (kindOf(draft, split, readers, i) == Kind::none)
                return {};
        return readers;
    }

    enum class Kind : std::uint8_t { none, part, same, weights };
    static Kind kindOf(const Draft& draft, NodeNo split, const std::vector<NodeNo>& readers, std::size_t index) {
        bool parts = true, same = true, weights = true;
        const std::size_t rank = draft.shape(draft.output(split)).size(), axis = axisOf(draft, split);
        for (std::size_t i = 0; i < readers.size(); ++i) {
            const ValueNo operand = draft.operand(readers[i], index), part = draft.output(split, i);
            parts = parts && operand == part;
            same = same && operand == draft.operand(readers[0], index) && (operand == kNone || (draft.isWeight(operand) && elementCount(draft.shape(operand)) == 1));
            const std::size_t own = operand == kNone ? 0 : draft.shape(operand).size();
            const std::size_t at = axis + own - rank; // of the weight; may wrap where that has no such axis
            weights = weights && operand != kNone && draft.isWeight(operand) && own + axis >= rank && own <= rank && draft.shape(operand)[at] == draft.shape(part)[axis];
        }
        return parts ? Kind::part : same ? Kind::same : weights && sameBeside(draft, readers, index, rank - axis) ? Kind::weights : Kind::none;
    }

    // Whether the weights differ in extent along the axis only, which is counted from the back.
    static bool sameBeside(const Draft& draft, const std::vector<NodeNo>& readers, std::size_t index, std::size_t fromBack) {
        Shape first = draft.shape(draft.operand(readers[0], index));
        for (const NodeNo reader : readers) {
            Shape shape = draft.shape(draft.operand(reader, index));
            if (shape.size() != first.size())
                return false;
            shape[shape.size() - fromBack] = first[first.size() - fromBack];
            if (shape != first)
                return false;
        }
        return true;
    }

    static ValueNo operandOfWhole(Draft& draft, NodeNo split, const std::vector<NodeNo>& readers, std::size_t index) {
        const Kind kind = kindOf(draft, split, readers, index);
        if (kind == Kind::part)
            return draft.operand(split, 0);
        const ValueNo first = draft.operand(readers[0], index);
        if (kind == Kind::same)
            return first == kNone ? Draft::kLeftOut : first;
        std::vector<ValueNo> weights;
        for (const NodeNo reader : readers)
            weights.push_back(draft.operand(reader, index));
        const std::size_t rank = draft.shape(draft.output(split)).size(), own = draft.shape(first).size();
        return addConcat(draft, weights, static_cast<std::int64_t>(axisOf(draft, split) + own - rank));
    }
};

} // namespace

void addSplitMotion(std::vector<SubstitutionPtr>& all) { all.push_back(std::make_shared<OperatorOnParts>()); }

} // namespace tunesmith::rewrite
