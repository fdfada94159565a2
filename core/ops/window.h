// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith::ops {

// Sliding windows of convolutions and pools over any number of spatial dimensions.
struct Window {
    std::int64_t kernel = 1, stride = 1, dilation = 1, padBegin = 0, padEnd = 0;
    std::int64_t span() const { return (kernel - 1) * dilation + 1; }
};

enum class AutoPad : std::uint8_t { notSet, sameUpper, sameLower, valid };

// What the node's attributes say, before the input's extents are known.
struct WindowAttributes {
    std::vector<Window> dims;
    AutoPad autoPad = AutoPad::notSet;
    bool ceilMode = false;
};

// The windows over an input of known extents: pads are resolved.
struct WindowGeometry {
    std::vector<Window> dims;
    Shape input, output; // spatial extents
    bool ceilMode = false;
    std::size_t rank() const { return dims.size(); }
    // Whether a window can leave the input before its begin or behind its end.
    bool leavesBegin(std::size_t d) const { return dims[d].padBegin > 0; }
    bool leavesEnd(std::size_t d) const {
        return (output[d] - 1) * dims[d].stride - dims[d].padBegin + dims[d].span() > input[d];
    }
    bool leaves(std::size_t d) const { return leavesBegin(d) || leavesEnd(d); }
};

Shape spatialExtents(const Shape& shape); // of [N, C, spatial ...]
// Reads strides, dilations, pads, auto_pad and ceil_mode; errors are without the node's name.
Result<WindowAttributes> readWindows(const Node& node, const Shape& kernel);
Result<WindowGeometry> windowGeometry(const WindowAttributes& attributes, const Shape& input);
// The shape rule: a dimension that windows do not change keeps its name, an unknown one becomes unknown.
Result<Dims> windowedDims(const WindowAttributes& attributes, const Dims& input);

// The index that tap `k` of the window of output index `o` reads, and the condition under which it lies inside.
loops::Expr tapIndex(const Window& window, const loops::Expr& o, const loops::Expr& k);
loops::Expr tapGuard(const WindowGeometry& geometry, const std::vector<loops::Expr>& taps); // none when never needed

// Steps a row-major index; false after the last.
bool nextIndex(Shape& index, const Shape& extents);

// The taps [first, last) of window `w` at output index `o` that lie inside an input of `extent`.
struct TapRange {
    std::int64_t first, last;
};
TapRange tapsInside(const Window& w, std::int64_t o, std::int64_t extent);

} // namespace tunesmith::ops
