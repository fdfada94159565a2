// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/pattern.h"

namespace tunesmith::rewrite {

// The constants of terms as tensors of a model, of whatever extents fit there.

// Whether a tensor is that constant: ones of any shape, a square identity, a kernel that leaves its channels as they are, a depthwise
// kernel that takes means.
bool isConstant(const Term& term, const Tensor& tensor);

// That constant with this shape; nothing where it has none such.
std::optional<Tensor> constantOf(const Term& term, const Shape& shape, DType type = DType::f32);

// Whether weights are those of a pool, scaled perhaps: their convolution looks at what the pool looks at.
bool arePoolWeights(const Rule& rule, TermId weights);

// Whether all constants that are kernels end up as weights of convolutions; the generator has them as images, too, which no model does.
bool kernelsAreWeights(const Rule& rule);

// The window of a pool as one of a convolution with the pool's kernel, and the other way round.
std::optional<ConvWindow> windowOfPool(const Node& pool);
OperatorNo averagePoolOperator(OperatorTable& table, const ConvWindow& window, const Shape& weights); // kNone where there is none such

} // namespace tunesmith::rewrite
