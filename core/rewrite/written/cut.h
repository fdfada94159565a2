// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// A run of positions along one axis.
struct Cut {
    std::size_t axis = 0;
    std::int64_t begin = 0, extent = 0;
    bool operator==(const Cut&) const = default;
};

// What a Slice takes out, if it takes neighbours along one axis and everything along the others.
std::optional<Cut> cutOf(const Draft& draft, NodeNo slice);
ValueNo addSlice(Draft& draft, ValueNo value, const Cut& cut); // the value itself where the cut is all of it

// What a node's operands have to be cut to so that the node computes a cut of its first result and no more: by operand, nothing where all of it
// is needed. Nothing at all where results depend on each other along the axis, or the operator is not known to be of such a kind.
using OperandCuts = std::vector<std::optional<Cut>>;
std::optional<OperandCuts> operandCuts(const Draft& draft, NodeNo node, const Cut& cut);

// The node on cut operands.
ValueNo cutAgain(Draft& draft, NodeNo node, const Cut& cut, const OperandCuts& cuts);

} // namespace tunesmith::rewrite
