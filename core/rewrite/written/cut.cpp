// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/cut.h"

#include <algorithm>
#include <numeric>

#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/weights.h"

namespace tunesmith::rewrite {
namespace {

using Cuts = std::optional<OperandCuts>;

std::size_t rankOf(const Draft& draft, ValueNo value) { return draft.shape(value).size(); }

std::optional<std::size_t> axisAttribute(const Draft& draft, NodeNo node, std::int64_t otherwise, std::size_t rank) {
    const std::int64_t axis = draft.op(node).intAttr("axis", otherwise), from = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    return from >= 0 && from < static_cast<std::int64_t>(rank) ? std::optional(static_cast<std::size_t>(from)) : std::nullopt;
}

OperandCuts ofData(const Draft& draft, NodeNo node, const Cut& cut) {
    OperandCuts cuts(draft.operands(node).size());
    cuts[0] = cut;
    return cuts;
}

// Of an operand that is repeated to a result of this rank.
std::optional<Cut> repeated(const Draft& draft, ValueNo operand, std::size_t rank, const Cut& cut) {
    const std::size_t own = operand == kNone ? 0 : rankOf(draft, operand);
    if (own + cut.axis < rank || draft.shape(operand)[own + cut.axis - rank] == 1)
        return std::nullopt;
    return Cut{own + cut.axis - rank, cut.begin, cut.extent};
}

Cuts elementwise(const Draft& draft, NodeNo node, const Cut& cut) {
    OperandCuts cuts;
    for (const ValueNo operand : draft.operands(node))
        cuts.push_back(repeated(draft, operand, rankOf(draft, draft.output(node)), cut));
    return cuts;
}

Cuts matmul(const Draft& draft, NodeNo node, const Cut& cut) {
    const ValueNo a = draft.operand(node, 0), b = draft.operand(node, 1);
    const std::size_t rank = rankOf(draft, draft.output(node)), m = rankOf(draft, a), n = rankOf(draft, b);
    if (m < 2 || n < 2)
        return std::nullopt;
    if (cut.axis + 2 == rank)
        return OperandCuts{Cut{m - 2, cut.begin, cut.extent}, std::nullopt};
    if (cut.axis + 1 == rank)
        return OperandCuts{std::nullopt, Cut{n - 1, cut.begin, cut.extent}};
    return OperandCuts{repeated(draft, a, rank, cut), repeated(draft, b, rank, cut)};
}

Cuts gemm(const Draft& draft, NodeNo node, const Cut& cut) {
    const bool turned = draft.op(node).intAttr(cut.axis == 0 ? "transA" : "transB", 0) != 0;
    OperandCuts cuts(draft.operands(node).size());
    cuts[cut.axis] = Cut{turned ? 1 - cut.axis : cut.axis, cut.begin, cut.extent};
    if (draft.operand(node, 2) != kNone)
        cuts[2] = repeated(draft, draft.operand(node, 2), 2, cut);
    return cuts;
}

Cuts transpose(const Draft& draft, NodeNo node, const Cut& cut) { return OperandCuts{Cut{static_cast<std::size_t>(permOf(draft, node)[cut.axis]), cut.begin, cut.extent}}; }

// Where the cut axis is one of the data's, or the outer part of one.
Cuts reshape(const Draft& draft, NodeNo node, const Cut& cut) {
    const Shape &from = draft.shape(draft.operand(node, 0)), &to = draft.shape(draft.output(node));
    const auto before = [](const Shape& shape, std::size_t axis) { return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis), std::int64_t(1), std::multiplies()); };
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        if (from[axis] == 1 || before(from, axis) != before(to, cut.axis))
            continue;
        std::int64_t inner = 1;
        for (std::size_t d = cut.axis + 1; d < to.size() && to[cut.axis] * inner < from[axis]; ++d)
            inner *= to[d];
        if (to[cut.axis] * inner == from[axis])
            return ofData(draft, node, {axis, cut.begin * inner, cut.extent * inner});
    }
    return std::nullopt;
}

// Each position along other axes is normalized by itself.
Cuts normalization(const Draft& draft, NodeNo node, const Cut& cut) {
    const bool layerNorm = draft.is(node, "LayerNormalization"), toTheEnd = layerNorm || draft.table().opset() < 13;
    const std::size_t rank = rankOf(draft, draft.output(node));
    const auto axis = axisAttribute(draft, node, toTheEnd && !layerNorm ? 1 : -1, rank);
    if (!axis || (toTheEnd ? cut.axis >= *axis : cut.axis == *axis))
        return std::nullopt;
    return elementwise(draft, node, cut);
}

Cuts reduction(const Draft& draft, NodeNo node, const Cut& cut) {
    const auto axes = numbersOf(draft, node, "axes", 1);
    if (!axes || axes->empty())
        return std::nullopt;
    const std::size_t rank = rankOf(draft, draft.operand(node, 0));
    std::vector<bool> reduced(rank, false);
    for (const std::int64_t axis : *axes)
        reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
    const bool kept = draft.op(node).intAttr("keepdims", 1) != 0;
    for (std::size_t axis = 0, at = 0; axis < rank; ++axis) {
        if (reduced[axis] && !kept)
            continue;
        if (at++ == cut.axis)
            return reduced[axis] ? Cuts() : ofData(draft, node, {axis, cut.begin, cut.extent});
    }
    return std::nullopt;
}

Cuts concat(const Draft& draft, NodeNo node, const Cut& cut) {
    const auto axis = axisAttribute(draft, node, 0, rankOf(draft, draft.output(node)));
    return axis && *axis != cut.axis ? Cuts(OperandCuts(draft.operands(node).size(), cut)) : std::nullopt;
}

