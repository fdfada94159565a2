// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/kernel.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

// AffineGrid: the positions that GridSample reads to apply an affine map theta [N, 2, 3] or [N, 3, 4] to an image of a
// size (N, C, H, W) or (N, C, D, H, W).
namespace tunesmith::ops {
namespace {

Status inferAffineGrid(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.isConstant(1))
        return {};
    const std::vector<std::int64_t> size = in.constant(1).asInts();
    if (in.constant(1).rank() != 1 || (size.size() != 4 && size.size() != 5))
        return in.error("the size must have 4 or 5 numbers, not " + std::to_string(size.size()));
    for (const std::int64_t extent : size)
        if (extent < 1)
            return in.error("the size has an extent of " + std::to_string(extent));
    const auto spatial = static_cast<std::int64_t>(size.size()) - 2;
    const Dims wanted{Dim(size[0]), Dim(spatial), Dim(spatial + 1)};
    const Dims theta = in.type(0).dims.value_or(wanted);
    bool fits = theta.size() == 3;
    for (std::size_t d = 0; fits && d < 3; ++d)
        fits = mergeEqual(theta[d], wanted[d]).has_value();
    if (!fits)
        return in.error("input " + in.type(0).text() + " is no list of affine maps for the size " + shapeText(size));
    in.outputs[0].dims = Dims{Dim(size[0])};
    in.outputs[0].dims->insert(in.outputs[0].dims->end(), size.begin() + 2, size.end());
    in.outputs[0].dims->push_back(Dim(spatial));
    return {};
}

// The coordinate of the i-th of n elements between -1 and 1; a single one that is aligned to both ends is at the upper
// one, as in ONNX Runtime.
double coordinateOf(std::int64_t i, std::int64_t n, bool alignCorners) {
    const auto index = static_cast<double>(i), count = static_cast<double>(n);
    if (!alignCorners)
        return (2 * index + 1) / count - 1;
    return n > 1 ? 2 * index / (count - 1) - 1 : 1;
}

template <class T> void fillGrid(EvalContext& context) {
    const bool alignCorners = context.node.intAttr("align_corners", 0) != 0;
    const Shape shape = context.outputs[0].shape();
    const Shape spatial(shape.begin() + 1, shape.end() - 1);
    const auto rank = static_cast<std::int64_t>(spatial.size());
    const T* const theta = context.input(0).data<T>().data();
    T* y = context.outputs[0].mutableData<T>().data();
    for (std::int64_t n = 0; n < shape[0] * elementCount(spatial); ++n) {
        const std::int64_t image = n / elementCount(spatial);
        std::vector<double> at; // x first, that is the last dimension
        for (std::int64_t rest = n % elementCount(spatial), d = rank; d-- > 0; rest /= spatial[d])
            at.push_back(coordinateOf(rest % spatial[d], spatial[d], alignCorners));
        at.push_back(1);
        for (std::int64_t row = 0; row < rank; ++row) {
            double sum = 0;
            for (std::int64_t k = 0; k <= rank; ++k)
                sum += static_cast<double>(theta[(image * rank + row) * (rank + 1) + k]) * at[k];
            *y++ = static_cast<T>(sum);
        }
    }
}

Status evalAffineGrid(EvalContext& context) {
    visitFloat(context.outputs[0].type(), [&](auto tag) { fillGrid<decltype(tag)>(context); });
    return {};
}

} // namespace

void registerAffineGrid(OperatorList& list) {
    addOperator(list, "AffineGrid", Fusion::opaque, 20, {2, 2}, inferAffineGrid, evalAffineGrid);
}

} // namespace tunesmith::ops
