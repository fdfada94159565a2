// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/body_types.h"

#include <algorithm>

namespace tunesmith {
namespace {

constexpr std::size_t kLoopOwn = 2; // the number of the turn and the condition

BodyOperands loopOperands(const OpInputs& in) {
    BodyOperands operands;
    operands.types = {TensorType(DType::i64, Shape{}), TensorType(DType::boolean, Shape{})};
    for (std::size_t i = kLoopOwn; i < in.count(); ++i)
        operands.types.push_back(in.type(i));
    operands.firstState = kLoopOwn;
    operands.states = operands.types.size() - kLoopOwn;
    operands.firstResult = 1;
    return operands;
}

// One slice of what is walked through.
TensorType sliced(TensorType type, std::int64_t axis) {
    if (!type.dims)
        return type;
    const auto rank = static_cast<std::int64_t>(type.dims->size());
    if (axis < -rank || axis >= rank)
        return TensorType(type.dtype);
    type.dims->erase(type.dims->begin() + (axis < 0 ? axis + rank : axis));
    return type;
}

std::optional<BodyOperands> scanOperands(const OpInputs& in) {
    const std::int64_t scanned = in.node.intAttr("num_scan_inputs", 0);
    if (in.opset < 9 || scanned < 1 || scanned > static_cast<std::int64_t>(in.count()))
        return std::nullopt;
    BodyOperands operands;
    operands.states = in.count() - static_cast<std::size_t>(scanned);
    const std::vector<std::int64_t> axes = in.node.intsAttr("scan_input_axes");
    for (std::size_t i = 0; i < in.count(); ++i) {
        const std::size_t walked = i - operands.states;
        operands.types.push_back(i < operands.states ? in.type(i) : sliced(in.type(i), walked < axes.size() ? axes[walked] : 0));
    }
    return operands;
}

// An element of each sequence, and what is no sequence whole.
BodyOperands mapOperands(const OpInputs& in) {
    BodyOperands operands;
    for (std::size_t i = 0; i < in.count(); ++i)
        operands.types.push_back(in.type(i).is(OpaqueType::Kind::sequence) ? *in.type(i).opaque->element : in.type(i));
    return operands;
}

} // namespace

TensorType commonType(const TensorType& a, const TensorType& b) {
    using Kind = OpaqueType::Kind;
    if (a == b)
        return a;
    if (a.is(Kind::sequence) && b.is(Kind::sequence))
        return TensorType::sequenceOf(commonType(*a.opaque->element, *b.opaque->element));
    if (a.is(Kind::optional) && b.is(Kind::optional))
        return TensorType::optionalOf(commonType(*a.opaque->element, *b.opaque->element));
    if (a.opaque || b.opaque)
        return {};
    TensorType common(a.dtype == b.dtype ? a.dtype : DType::undefined);
    if (!a.dims || !b.dims || a.dims->size() != b.dims->size())
        return common;
    common.dims = a.dims;
    for (std::size_t d = 0; d < a.dims->size(); ++d)
        if (!((*a.dims)[d] == (*b.dims)[d]))
            (*common.dims)[d] = Dim();
    return common;
}

bool covers(const TensorType& general, const TensorType& special) { return commonType(general, special) == general; }

std::optional<BodyOperands> bodyOperands(const OpInputs& in) {
    if (!in.node.domain.empty())
        return std::nullopt;
    return in.node.op == "Loop"          ? std::optional(loopOperands(in))
           : in.node.op == "Scan"        ? scanOperands(in)
           : in.node.op == "SequenceMap" ? std::optional(mapOperands(in))
                                         : std::nullopt;
}

bool isSteady(const OpInputs& in, const Graph& body) {
    const auto operands = bodyOperands(in);
    if (!operands || body.inputs().size() != operands->types.size() || body.outputs().size() < operands->firstResult + operands->states)
        return false;
    for (std::size_t i = 0; i < operands->types.size(); ++i)
        if (!covers(body.value(body.inputs()[i]).type, operands->types[i]))
            return false;
    for (std::size_t i = 0; i < operands->states; ++i)
        if (!covers(body.value(body.inputs()[operands->firstState + i]).type, body.value(body.outputs()[operands->firstResult + i]).type))
            return false;
    return true;
}

} // namespace tunesmith
