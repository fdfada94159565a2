// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/broadcast.h"
#include "core/ops/dense.h"
#include "core/ops/lowering.h"

namespace tunesmith::ops {

// What MatMul, MatMulInteger and QLinearMatMul share. As numpy.matmul: the last two dimensions are matrices, those
// before broadcast; a vector on the left is a row, on the right a column, and its dimension of 1 does not appear in the
// result.

// The dimensions of the product of two inputs; not known when a rank is not.
Result<std::optional<Dims>> matMulDims(const OpInputs& in, std::size_t left, std::size_t right);

// Both operands and the result as batches of matrices.
struct MatMulShape {
    Shape batchA, batchB, batch;
    std::int64_t m, n, k;
    MatMulShape(const Shape& a, const Shape& b, const Shape& out);
};

// Calls visit(a, b, y) with the offsets of the matrices of each product.
template <class Visit> void forEachProduct(const MatMulShape& s, Visit&& visit) {
    const std::array<Shape, 2> strides{broadcastStrides(s.batchA, s.batch), broadcastStrides(s.batchB, s.batch)};
    forEachRun<2>(s.batch, strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
        for (std::int64_t i = 0; i < count; ++i)
            visit((at[0] + i * step[0]) * s.m * s.k, (at[1] + i * step[1]) * s.k * s.n, (start + i) * s.m * s.n);
    });
}

// The stage `matmul`: sums of products of what the two functions read at indices of the operands.
using MatMulOperand = std::function<loops::Expr(const loops::Indices&)>;
loops::Stage matMulStage(const Shape& a, const Shape& b, const Shape& out, DType type, const MatMulOperand& readA,
                         const MatMulOperand& readB);

} // namespace tunesmith::ops
