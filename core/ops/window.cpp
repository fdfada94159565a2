// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/window.h"

#include <algorithm>

namespace tunesmith::ops {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 30; // keeps products of two within 62 bits

Result<Shape> readList(const Node& node, const char* name, std::size_t size, std::int64_t fallback, std::int64_t least) {
    const Shape list = node.intsAttr(name, Shape(size, fallback));
    if (list.size() != size)
        return inputError(std::string(name) + " has " + std::to_string(list.size()) + " values but " +
                          std::to_string(size) + " are needed");
    for (const std::int64_t value : list)
        if (value < least || value > kMost)
            return inputError(std::string(name) + " " + attributeText(list) + " has a value out of range");
    return list;
}

Result<AutoPad> readAutoPad(const Node& node) {
    const std::string text = node.stringAttr("auto_pad", "NOTSET");
    if (text == "NOTSET" || text.empty())
        return AutoPad::notSet;
    if (text == "SAME_UPPER")
        return AutoPad::sameUpper;
    if (text == "SAME_LOWER")
        return AutoPad::sameLower;
    if (text == "VALID")
        return AutoPad::valid;
    return inputError("auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, not '" + text + "'");
}

bool isSame(AutoPad autoPad) { return autoPad == AutoPad::sameUpper || autoPad == AutoPad::sameLower; }

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; } // a >= 0

// Resolves SAME pads in `window` and returns the output's extent; not positive when the window does not fit.
std::int64_t slide(Window& window, const WindowAttributes& attributes, std::int64_t extent) {
    if (isSame(attributes.autoPad)) {
        const std::int64_t output = ceilDiv(extent, window.stride);
        const std::int64_t total = std::max<std::int64_t>((output - 1) * window.stride + window.span() - extent, 0);
        const std::int64_t smaller = total / 2;
        window.padBegin = attributes.autoPad == AutoPad::sameUpper ? smaller : total - smaller;
        window.padEnd = total - window.padBegin;
        return output;
    }
    const std::int64_t room = extent + window.padBegin + window.padEnd - window.span();
    if (room < 0)
        return 0;
    if (!attributes.ceilMode)
        return room / window.stride + 1;
    const std::int64_t output = ceilDiv(room, window.stride) + 1;
    // A window that would start behind the input (in the padding at its end) does not count.
    return (output - 1) * window.stride >= extent + window.padBegin ? output - 1 : output;
}

Error doesNotFit(const Window& window, std::int64_t extent) {
    return inputError("a window of " + std::to_string(window.kernel) + " (dilation " + std::to_string(window.dilation) +
                      ", pads " + std::to_string(window.padBegin) + " and " + std::to_string(window.padEnd) +
                      ") does not fit into an extent of " + std::to_string(extent));
}

} // namespace

Shape spatialExtents(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

Result<WindowAttributes> readWindows(const Node& node, const Shape& kernel) {
    const std::size_t rank = kernel.size();
    WindowAttributes attributes;
    TS_ASSIGN(attributes.autoPad, readAutoPad(node));
    TS_ASSIGN(const Shape strides, readList(node, "strides", rank, 1, 1));
    TS_ASSIGN(const Shape dilations, readList(node, "dilations", rank, 1, 1));
    TS_ASSIGN(const Shape pads, readList(node, "pads", 2 * rank, 0, 0));
    attributes.ceilMode = node.intAttr("ceil_mode", 0) != 0;
    for (std::size_t d = 0; d < rank; ++d) {
        if (kernel[d] < 1 || kernel[d] > kMost)
            return inputError("a window of " + shapeText(kernel) + " is not possible");
        Window window{kernel[d], strides[d], dilations[d], 0, 0};
        if (attributes.autoPad == AutoPad::notSet) {
            window.padBegin = pads[d];
            window.padEnd = pads[rank + d];
        }
        attributes.dims.push_back(window);
    }
    return attributes;
}

Result<WindowGeometry> windowGeometry(const WindowAttributes& attributes, const Shape& input) {
    WindowGeometry geometry{attributes.dims, input, {}, attributes.ceilMode};
    for (std::size_t d = 0; d < input.size(); ++d) {
        const std::int64_t extent = slide(geometry.dims[d], attributes, input[d]);
        if (extent <= 0)
            return doesNotFit(geometry.dims[d], input[d]);
        geometry.output.push_back(extent);
    }
    return geometry;
}

Result<Dims> windowedDims(const WindowAttributes& attributes, const Dims& input) {
    Dims output;
    for (std::size_t d = 0; d < input.size(); ++d) {
        Window window = attributes.dims[d];
        if (!input[d].known()) {
            const bool kept = window.stride == 1 && (isSame(attributes.autoPad) ||
                                                     window.padBegin + window.padEnd == window.span() - 1);
            output.push_back(kept ? input[d] : Dim());
            continue;
        }
        const std::int64_t extent = slide(window, attributes, input[d].extent);
        if (extent <= 0)
            return doesNotFit(window, input[d].extent);
        output.emplace_back(extent);
    }
    return output;
}

loops::Expr tapIndex(const Window& window, const loops::Expr& o, const loops::Expr& k) {
    const loops::Expr start = o * loops::Expr(window.stride);
    const loops::Expr tap = window.kernel == 1 ? start : start + k * loops::Expr(window.dilation);
    return window.padBegin == 0 ? tap : tap - loops::Expr(window.padBegin);
}

loops::Expr tapGuard(const WindowGeometry& geometry, const std::vector<loops::Expr>& taps) {
    loops::Expr guard;
    const auto require = [&](const loops::Expr& condition) { guard = guard.valid() ? guard && condition : condition; };
    for (std::size_t d = 0; d < taps.size(); ++d) {
        if (geometry.leavesBegin(d))
            require(taps[d] >= loops::Expr(0));
        if (geometry.leavesEnd(d))
            require(taps[d] < loops::Expr(geometry.input[d]));
    }
    return guard;
}

bool nextIndex(Shape& index, const Shape& extents) {
    for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < extents[d])
            return true;
        index[d] = 0;
    }
    return false;
}

TapRange tapsInside(const Window& w, std::int64_t o, std::int64_t extent) {
    const std::int64_t start = o * w.stride - w.padBegin;
    const std::int64_t first = start >= 0 ? 0 : ceilDiv(-start, w.dilation);
    const std::int64_t last = extent <= start ? 0 : std::min(w.kernel, ceilDiv(extent - start, w.dilation));
    return {std::min(first, w.kernel), std::max(last, std::min(first, w.kernel))};
}

} // namespace tunesmith::ops
