// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/dense.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/window.h"

namespace tunesmith::ops {

// What Conv, ConvInteger and QLinearConv share: x [N, C, spatial...], w [M, C/group, kernel...], bias [M].

// Which inputs of the node these are; a bias that the operator does not have lies behind all inputs.
struct ConvInputs {
    std::size_t x, w, bias;
};
// The dimensions of the result; not known when a rank is not. Element types are the caller's business.
Result<std::optional<Dims>> convDims(const InferContext& in, const ConvInputs& inputs);
Result<WindowGeometry> convGeometry(const Node& node, const Shape& x, const Shape& w);

struct ConvSizes {
    std::int64_t batch, group, inPerGroup, outPerGroup, inPositions, outPositions, taps;
    ConvSizes(const WindowGeometry& g, const Shape& x, const Shape& w, std::int64_t groups)
        : batch(x[0]), group(groups), inPerGroup(w[1]), outPerGroup(w[0] / groups), inPositions(elementCount(g.input)),
          outPositions(elementCount(g.output)), taps(elementCount({w.begin() + 2, w.end()})) {}
};

// The stage `conv`: sums of products of what the two functions read at indices of x and w.
using ConvOperand = std::function<loops::Expr(const loops::Indices&)>;
loops::Stage convStage(const LowerContext& context, const WindowGeometry& g, const ConvSizes& s, DType type,
                       const ConvOperand& x, const ConvOperand& w);

// One row of the column matrix: what tap `taps` reads of one channel for the output positions [begin, end).
template <class T>
void gatherTap(const WindowGeometry& g, const T* channel, const Shape& taps, std::int64_t begin, std::int64_t end,
               T* row) {
    const std::size_t last = g.rank() - 1;
    const Shape inStrides = rowMajorStrides(g.input), outStrides = rowMajorStrides(g.output);
    const Window& inner = g.dims[last];
    for (std::int64_t p = begin; p < end;) {
        std::int64_t rest = p, offset = 0;
        bool inside = true;
        for (std::size_t d = 0; d < last; ++d) {
            const std::int64_t at =
                rest / outStrides[d] * g.dims[d].stride + taps[d] * g.dims[d].dilation - g.dims[d].padBegin;
            rest %= outStrides[d];
            inside = inside && at >= 0 && at < g.input[d];
            offset += at * inStrides[d];
        }
        const std::int64_t count = std::min(g.output[last] - rest, end - p);
        const std::int64_t shift = taps[last] * inner.dilation - inner.padBegin;
        const T* const source = inside ? channel + offset : nullptr;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t at = (rest + i) * inner.stride + shift;
            row[p - begin + i] = source && at >= 0 && at < g.input[last] ? source[at] : T{};
        }
        p += count;
    }
}

// One image and group: unfolds the input tile by tile into columns and multiplies the weights with them.
template <class T> void convolveGroup(const WindowGeometry& g, const ConvSizes& s, const T* x, const T* w, T* y) {
    constexpr std::int64_t kTile = 256, kDepth = 128;
    const std::int64_t depth = s.inPerGroup * s.taps;
    Shape kernel;
    for (const Window& window : g.dims)
        kernel.push_back(window.kernel);
    std::vector<T> columns(static_cast<std::size_t>(kTile * kDepth));
    for (std::int64_t p = 0; p < s.outPositions; p += kTile) {
        const std::int64_t end = std::min(p + kTile, s.outPositions);
        Shape tap(kernel.size(), 0);
        std::int64_t channel = 0;
        for (std::int64_t k0 = 0; k0 < depth; k0 += kDepth) {
            const std::int64_t rows = std::min(kDepth, depth - k0);
            for (std::int64_t k = 0; k < rows; ++k) {
                gatherTap(g, x + channel * s.inPositions, tap, p, end, columns.data() + k * kTile);
                if (!nextIndex(tap, kernel))
                    ++channel;
            }
            multiplyAccumulate(s.outPerGroup, end - p, rows, w + k0, depth, 1, columns.data(), kTile, y + p,
                               s.outPositions);
        }
    }
}

// y += x convolved with w, for all images and groups.
template <class T> void convolve(const WindowGeometry& g, const ConvSizes& s, const T* x, const T* w, T* y) {
    for (std::int64_t image = 0; image < s.batch * s.group; ++image)
        convolveGroup(g, s, x + image * s.inPerGroup * s.inPositions,
                      w + image % s.group * s.outPerGroup * s.inPerGroup * s.taps,
                      y + image * s.outPerGroup * s.outPositions);
}

} // namespace tunesmith::ops
