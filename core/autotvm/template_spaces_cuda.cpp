// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/template_builders.h"

// The spaces of TVM's templates for CUDA (topi/cuda: conv2d_direct.py, conv2d_winograd.py,
// depthwise_conv2d.py, conv2d_transpose_nchw.py, conv1d_transpose_ncw.py, batch_matmul.py).
namespace tunesmith::autotvm {
namespace {

// Blocks, virtual threads, threads, and what is left to each thread.
constexpr int kThreadParts = 4;
constexpr std::int64_t kMostTiles = std::int64_t{1} << 31;

ConfigSpaceBuilder& addUnrolling(ConfigSpaceBuilder& space, const std::vector<std::int64_t>& steps) {
    return space.numbers("auto_unroll_max_step", steps).numbers("unroll_explicit", {0, 1});
}

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

std::int64_t transposedExtent(std::int64_t input, std::int64_t stride, std::int64_t kernel,
                              std::int64_t padding, std::int64_t more) {
    return (input - 1) * stride + kernel - padding + more;
}

struct TransposedPart {
    std::int64_t batch, outChannels, inChannels;
};

void addTransposedSplits(ConfigSpaceBuilder& space, const TransposedPart& conv,
                         const std::vector<std::pair<std::string, std::int64_t>>& spatial) {
    space.split("tile_n", conv.batch, kThreadParts).split("tile_f", conv.outChannels, kThreadParts);
    for (const auto& [knob, extent] : spatial)
        space.split(knob, extent, kThreadParts);
    space.split("tile_rc", conv.inChannels, 3);
    addUnrolling(space, {64, 512, 1500});
}

} // namespace

Result<ConfigSpace> convCuda(const std::string& name, const Arguments& arguments, const Vintage& vintage) {
    TS_ASSIGN(const ConvExtents conv, convExtents(arguments, false));
    ConfigSpaceBuilder space(name);
    space.split("tile_f", conv.outChannels, kThreadParts).split("tile_y", conv.outHeight, kThreadParts);
    space.split("tile_x", conv.outWidth, kThreadParts).split("tile_rc", conv.inChannels, 2);
    space.split(vintage.swappedKernelNames ? "tile_rx" : "tile_ry", conv.kernelHeight, 2);
    space.split(vintage.swappedKernelNames ? "tile_ry" : "tile_rx", conv.kernelWidth, 2);
    return addUnrolling(space, {0, 512, 1500}).finish(conv.flops(conv.inChannels));
}

Result<ConfigSpace> winogradCuda(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const ConvExtents conv, convExtents(arguments, false));
    const std::int64_t tile = conv.height % 8 == 0 ? 4 : 2; // outputs on a side
    const std::int64_t alpha = tile + conv.kernelHeight - 1;
    const std::int64_t rows = ceilDiv(conv.outHeight, tile), columns = ceilDiv(conv.outWidth, tile);
    if (conv.batch > kMostTiles / rows || conv.batch * rows > kMostTiles / columns)
        return arguments.wrong(0, "a tensor of a size that can be computed");
    const std::int64_t tiles = conv.batch * rows * columns;
    SplitOptions allInOne;
    allInOne.parts = kThreadParts;
    allInOne.policy = SplitPolicy::candidate;
    allInOne.candidates = {{-1, 1, 1, 1}};
    ConfigSpaceBuilder space(name);
    space.split("tile_b", alpha * alpha, allInOne).split("tile_y", conv.outChannels, kThreadParts);
    space.split("tile_x", tiles, kThreadParts).split("tile_rc", conv.inChannels, 2);
    return addUnrolling(space, {0, 128, 1500}).finish(conv.flops(conv.inChannels));
}

Result<ConfigSpace> depthwiseCuda(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const ConvExtents conv, convExtents(arguments, true));
    ConfigSpaceBuilder space(name);
    space.split("tile_f", conv.outChannels, kThreadParts).split("tile_y", conv.outHeight, kThreadParts);
    space.split("tile_x", conv.outWidth, kThreadParts);
    return addUnrolling(space, {0, 256, 1500}).finish(conv.flops(1));
}

Result<ConfigSpace> convTransposeCuda(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const auto data, arguments.tensor(0, 4));
    TS_ASSIGN(const auto kernel, arguments.tensor(1, 4)); // inputs, outputs, height, width
    TS_ASSIGN(const auto strides, arguments.numbers(2, 2, 1));
    TS_ASSIGN(const auto padding, arguments.padding(3));
    Arguments::Shape more(2, 0);
    if (arguments.size() > 5) {
        TS_ASSIGN(more, arguments.numbers(5, 2, 0));
    }
    const auto height = transposedExtent(data[2], strides[0], kernel[2], padding[0] + padding[2], more[0]);
    const auto width = transposedExtent(data[3], strides[1], kernel[3], padding[1] + padding[3], more[1]);
    ConfigSpaceBuilder space(name);
    addTransposedSplits(space, {data[0], kernel[1], data[1]}, {{"tile_y", height}, {"tile_x", width}});
    return space.numbers("fuse_yx", {0, 1}).finish(0);
}

Result<ConfigSpace> convTranspose1dCuda(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const auto data, arguments.tensor(0, 3));
    TS_ASSIGN(const auto kernel, arguments.tensor(1, 3));
    TS_ASSIGN(const auto strides, arguments.numbers(2, 1, 1));
    TS_ASSIGN(const auto padding, arguments.numbers(3, 2, 0));
    Arguments::Shape more(1, 0);
    if (arguments.size() > 5) {
        TS_ASSIGN(more, arguments.numbers(5, 1, 0));
    }
    const auto width = transposedExtent(data[2], strides[0], kernel[2], padding[0] + padding[1], more[0]);
    ConfigSpaceBuilder space(name);
    addTransposedSplits(space, {data[0], kernel[1], data[1]}, {{"tile_x", width}});
    return space.finish(0);
}

Result<ConfigSpace> batchMatmulCuda(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const MatmulExtents matmul, batchMatmulExtents(arguments));
    ConfigSpaceBuilder space(name);
    space.split("tile_y", matmul.m, 3).split("tile_x", matmul.n, 3).split("tile_k", matmul.k, 2);
    return addUnrolling(space, {8, 16, 32, 64}).finish(matmul.flops());
}

} // namespace tunesmith::autotvm
