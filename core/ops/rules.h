// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith::ops {

// Pieces of shape rules. An element type that is not known yet (undefined) passes every check.
bool isNumeric(DType type); // floats and integers, not bool

Status requireType(const OpInputs& in, std::size_t index, bool (*allowed)(DType), const char* wanted);
Status requireFloat(const OpInputs& in, std::size_t index);
Status requireNumeric(const OpInputs& in, std::size_t index);
Status requireTruth(const OpInputs& in, std::size_t index);
Status requireSameType(const OpInputs& in, std::size_t first, std::size_t second);
Status requireSameShape(const OpInputs& in, std::size_t first, std::size_t second); // where both are known
Status requireOneElement(const OpInputs& in, std::size_t index); // where its shape is known

// "inputs float32[2,3] and float32[4] " + what.
Error pairError(const OpInputs& in, std::size_t first, std::size_t second, const std::string& what);

// An axis counted from the front; negative ones count from the back.
Result<std::size_t> frontAxis(const OpInputs& in, std::int64_t axis, std::size_t rank);
inline std::size_t frontAxis(std::int64_t axis, std::size_t rank) { // of an axis that was checked
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

inline constexpr std::size_t kMostDimensions = 255; // of a tensor
inline constexpr std::int64_t kMostHeads = std::int64_t{1} << 20; // of attention, as attributes count them

// The dimensions of a result whose shape stands in input `index`, a list of known length, as long as its numbers are not known.
Result<Dims> openDims(const OpInputs& in, std::size_t index);

// What two dimensions that must be equal are: the known or named one. nullopt when they cannot be equal.
std::optional<Dim> mergeEqual(const Dim& a, const Dim& b);

// Rules that several operators share.
Status inferSameAsFirst(InferContext& in);  // output 0 has the type of input 0
Status inferFloatUnary(InferContext& in);   // the same, floats only
Status inferNumericUnary(InferContext& in); // the same, numbers only

} // namespace tunesmith::ops
