// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/autotvm/arguments.h"
#include "core/autotvm/template_spaces.h"

namespace tunesmith::autotvm {

// Inside core/autotvm only: the space of one template each.
using TemplateBuilder = Result<ConfigSpace> (*)(const std::string& name, const Arguments&, const Vintage&);

Result<ConfigSpace> convX86(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> depthwiseX86(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> densePackX86(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> denseNoPackX86(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> batchMatmulX86(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> convCuda(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> winogradCuda(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> depthwiseCuda(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> convTransposeCuda(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> convTranspose1dCuda(const std::string& name, const Arguments&, const Vintage&);
Result<ConfigSpace> batchMatmulCuda(const std::string& name, const Arguments&, const Vintage&);

// A convolution's extents, from the arguments data, kernel, strides, padding, dilation.
struct ConvExtents {
    std::int64_t batch, inChannels, height, width;
    std::int64_t outChannels, multiplier; // of a depthwise one: outChannels = inChannels * multiplier
    std::int64_t kernelHeight, kernelWidth, outHeight, outWidth;

    double flops(std::int64_t channelsPerOutput) const;
};
Result<ConvExtents> convExtents(const Arguments& arguments, bool depthwise);

struct MatmulExtents {
    std::int64_t batch, m, n, k;
    double flops() const;
};
Result<MatmulExtents> batchMatmulExtents(const Arguments& arguments); // [b, m, k] times [b, n, k]

} // namespace tunesmith::autotvm
