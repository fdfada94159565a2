// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/matmul.h"

#include <algorithm>

#include "core/ops/kernel.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {

using namespace loops;

MatMulShape::MatMulShape(const Shape& a, const Shape& b, const Shape& out)
    : m(a.size() > 1 ? a[a.size() - 2] : 1), n(b.size() > 1 ? b.back() : 1), k(a.back()) {
    if (a.size() > 2)
        batchA.assign(a.begin(), a.end() - 2);
    if (b.size() > 2)
        batchB.assign(b.begin(), b.end() - 2);
    batch.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::max(batchA.size(), batchB.size())));
}

Result<std::optional<Dims>> matMulDims(const OpInputs& in, std::size_t left, std::size_t right) {
    const auto batchOf = [](const Dims& dims) {
        return dims.size() <= 2 ? Dims() : Dims(dims.begin(), dims.end() - 2);
    };
    if (!in.type(left).dims || !in.type(right).dims)
        return std::optional<Dims>();
    const Dims &a = *in.type(left).dims, &b = *in.type(right).dims;
    if (a.empty() || b.empty())
        return pairError(in, left, right, "do not fit: a scalar cannot be multiplied as a matrix");
    if (!mergeEqual(a.back(), b.size() == 1 ? b[0] : b[b.size() - 2]))
        return pairError(in, left, right, "do not fit: the inner dimensions differ");
    std::optional<Dims> dims = broadcastDims(batchOf(a), batchOf(b));
    if (!dims)
        return pairError(in, left, right, "do not fit: the dimensions before the matrices cannot be broadcast");
    if (a.size() > 1)
        dims->push_back(a[a.size() - 2]);
    if (b.size() > 1)
        dims->push_back(b.back());
    return dims;
}

Stage matMulStage(const Shape& a, const Shape& b, const Shape& out, DType type, const MatMulOperand& readA,
                  const MatMulOperand& readB) {
    const MatMulShape s(a, b, out);
    return reduce("matmul", type, out, Reduction::sum, {s.k}, [&](const Indices& o, const Indices& r) {
        const Indices batch(o.begin(), o.begin() + static_cast<std::ptrdiff_t>(s.batch.size()));
        Indices left = broadcastIndices(s.batchA, s.batch, batch), right = broadcastIndices(s.batchB, s.batch, batch);
        if (a.size() > 1)
            left.push_back(o[s.batch.size()]);
        left.push_back(r[0]);
        right.push_back(r[0]);
        if (b.size() > 1)
            right.push_back(o.back());
        return ReductionBody{readA(left) * readB(right), {}};
    });
}

namespace {

Status inferMatMul(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireNumeric(in, 1));
    TS_TRY(requireSameType(in, 0, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    TS_ASSIGN(in.outputs[0].dims, matMulDims(in, 0, 1));
    return {};
}

template <class T, class U> void multiply(const MatMulShape& s, const T* a, const T* b, T* y) {
    std::vector<U> left, right, product;
    forEachProduct(s, [&](std::int64_t atA, std::int64_t atB, std::int64_t atY) {
        const T *const from = a + atA, *const with = b + atB;
        T* const to = y + atY;
        if constexpr (std::is_same_v<T, U>) {
            multiplyAccumulate<T>(s.m, s.n, s.k, from, s.k, 1, with, s.n, to, s.n);
        } else {
            left.assign(from, from + s.m * s.k);
            right.assign(with, with + s.k * s.n);
            product.assign(static_cast<std::size_t>(s.m * s.n), U{});
            multiplyAccumulate<U>(s.m, s.n, s.k, left.data(), s.k, 1, right.data(), s.n, product.data(), s.n);
            std::transform(product.begin(), product.end(), to, [](U value) { return static_cast<T>(value); });
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
    finishReduction(context,
                    matMulStage(
                        a->shape, b->shape, context.outputShape(), computeType(context.outputType()),
                        [&](const Indices& i) { return read(a, i); }, [&](const Indices& i) { return read(b, i); }));
    return {};
}

} // namespace

void registerMatMul(OperatorList& list) {
    addOperator(list, "MatMul", Fusion::anchor, 1, {2, 2}, inferMatMul, evalMatMul, lowerMatMul);
}

} // namespace tunesmith::ops
