// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/autotvm/record.h"

// Tasks as AutoTVM's records write them.
namespace tunesmith::testing {

struct ConvShape {
    std::int64_t inChannels, size, outChannels, kernel, stride;
};

inline std::string tensorText(const std::vector<std::int64_t>& shape) {
    std::string out = "[\"TENSOR\",[";
    for (std::size_t i = 0; i < shape.size(); ++i)
        out += (i ? "," : "") + std::to_string(shape[i]);
    return out + "],\"float32\"]";
}

// With the padding that keeps the size at stride 1.
inline autotvm::Task convTask(const std::string& name, const ConvShape& conv, bool depthwise = false) {
    const std::string stride = std::to_string(conv.stride), padding = std::to_string((conv.kernel - 1) / 2);
    return {name,
            "[" + tensorText({1, conv.inChannels, conv.size, conv.size}) + "," +
                tensorText({conv.outChannels, depthwise ? 1 : conv.inChannels, conv.kernel, conv.kernel}) +
                ",[" + stride + "," + stride + "],[" + padding + "," + padding + "," + padding + "," +
                padding + "],[1,1],\"float32\"]"};
}

inline autotvm::Task denseTask(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k) {
    return {name, "[" + tensorText({m, k}) + "," + tensorText({n, k}) + ",null,\"float32\"]"};
}

inline autotvm::Task batchMatmulTask(const std::string& name, std::int64_t b, std::int64_t m, std::int64_t n,
                                     std::int64_t k) {
    return {name, "[" + tensorText({b, m, k}) + "," + tensorText({b, n, k}) + "]"};
}

} // namespace tunesmith::testing
