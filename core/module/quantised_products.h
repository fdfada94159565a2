// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// Products between DequantizeLinear and QuantizeLinear become products of bytes: Conv, MatMul and Gemm with constant weights as QLinearConv,
// QLinearMatMul and QGemm, and what is not quantised again as QGemm and MatMulIntegerToFloat. Relu and Clip in between go where saturation
// does the same, MaxPool takes its maxima of bytes. The sums are the same numbers, exact instead of rounded, so that a result may fall on the
// other side of a tie: as far apart as two orders of summing floats are.
// Scales, zero points and weights must be constant, a bias made of int32 numbers at the scale of the products, and sums fit int32; everything
// else stays as it is. Runs after shape inference and before weights are dequantised; types are to be inferred behind it.
Result<Graph> quantisedProductsAsIntegerOnes(const Graph& graph);

} // namespace tunesmith