Cuts gather(const Draft& draft, NodeNo node, const Cut& cut) {
    const std::size_t rank = rankOf(draft, draft.operand(node, 0)), positions = rankOf(draft, draft.operand(node, 1));
    const auto axis = axisAttribute(draft, node, 0, rank);
    if (!axis)
        return std::nullopt;
    if (cut.axis >= *axis && cut.axis < *axis + positions)
        return OperandCuts{std::nullopt, Cut{cut.axis - *axis, cut.begin, cut.extent}};
    return OperandCuts{Cut{cut.axis < *axis ? cut.axis : cut.axis + 1 - positions, cut.begin, cut.extent}, std::nullopt};
}

// Of pictures: one after the other, and channels of dense convolutions.
Cuts convolution(const Draft& draft, NodeNo node, const Cut& cut) {
    if (cut.axis == 0)
        return ofData(draft, node, cut);
    if (cut.axis != 1 || draft.op(node).intAttr("group", 1) != 1)
        return std::nullopt;
    OperandCuts cuts(draft.operands(node).size(), Cut{0, cut.begin, cut.extent});
    cuts[0] = std::nullopt;
    if (draft.operand(node, 2) == kNone && cuts.size() > 2)
        cuts[2] = std::nullopt;
    return cuts;
}

Cuts pool(const Draft& draft, NodeNo node, const Cut& cut) { return cut.axis < 2 ? Cuts(ofData(draft, node, cut)) : std::nullopt; }

bool isElementwise(const Draft& draft, NodeNo node) {
    return mappedOperand(draft, node) || isOneOf(draft.op(node).op, {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Where", "And", "Or", "Equal", "Less", "Greater"});
}

} // namespace

std::optional<Cut> cutOf(const Draft& draft, NodeNo slice) {
    if (!draft.is(slice, "Slice") || !isPlain(draft, slice))
        return std::nullopt;
    const Shape &from = draft.shape(draft.operand(slice, 0)), &to = draft.shape(draft.output(slice));
    const auto starts = numbersOf(draft, slice, "starts", 1), steps = numbersOf(draft, slice, "steps", 4);
    auto axes = numbersOf(draft, slice, "axes", 3);
    const bool unknown = (!axes && draft.operand(slice, 3) != kNone) || (!steps && draft.operand(slice, 4) != kNone);
    if (!starts || unknown || (steps && std::ranges::any_of(*steps, [](std::int64_t step) { return step != 1; })))
        return std::nullopt;
    if (!axes) {
        axes.emplace(starts->size());
        std::iota(axes->begin(), axes->end(), std::int64_t(0));
    }
    std::optional<Cut> cut;
    for (std::size_t i = 0; i < axes->size(); ++i) {
        const auto axis = static_cast<std::size_t>((*axes)[i] < 0 ? (*axes)[i] + static_cast<std::int64_t>(from.size()) : (*axes)[i]);
        if (to[axis] == from[axis])
            continue;
        if (cut || to[axis] == 0)
            return std::nullopt;
        const std::int64_t start = (*starts)[i] < 0 ? (*starts)[i] + from[axis] : (*starts)[i];
        cut = Cut{axis, std::clamp<std::int64_t>(start, 0, from[axis]), to[axis]};
    }
    return cut;
}

ValueNo addSlice(Draft& draft, ValueNo value, const Cut& cut) {
    if (value == kNone || draft.shape(value)[cut.axis] == cut.extent)
        return value;
    const std::vector<std::int64_t> axes{static_cast<std::int64_t>(cut.axis)}, starts{cut.begin}, ends{cut.begin + cut.extent};
    if (draft.table().opset() < 10)
        return draft.add("Slice", {value}, {{"axes", axes}, {"starts", starts}, {"ends", ends}});
    const ValueNo first = draft.constant(Tensor::ofInts(starts)), last = draft.constant(Tensor::ofInts(ends));
    return draft.add("Slice", {value, first, last, draft.constant(Tensor::ofInts(axes))});
}

std::optional<OperandCuts> operandCuts(const Draft& draft, NodeNo node, const Cut& cut) {
    if (draft.node(node).outputs != 1 || !isPlain(draft, node))
        return std::nullopt;
    const std::string& op = draft.op(node).op;
    if (isElementwise(draft, node))
        return elementwise(draft, node, cut);
    if (isReshape(draft, node))
        return reshape(draft, node, cut);
    if (isOneOf(op, {"Softmax", "LogSoftmax", "LayerNormalization"}))
        return normalization(draft, node, cut);
    if (isOneOf(op, {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"}))
        return reduction(draft, node, cut);
    if (isOneOf(op, {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}))
        return pool(draft, node, cut);
    if (op == "MatMul")
        return matmul(draft, node, cut);
    if (op == "Gemm")
        return gemm(draft, node, cut);
    if (op == "Conv")
        return convolution(draft, node, cut);
    if (op == "Transpose")
        return transpose(draft, node, cut);
    if (op == "Concat")
        return concat(draft, node, cut);
    return op == "Gather" ? gather(draft, node, cut) : std::nullopt;
}

ValueNo cutAgain(Draft& draft, NodeNo node, const Cut& cut, const OperandCuts& cuts) {
    Shape shape = draft.shape(draft.output(node));
    shape[cut.axis] = cut.extent;
    std::vector<ValueNo> operands = operandsOf(draft, node);
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (cuts[i])
            operands[i] = addSlice(draft, operands[i], *cuts[i]);
    return isReshape(draft, node) ? addReshape(draft, operands[0], shape) : again(draft, node, std::move(operands));
}

} // namespace tunesmith::rewrite
