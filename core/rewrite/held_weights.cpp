// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/held_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "core/rewrite/evaluate.h"

namespace tunesmith::rewrite {
namespace {

bool isNarrow(DType type) { return type == DType::f16 || type == DType::bf16; }
double largestOf(DType type) { return type == DType::f16 ? 65504 : 0x1.fep127; }
double leastNormalOf(DType type) { return type == DType::f16 ? 0x1p-14 : 0x1p-126; }

bool isArithmetic(const Node& node) {
    constexpr std::array<std::string_view, 5> kOps{"Add", "Div", "Mul", "Sub", "Cast"};
    return node.domain.empty() && std::ranges::find(kOps, node.op) != kOps.end();
}

// Whether anything is computed for a weight, and whether the constants at the beginning are finite.
struct Origin {
    bool computed = false, finite = true;
};

bool isFinite(const Tensor& tensor) {
    for (std::int64_t i = 0; isFloat(tensor.type()) && i < tensor.count(); ++i)
        if (!std::isfinite(tensor.asDouble(i)))
            return false;
    return true;
}

Origin originOf(const Draft& draft, ValueNo weights) {
    Origin origin;
    std::set<ValueNo> seen{kNone};
    for (std::vector<ValueNo> open{weights}; !open.empty();) {
        const ValueNo value = open.back();
        open.pop_back();
        if (!seen.insert(value).second)
            continue;
        const NodeNo maker = draft.value(value).maker;
        if (maker == kNone) {
            origin.finite = origin.finite && isFinite(*draft.constant(value));
            continue;
        }
        origin.computed = origin.computed || isArithmetic(draft.op(maker));
        for (const ValueNo operand : draft.operands(maker))
            open.push_back(operand);
    }
    return origin;
}

// The largest magnitude of each position along one axis.
std::vector<double> largestAlong(const Tensor& tensor, std::size_t axis) {
    const std::int64_t extent = tensor.shape()[axis], stride = rowMajorStrides(tensor.shape())[axis];
    std::vector<double> largest(static_cast<std::size_t>(extent), 0);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
        double& one = largest[static_cast<std::size_t>(i / stride % extent)];
        one = std::max(one, std::abs(tensor.asDouble(i)));
    }
    return largest;
}

bool fits(const Tensor& tensor, DType type) {
    const auto isOutside = [type](double largest) { return !(largest <= largestOf(type)) || (largest > 0 && largest < leastNormalOf(type)); };
    if (tensor.rank() < 2) { // summands: what they lose is nothing beside the sum
        for (std::int64_t i = 0; i < tensor.count(); ++i)
            if (!(std::abs(tensor.asDouble(i)) <= largestOf(type)))
                return false;
        return true;
    }
    return std::ranges::none_of(largestAlong(tensor, 0), isOutside) && std::ranges::none_of(largestAlong(tensor, tensor.rank() - 1), isOutside);
}

// Weights before they are rounded to their type.
ValueNo unrounded(const Draft& draft, ValueNo weights) {
    const NodeNo cast = draft.maker(weights, "Cast");
    return cast == kNone ? weights : draft.operand(cast, 0);
}

bool holds(const Draft& draft, ValueNo weights) {
    const Origin origin = originOf(draft, weights);
    if (!origin.computed || !origin.finite)
        return true; // moved about only, or not a number before
    const auto value = evaluateWeight(draft, unrounded(draft, weights));
    return !value.ok() || (isFinite(*value) && fits(*value, draft.dtype(weights)));
}

} // namespace

bool holdsNewWeights(Draft& draft, NodeNo firstNew) {
    for (NodeNo node = firstNew; node < draft.nodes(); ++node) {
        if (draft.isWeight(draft.output(node)))
            continue;
        for (const ValueNo operand : draft.operands(node)) {
            if (!draft.isWeight(operand) || draft.constant(operand) || !isNarrow(draft.dtype(operand)))
                continue;
            const std::uint64_t label = draft.value(operand).label;
            if (!draft.table().held(label))
                draft.table().remember(label, holds(draft, operand));
            if (!*draft.table().held(label))
                return false;
        }
    }
    return true;
}

} // namespace tunesmith::rewrite
