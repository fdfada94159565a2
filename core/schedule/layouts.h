// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>

#include "core/codegen/target.h"
#include "core/loops/layout.h"
#include "core/schedule/group.h"

namespace tunesmith {

// The layout of each value between kernels. Feature maps that convolutions make are kept in blocks of channels as wide as
// a vector (NCHW16c) and stay so through pools, elementwise operators and concatenation; model inputs and everything else
// is row-major. Kernels can read any layout, so only aliases and model outputs need a conversion.
using LayoutPlan = std::map<ValueId, loops::Layout>;

LayoutPlan chooseLayouts(const Graph& graph, const std::vector<KernelGroup>& groups, const Target& target);
loops::Layout layoutOf(const LayoutPlan& plan, const Graph& graph, ValueId value); // row-major when not in the plan

// Whether both layouts put this shape's elements in the same places (a blocked 1x64x1x1 is row-major).
bool sameOrder(const loops::Layout& a, const loops::Layout& b, const Shape& shape);
bool isRowMajorOrder(const loops::Layout& layout, const Shape& shape);
std::int64_t channelBlock(const loops::Layout& layout); // of a blocked(4, 1, block) layout; 1 for others

} // namespace tunesmith
