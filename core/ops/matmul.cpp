// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/broadcast.h"
#include "core/ops/dense.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// MatMul as numpy.matmul: the last two dimensions are matrices, those before broadcast; a vector on the left is a row, on
// the right a column, and its dimension of 1 does not appear in the result.
namespace tunesmith::ops {
namespace {

using namespace loops;

Dims batchOf(const Dims& dims) { return dims.size() <= 2 ? Dims() : Dims(dims.begin(), dims.end() - 2); }

Status inferMatMul(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireNumeric(in, 1));
    TS_TRY(requireSameType(in, 0, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &a = *in.type(0).dims, &b = *in.type(1).dims;
    if (a.empty() || b.empty())
        return pairError(in, 0, 1, "do not fit: a scalar cannot be multiplied as a matrix");
    if (!mergeEqual(a.back(), b.size() == 1 ? b[0] : b[b.size() - 2]))
        return pairError(in, 0, 1, "do not fit: the inner dimensions differ");
    const auto batch = broadcastDims(batchOf(a), batchOf(b));
    if (!batch)
        return pairError(in, 0, 1, "do not fit: the dimensions before the matrices cannot be broadcast");
    in.outputs[0].dims = *batch;
    if (a.size() > 1)
        in.outputs[0].dims->push_back(a[a.size() - 2]);
    if (b.size() > 1)
        in.outputs[0].dims->push_back(b.back());
    return {};
}

// Both operands and the result as batches of matrices.
struct MatMulShape {
    Shape batchA, batchB, batch;
    std::int64_t m, n, k;
    MatMulShape(const Shape& a, const Shape& b, const Shape& out)
        : m(a.size() > 1 ? a[a.size() - 2] : 1), n(b.size() > 1 ? b.back() : 1), k(a.back()) {
        if (a.size() > 2)
            batchA.assign(a.begin(), a.end() - 2);
        if (b.size() > 2)
            batchB.assign(b.begin(), b.end() - 2);
        batch.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::max(batchA.size(), batchB.size())));
    }
};

template <class T, class U> void multiply(const MatMulShape& s, const T* a, const T* b, T* y) {
    const std::array<Shape, 2> strides{broadcastStrides(s.batchA, s.batch), broadcastStrides(s.batchB, s.batch)};
    std::vector<U> left, right, product;
    forEachRun<2>(s.batch, strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
        for (std::int64_t i = 0; i < count; ++i) {
            const T* const from = a + (at[0] + i * step[0]) * s.m * s.k;
            const T* const with = b + (at[1] + i * step[1]) * s.k * s.n;
            T* const to = y + (start + i) * s.m * s.n;
            if constexpr (std::is_same_v<T, U>) {
                multiplyAccumulate<T>(s.m, s.n, s.k, from, s.k, 1, with, s.n, to, s.n);
            } else {
                left.assign(from, from + s.m * s.k);
                right.assign(with, with + s.k * s.n);
                product.assign(static_cast<std::size_t>(s.m * s.n), U{});
                multiplyAccumulate<U>(s.m, s.n, s.k, left.data(), s.k, 1, right.data(), s.n, product.data(), s.n);
                std::transform(product.begin(), product.end(), to, [](U value) { return static_cast<T>(value); });
            }
        }
    });
}

Status evalMatMul(EvalContext& context) {
    const Tensor &a = context.input(0), &b = context.input(1);
    Tensor& out = context.outputs[0];
    const MatMulShape shape(a.shape(), b.shape(), out.shape());
    visitNumeric(out.type(), [&](auto tag) {
        using T = decltype(tag);
        multiply<T, std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>>(
            shape, a.data<T>().data(), b.data<T>().data(), out.mutableData<T>().data());
    });
    return {};
}

Status lowerMatMul(LowerContext& context) {
    const TensorRef &a = context.inputs[0], &b = context.inputs[1];
    const Shape out = context.outputShape();
    const MatMulShape s(a->shape, b->shape, out);
    finishReduction(context, reduce("matmul", computeType(context.outputType()), out, Reduction::sum, {s.k},
                                    [&](const Indices& o, const Indices& r) {
        const Indices batch(o.begin(), o.begin() + static_cast<std::ptrdiff_t>(s.batch.size()));
        Indices left = broadcastIndices(s.batchA, s.batch, batch), right = broadcastIndices(s.batchB, s.batch, batch);
        if (a->shape.size() > 1)
            left.push_back(o[s.batch.size()]);
        left.push_back(r[0]);
        right.push_back(r[0]);
        if (b->shape.size() > 1)
            right.push_back(o.back());
        return ReductionBody{read(a, left) * read(b, right), {}};
    }));
    return {};
}

} // namespace

void registerMatMul(OperatorList& list) {
    addOperator(list, "MatMul", Fusion::anchor, 1, {2, 2}, inferMatMul, evalMatMul, lowerMatMul);
}

} // namespace tunesmith::ops
