// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/ops/contrib/contrib.h"
#include "core/ops/lowering.h"

// CDist: the distance of each row of a from each row of b, squared unless metric is euclidean.
namespace tunesmith::ops {
namespace {

using namespace loops;

bool isEuclidean(const Node& node) {
    return node.stringAttr("metric", "sqeuclidean") == "euclidean";
}

Status inferDistances(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireSameType(in, 0, 1));
    const std::string metric = in.node.stringAttr("metric", "sqeuclidean");
    if (metric != "euclidean" && metric != "sqeuclidean")
        return in.error("metric must be euclidean or sqeuclidean, not '" + metric + "'");
    in.outputs[0] = TensorType(in.type(0).dtype);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
        TS_TRY(requireRank(in, i, 2, "a row for each point"));
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &a = *in.type(0).dims, &b = *in.type(1).dims;
    if (!mergeEqual(a[1], b[1]))
        return pairError(in, 0, 1, "do not fit: points must have as many coordinates");
    in.outputs[0].dims = Dims{a[0], b[0]};
    return {};
}

Status evalDistances(EvalContext& context) {
    const Tensor a = context.input(0).cast(DType::f64), b = context.input(1).cast(DType::f64);
    const std::int64_t columns = b.shape()[0], size = a.shape()[1];
    Tensor y = Tensor::zeros(DType::f64, context.outputs[0].shape());
    for (std::int64_t i = 0; i < y.count(); ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < size; ++k) {
            const double apart =
                a.data<double>()[i / columns * size + k] - b.data<double>()[i % columns * size + k];
            sum += apart * apart;
        }
        y.mutableData<double>()[i] = isEuclidean(context.node) ? std::sqrt(sum) : sum;
    }
    context.outputs[0] = y.cast(context.outputs[0].type());
    return {};
}

Status lowerDistances(LowerContext& context) {
    const Shape &a = context.inputShape(0), &b = context.inputShape(1);
    const TensorRef sum = reduceOver(
        context, "reduce_squares", computeType(context.outputType()), Reduction::sum, {a[0], b[0], a[1]}, {2},
        [&](const Indices& i) {
            const Expr apart = read(context.inputs[0], {i[0], i[2]}) - read(context.inputs[1], {i[1], i[2]});
            return apart * apart;
        });
    lowerElementwise(context, "distance", [&](const Indices& i) {
        const Expr square = load(sum, {i[0], i[1], Expr(0)});
        return isEuclidean(context.node) ? unary(Op::sqrt, square) : square;
    });
    return {};
}

} // namespace

void registerContribDistances(OperatorList& list) {
    addLowered(list, "CDist", Fusion::anchor, {2, 2}, inferDistances, evalDistances, lowerDistances);
}

} // namespace tunesmith::ops
