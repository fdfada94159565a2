// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/rules.h"

#include <algorithm>

namespace tunesmith::ops {

bool isNumeric(DType type) { return isFloat(type) || isInteger(type); }

Status requireType(const OpInputs& in, std::size_t index, bool (*allowed)(DType), const char* wanted) {
    const DType type = in.type(index).dtype;
    if (type == DType::undefined || allowed(type))
        return {};
    return in.error("input " + std::to_string(index) + " is " + std::string(dtypeName(type)) + " but must be " + wanted);
}

Status requireFloat(const OpInputs& in, std::size_t index) {
    return requireType(in, index, isFloat, "a floating-point type");
}

Status requireNumeric(const OpInputs& in, std::size_t index) { return requireType(in, index, isNumeric, "numeric"); }

Status requireTruth(const OpInputs& in, std::size_t index) {
    return requireType(in, index, [](DType type) { return type == DType::boolean; }, "bool");
}

Status requireSameType(const OpInputs& in, std::size_t first, std::size_t second) {
    const DType a = in.type(first).dtype, b = in.type(second).dtype;
    if (a == b || a == DType::undefined || b == DType::undefined)
        return {};
    return pairError(in, first, second, "must have the same element type");
}

Status requireSameShape(const OpInputs& in, std::size_t first, std::size_t second) {
    const auto &a = in.type(first).dims, &b = in.type(second).dims;
    if (!a || !b || std::ranges::equal(*a, *b, [](const Dim& x, const Dim& y) { return mergeEqual(x, y).has_value(); }))
        return {};
    return pairError(in, first, second, "must have the same shape");
}

Status requireOneElement(const OpInputs& in, std::size_t index) {
    if (in.type(index).isStatic() && elementCount(in.type(index).shape()) != 1)
        return in.error("input " + std::to_string(index) + " is " + in.type(index).text() + " but must be a scalar");
    return {};
}

Error pairError(const OpInputs& in, std::size_t first, std::size_t second, const std::string& what) {
    return in.error("inputs " + in.type(first).text() + " and " + in.type(second).text() + " " + what);
}

Result<std::size_t> frontAxis(const OpInputs& in, std::int64_t axis, std::size_t rank) {
    const auto signedRank = static_cast<std::int64_t>(rank);
    if (axis < -signedRank || axis >= signedRank)
        return in.error("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
    return frontAxis(axis, rank);
}

std::optional<Dim> mergeEqual(const Dim& a, const Dim& b) {
    if (a.known() && b.known())
        return a.extent == b.extent ? std::optional<Dim>(a) : std::nullopt;
    if (a.known() || b.known())
        return a.known() ? a : b;
    return a.symbol.empty() ? b : a;
}

Result<Dims> openDims(const OpInputs& in, std::size_t index) {
    const auto count = static_cast<std::size_t>(in.type(index).dims->front().extent);
    if (count > kMostDimensions)
        return in.error("would make a tensor of " + std::to_string(count) + " dimensions, and at most " + std::to_string(kMostDimensions) +
                        " are possible");
    return Dims(count);
}

Status inferSameAsFirst(InferContext& in) {
    in.outputs[0] = in.type(0);
    return {};
}

Status inferFloatUnary(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    return inferSameAsFirst(in);
}

Status inferNumericUnary(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    return inferSameAsFirst(in);
}

} // namespace tunesmith::ops
