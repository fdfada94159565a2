// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith::ops {

// Pieces of lowerings. Tensors of float16 and bfloat16 are read and written as such but computed in float32.

loops::Expr widen(const loops::Expr& x);                  // to computeType()
loops::Expr narrow(DType type, const loops::Expr& x);     // to the type of the tensor that is written
loops::Expr read(const loops::TensorRef& tensor, loops::Indices indices); // widened load

// The element of `tensor` that belongs to an output index under broadcasting.
loops::Indices broadcastIndices(const Shape& operand, const Shape& output, const loops::Indices& indices);
// The same, widened; a constant of one element is burnt in.
loops::Expr operand(const LowerContext& context, std::size_t index, const loops::Indices& indices);

// Output 0 = body(indices), narrowed to its type.
void lowerElementwise(LowerContext& context, const std::string& name,
                      const std::function<loops::Expr(const loops::Indices&)>& body);

// Adds a stage that reduces `shape` over `axes`, which stay with extent 1; body sees indices into `shape`. Without axes it
// is a plain elementwise stage.
loops::TensorRef reduceOver(LowerContext& context, const std::string& name, DType type, loops::Reduction reduction,
                            const Shape& shape, const std::vector<std::size_t>& axes,
                            const std::function<loops::Expr(const loops::Indices&)>& body);
// The rounding errors of a sum grow with the number of its terms: where they are many, reduceOver() sums in double
// precision, along the last axis first and then the sums.
bool isLongSum(DType type, loops::Reduction reduction, const Shape& shape, const std::vector<std::size_t>& axes);
// The element of a tensor made by reduceOver() that belongs to an index into the shape before.
loops::Expr readReduced(const loops::TensorRef& tensor, loops::Indices indices, const std::vector<std::size_t>& axes);

// Whether an element is the one that a maximum or minimum chose; where that is NaN, whether it is NaN.
loops::Expr isExtreme(const loops::Expr& element, const loops::Expr& extreme);

// A reduction's own stage as output 0; for 16-bit floats a conversion stage follows.
void finishReduction(LowerContext& context, loops::Stage stage);

std::int64_t countOver(const Shape& shape, const std::vector<std::size_t>& axes);

} // namespace tunesmith::ops
