// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/kernel.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"
#include "core/ops/window.h"

// Col2Im: columns [N, C * block, positions] are added up into images [N, C, spatial...]; the inverse of unfolding
// windows.
namespace tunesmith::ops {
namespace {

Result<WindowGeometry> geometryOf(const Node& node, const Shape& image, const Shape& block) {
    if (image.empty() || image.size() != block.size())
        return inputError("image_shape has " + std::to_string(image.size()) + " extents and block_shape " +
                          std::to_string(block.size()));
    if (image.size() > kMostDimensions - 2)
        return inputError("image_shape has " + std::to_string(image.size()) + " extents, and images have at most " + std::to_string(kMostDimensions - 2));
    const auto possible = [](const Shape& shape) { return std::ranges::min(shape) >= 1 && checkedElementCount(shape); };
    if (!possible(image) || !possible(block))
        return inputError("image_shape " + shapeText(image) + " and block_shape " + shapeText(block) + " are not possible");
    TS_ASSIGN(const WindowAttributes attributes, readWindows(node, block));
    TS_ASSIGN(WindowGeometry geometry, windowGeometry(attributes, image));
    if (!checkedElementCount(geometry.output))
        return inputError("image_shape " + shapeText(image) + " has too many windows");
    return geometry;
}

Status inferCol2Im(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireIndexType(in, 1));
    TS_TRY(requireIndexType(in, 2));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.isConstant(1) || !in.isConstant(2))
        return {};
    const Shape image = in.constant(1).asInts(), block = in.constant(2).asInts();
    const auto geometry = geometryOf(in.node, image, block);
    if (!geometry.ok())
        return in.error(geometry.error().message);
    Dims dims{Dim(), Dim()};
    if (in.type(0).dims) {
        const Dims& x = *in.type(0).dims;
        const std::int64_t taps = elementCount(block);
        if (x.size() != 3 || (x[1].known() && x[1].extent % taps != 0) ||
            !mergeEqual(x[2], Dim(elementCount(geometry->output))))
            return in.error("input " + in.type(0).text() + " does not hold " +
                            std::to_string(elementCount(geometry->output)) + " windows of " + std::to_string(taps) +
                            " elements");
        dims = {x[0], x[1].known() ? Dim(x[1].extent / taps) : Dim()};
    }
    for (const std::int64_t extent : image)
        dims.emplace_back(extent);
    in.outputs[0].dims = std::move(dims);
    return {};
}

// The element of the image that a tap of a window belongs to; -1 in the padding.
std::int64_t targetOf(const WindowGeometry& g, const Shape& window, const Shape& tap) {
    std::int64_t target = 0;
    for (std::size_t d = 0; d < g.rank(); ++d) {
        const Window& w = g.dims[d];
        const std::int64_t at = window[d] * w.stride + tap[d] * w.dilation - w.padBegin;
        if (at < 0 || at >= g.input[d])
            return -1;
        target = target * g.input[d] + at;
    }
    return target;
}

template <class T> void addColumns(EvalContext& context, const WindowGeometry& g, const Shape& block) {
    const std::int64_t planes = context.outputs[0].shape()[0] * context.outputs[0].shape()[1];
    const std::int64_t pixels = elementCount(g.input);
    const T* x = context.input(0).data<T>().data();
    T* const y = context.outputs[0].mutableData<T>().data();
    for (std::int64_t plane = 0; plane < planes; ++plane) {
        Shape tap(block.size(), 0);
        do {
            Shape window(block.size(), 0);
            do {
                const std::int64_t target = targetOf(g, window, tap);
                if (target >= 0)
                    y[plane * pixels + target] =
                        wrapping(y[plane * pixels + target], *x, [](auto a, auto b) { return a + b; });
                ++x;
            } while (nextIndex(window, g.output));
        } while (nextIndex(tap, block));
    }
}

Status evalCol2Im(EvalContext& context) {
    const Shape block = context.input(2).asInts();
    TS_ASSIGN(const WindowGeometry geometry, geometryOf(context.node, context.input(1).asInts(), block));
    if (elementCount(geometry.output) == 0)
        return {};
    visitNumeric(context.outputs[0].type(), [&](auto tag) { addColumns<decltype(tag)>(context, geometry, block); });
    return {};
}

} // namespace

void registerCol2Im(OperatorList& list) {
    addOperator(list, "Col2Im", Fusion::opaque, 18, {3, 3}, inferCol2Im, evalCol2Im);
}

} // namespace tunesmith::ops
