// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/scratch.h"
#include "core/graph/float_to_int.h"
#include "core/ops/broadcast.h"
#include "core/ops/dense.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// Gemm: alpha * A' * B' + beta * C, where ' is a transposition if asked for and C, if given, broadcasts to the product.
namespace tunesmith::ops {
namespace {

using namespace loops;

struct GemmAttributes {
    double alpha, beta;
    bool transA, transB;
    explicit GemmAttributes(const Node& node)
        : alpha(node.floatAttr("alpha", 1.0F)), beta(node.floatAttr("beta", 1.0F)),
          transA(node.intAttr("transA", 0) != 0), transB(node.intAttr("transB", 0) != 0) {}
};

Status inferGemm(InferContext& in) {
    for (std::size_t i = 0; i < in.count(); ++i)
        if (in.has(i)) {
            TS_TRY(requireNumeric(in, i));
            TS_TRY(requireSameType(in, 0, i));
        }
    in.outputs[0] = TensorType(in.type(0).dtype);
    for (std::size_t i = 0; i < 2; ++i)
        if (in.type(i).dims && in.type(i).dims->size() != 2)
            return in.error("input " + in.type(i).text() + " is not a matrix");
    const GemmAttributes attributes(in.node);
    const Dims a = in.type(0).dims.value_or(Dims(2)), b = in.type(1).dims.value_or(Dims(2));
    if (!mergeEqual(a[attributes.transA ? 0 : 1], b[attributes.transB ? 1 : 0]))
        return pairError(in, 0, 1, "do not fit: the inner dimensions differ");
    const Dims product{a[attributes.transA ? 1 : 0], b[attributes.transB ? 0 : 1]};
    if (in.has(2) && in.type(2).dims && !broadcastsTo(*in.type(2).dims, product))
        return in.error("input " + in.type(2).text() + " does not broadcast to the product " +
                        TensorType(in.type(0).dtype, product).text());
    in.outputs[0].dims = product;
    return {};
}

// A matrix in rows, transposed if asked for.
template <class T> Scratch<T> rowsOf(const Tensor& matrix, bool transposed) {
    const T* const data = matrix.data<T>().data();
    const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
    if (!transposed)
        return {data, data + rows * columns};
    Scratch<T> result(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            result[static_cast<std::size_t>(j * rows + i)] = data[i * columns + j];
    return result;
}

// Sums are kept in U: the type itself for floats, an unsigned integer, which may wrap, for integers.
template <class T, class U> void multiply(EvalContext& context, const GemmAttributes& attributes) {
    Tensor& out = context.outputs[0];
    const std::int64_t m = out.shape()[0], n = out.shape()[1];
    const std::int64_t k = context.input(0).shape()[attributes.transA ? 0 : 1];
    const Scratch<T> a = rowsOf<T>(context.input(0), attributes.transA);
    const Scratch<T> b = rowsOf<T>(context.input(1), attributes.transB);
    const Scratch<U> left(a.begin(), a.end()), right(b.begin(), b.end());
    Scratch<U> product(static_cast<std::size_t>(m * n));
    multiplyAccumulate<U>(m, n, k, left.data(), k, 1, right.data(), n, product.data(), n);
    const auto y = out.mutableData<T>();
    const bool scaled = attributes.alpha != 1;
    for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = scaled ? numberAs<T>(attributes.alpha * static_cast<double>(static_cast<T>(product[i])))
                      : static_cast<T>(product[i]);
    if (context.has(2) && attributes.beta != 0)
        mapBroadcast<T, T>(out, context.input(2), out, [&](T sum, T c) {
            if (std::is_integral_v<T> && attributes.beta == 1)
                return wrapping(sum, c, [](auto x, auto z) { return x + z; });
            return numberAs<T>(static_cast<double>(sum) + attributes.beta * static_cast<double>(c));
        });
}

Status evalGemm(EvalContext& context) {
    const GemmAttributes attributes(context.node);
    visitNumeric(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        multiply<T, std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>>(context, attributes);
    });
    return {};
}

Stage matmulStage(const LowerContext& context, const GemmAttributes& attributes) {
    const TensorRef &a = context.inputs[0], &b = context.inputs[1];
    const std::int64_t k = a->shape[attributes.transA ? 0 : 1];
    return reduce("matmul", computeType(context.outputType()), context.outputShape(), Reduction::sum, {k},
                  [&](const Indices& o, const Indices& r) {
                      const Expr left = read(a, attributes.transA ? Indices{r[0], o[0]} : Indices{o[0], r[0]});
                      const Expr right = read(b, attributes.transB ? Indices{o[1], r[0]} : Indices{r[0], o[1]});
                      return ReductionBody{left * right, {}};
                  });
}

Expr scaledBy(const Expr& x, double factor) { return factor == 1 ? x : x * constantOf(x->type, factor); }

Status lowerGemm(LowerContext& context) {
    const GemmAttributes attributes(context.node);
    const bool bias = context.has(2) && attributes.beta != 0;
    Stage stage = matmulStage(context, attributes);
    if (!bias && attributes.alpha == 1) {
        finishReduction(context, std::move(stage));
        return {};
    }
    const TensorRef product = context.add(std::move(stage));
    lowerElementwise(context, bias ? "bias" : "scale", [&](const Indices& i) {
        const Expr sum = scaledBy(load(product, i), attributes.alpha);
        return bias ? sum + scaledBy(operand(context, 2, i), attributes.beta) : sum;
    });
    return {};
}

// Integers times fractions are rounded in the kernel's own way; nobody compiles such models.
Status gemmLowerable(const OpInputs& in) {
    const GemmAttributes attributes(in.node);
    if (isInteger(in.type(0).dtype) && (attributes.alpha != 1 || attributes.beta != 1))
        return in.unsupported("alpha and beta of integer matrices are not compiled");
    return {};
}

} // namespace

void registerGemm(OperatorList& list) {
    addOperator(list, "Gemm", Fusion::anchor, 7, {2, 3}, inferGemm, evalGemm, lowerGemm, gemmLowerable);
}

} // namespace tunesmith::ops
