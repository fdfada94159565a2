// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/template_builders.h"

// The spaces of TVM's templates for x86 (topi/x86: conv2d.py, depthwise_conv2d.py, dense.py,
// batch_matmul.py).
namespace tunesmith::autotvm {
namespace {

SplitOptions innerAtMost(std::int64_t most, SplitPolicy policy = SplitPolicy::factors) {
    SplitOptions options;
    options.policy = policy;
    options.filter = [most](const Sizes& sizes) { return sizes.back() <= most; };
    return options;
}

constexpr std::int64_t kWidestTile = 64;

Result<MatmulExtents> denseExtents(const Arguments& arguments) {
    TS_ASSIGN(const auto data, arguments.tensor(0, 2));
    TS_ASSIGN(const auto weight, arguments.tensor(1, 2));
    if (data[1] != weight[1])
        return arguments.wrong(1, "a tensor with " + std::to_string(data[1]) + " columns");
    return MatmulExtents{1, data[0], weight[0], data[1]};
}

Result<ConfigSpace> threeSplits(const std::string& name, const MatmulExtents& matmul) {
    ConfigSpaceBuilder space(name);
    space.split("tile_y", matmul.m, 2).split("tile_x", matmul.n, 2).split("tile_k", matmul.k, 2);
    return space.finish(matmul.flops());
}

} // namespace

Result<ConfigSpace> convX86(const std::string& name, const Arguments& arguments, const Vintage& vintage) {
    TS_ASSIGN(const ConvExtents conv, convExtents(arguments, false));
    const auto policy = vintage.tails ? SplitPolicy::verbose : SplitPolicy::factors;
    ConfigSpaceBuilder space(name);
    space.split("tile_ic", conv.inChannels, 2).split("tile_oc", conv.outChannels, 2);
    space.split("tile_ow", conv.outWidth, innerAtMost(kWidestTile, policy));
    if (conv.kernelHeight != 1 || conv.kernelWidth != 1)
        space.flag("unroll_kw");
    else if (conv.outHeight > 1)
        space.numbers("tile_oh", {1, 2});
    else
        space.numbers("tile_oh", {1});
    return space.finish(conv.flops(conv.inChannels));
}

Result<ConfigSpace> depthwiseX86(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const ConvExtents conv, convExtents(arguments, true));
    ConfigSpaceBuilder space(name);
    space.split("tile_ic", conv.inChannels, 2).split("tile_oc", conv.outChannels, 2);
    space.split("tile_ow", conv.outWidth, innerAtMost(kWidestTile)).flag("unroll_kw");
    return space.finish(conv.flops(1));
}

Result<ConfigSpace> densePackX86(const std::string& name, const Arguments& arguments,
                                 const Vintage& vintage) {
    TS_ASSIGN(const MatmulExtents dense, denseExtents(arguments));
    ConfigSpaceBuilder space(name);
    space.split("tile_y", dense.m, 3).split("tile_x", dense.n, 3).split("tile_k", dense.k, 2);
    if (vintage.innerTile)
        space.split("tile_inner", dense.m, innerAtMost(16));
    return space.finish(dense.flops());
}

Result<ConfigSpace> denseNoPackX86(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const MatmulExtents dense, denseExtents(arguments));
    return threeSplits(name, dense);
}

Result<ConfigSpace> batchMatmulX86(const std::string& name, const Arguments& arguments, const Vintage&) {
    TS_ASSIGN(const MatmulExtents matmul, batchMatmulExtents(arguments));
    return threeSplits(name, matmul);
}

} // namespace tunesmith::autotvm
