// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/template_builders.h"

namespace tunesmith::autotvm {
namespace {

std::int64_t outputExtent(std::int64_t input, std::int64_t padding, std::int64_t kernel,
                          std::int64_t dilation, std::int64_t stride) {
    const std::int64_t room = input + padding - (kernel - 1) * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
}

} // namespace

double ConvExtents::flops(std::int64_t channelsPerOutput) const {
    double product = 2;
    for (const std::int64_t extent :
         {batch, outChannels, outHeight, outWidth, channelsPerOutput, kernelHeight, kernelWidth})
        product *= static_cast<double>(extent);
    return product;
}

double MatmulExtents::flops() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
}

Result<ConvExtents> convExtents(const Arguments& arguments, bool depthwise) {
    TS_ASSIGN(const auto data, arguments.tensor(0, 4));
    TS_ASSIGN(const auto kernel, arguments.tensor(1, 4));
    TS_ASSIGN(const auto strides, arguments.numbers(2, 2, 1));
    TS_ASSIGN(const auto padding, arguments.padding(3));
    TS_ASSIGN(const auto dilation, arguments.numbers(4, 2, 1));
    ConvExtents conv{data[0], data[1], data[2], data[3], kernel[0], 1, kernel[2], kernel[3], 0, 0};
    if (depthwise) {
        if (kernel[0] != data[1])
            return arguments.wrong(1, "a kernel for " + std::to_string(data[1]) + " channels");
        conv.multiplier = kernel[1];
        conv.outChannels = data[1] * kernel[1];
    }
    conv.outHeight = outputExtent(data[2], padding[0] + padding[2], kernel[2], dilation[0], strides[0]);
    conv.outWidth = outputExtent(data[3], padding[1] + padding[3], kernel[3], dilation[1], strides[1]);
    if (conv.outHeight < 1 || conv.outWidth < 1)
        return arguments.wrong(1, "a kernel that fits into the padded input");
    return conv;
}

Result<MatmulExtents> batchMatmulExtents(const Arguments& arguments) {
    TS_ASSIGN(const auto left, arguments.tensor(0, 3));
    TS_ASSIGN(const auto right, arguments.tensor(1, 3));
    if (left[2] != right[2])
        return arguments.wrong(1, "a tensor with " + std::to_string(left[2]) + " columns");
    return MatmulExtents{left[0], left[1], right[1], left[2]};
}

} // namespace tunesmith::autotvm
