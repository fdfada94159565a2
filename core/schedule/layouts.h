// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>

#include "core/codegen/target.h"
#include "core/loops/layout.h"
#include "core/schedule/group.h"

namespace tunesmith {

// The layout of each value between kernels, row-major where it is not named. Kernels can read any layout, so only aliases and
// model outputs need a conversion, and what `reads` asks for: that a group, known by its first node, is given a copy.
struct LayoutPlan {
    std::map<ValueId, loops::Layout> values;
    std::map<std::pair<NodeId, ValueId>, loops::Layout> reads;
    bool operator==(const LayoutPlan&) const = default;
};

// Without measuring: feature maps that convolutions make are kept in blocks of channels as wide as a vector (NCHW16c) and stay so
// through pools, elementwise operators and concatenation; windows over row-major maps make blocks, too, where half a vector divides the channels;
// model inputs and everything else is row-major.
LayoutPlan chooseLayouts(const Graph& graph, const std::vector<KernelGroup>& groups, const Target& target);
loops::Layout layoutOf(const LayoutPlan& plan, const Graph& graph, ValueId value);
loops::Layout readLayoutOf(const LayoutPlan& plan, const Graph& graph, const KernelGroup& group, ValueId value); // in which the group gets it

// Whether values of this rank are kept so between kernels: by rows, or with channels in blocks of 4, 8 or 16.
bool mayLieBetweenKernels(const loops::Layout& layout, std::size_t rank);

// Layouts are planned for maps of channels: float32 values of rank 4.
bool isFeatureMap(const Value& value);
bool mayChooseLayout(const Graph& graph, const KernelGroup& group); // of what the group makes
// Whether it is worth asking in which layout: convolutions and what carries their channels on.
bool carriesChannels(const Graph& graph, const KernelGroup& group);
// How many values and readers of `b` have other layouts than `a` gives them.
std::size_t differencesOf(const LayoutPlan& a, const LayoutPlan& b);
// Whether modules can be built with a plan from elsewhere; an Error names the value.
Status checkLayoutPlan(const LayoutPlan& plan, const Graph& graph, const std::vector<KernelGroup>& groups, const Target& target);

// Whether both layouts put this shape's elements in the same places (a blocked 1x64x1x1 is row-major).
bool sameOrder(const loops::Layout& a, const loops::Layout& b, const Shape& shape);
bool isRowMajorOrder(const loops::Layout& layout, const Shape& shape);
std::int64_t channelBlock(const loops::Layout& layout); // of a blocked(4, 1, block) layout; 1 for others

} // namespace tunesmith
