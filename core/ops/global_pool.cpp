// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// Pools over all spatial positions: [N, C, spatial...] -> [N, C, 1...].
namespace tunesmith::ops {
namespace {

using namespace loops;

Status inferGlobalPool(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    if (in.node.intAttr("p", 2) < 1)
        return in.error("p must be at least 1, not " + std::to_string(in.node.intAttr("p", 2)));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    if (dims.size() < 2)
        return in.error("input " + in.type(0).text() + " has no channels");
    std::fill(dims.begin() + 2, dims.end(), Dim(1));
    in.outputs[0].dims = std::move(dims);
    return {};
}

// y = finish(fold of all positions, their number) per image and channel.
template <class Fold, class Finish> Kernel globalKernel(double start, Fold fold, Finish finish) {
    return [=](EvalContext& context) -> Status {
        const Shape& shape = context.input(0).shape();
        const std::int64_t positions = elementCount(Shape(shape.begin() + 2, shape.end()));
        const auto p = static_cast<double>(context.node.intAttr("p", 2));
        visitFloat(context.outputs[0].type(), [&](auto tag) {
            using T = decltype(tag);
            const T* x = context.input(0).data<T>().data();
            for (T& y : context.outputs[0].mutableData<T>()) {
                double value = start;
                for (std::int64_t i = 0; i < positions; ++i)
                    value = fold(value, static_cast<double>(x[i]), p);
                y = static_cast<T>(finish(value, static_cast<double>(positions), p));
                x += positions;
            }
        });
        return {};
    };
}

std::vector<std::size_t> spatialAxes(std::size_t rank) {
    std::vector<std::size_t> axes(rank - 2);
    std::iota(axes.begin(), axes.end(), 2);
    return axes;
}

TensorRef globalStage(LowerContext& context, const std::string& name, Reduction reduction,
                      const std::function<Expr(const Expr&)>& term) {
    const TensorRef& x = context.inputs[0];
    return reduceOver(context, name, computeType(x->type), reduction, x->shape, spatialAxes(x->shape.size()),
                      [&](const Indices& i) { return term(read(x, i)); });
}

Status lowerAverage(LowerContext& context) {
    const Shape& shape = context.inputShape(0);
    const TensorRef sum = globalStage(context, "global_sum", Reduction::sum, [](const Expr& x) { return x; });
    const auto count = static_cast<double>(countOver(shape, spatialAxes(shape.size())));
    lowerElementwise(context, "global_avg_pool",
                     [&](const Indices& i) { return load(sum, i) * constantOf(sum->type, 1 / count); });
    return {};
}

Status lowerMax(LowerContext& context) {
    globalStage(context, "global_max_pool", Reduction::max, [](const Expr& x) { return x; });
    Stage stage = std::move(context.stages.back());
    context.stages.pop_back();
    finishReduction(context, std::move(stage));
    return {};
}

Status lowerLp(LowerContext& context) {
    const auto p = static_cast<double>(context.node.intAttr("p", 2));
    const TensorRef sum = globalStage(context, "global_sum", Reduction::sum, [p](const Expr& x) {
        return p == 2 ? x * x : binary(Op::pow, unary(Op::abs, x), constantOf(x->type, p));
    });
    lowerElementwise(context, "global_lp_pool", [&](const Indices& i) {
        const Expr x = load(sum, i);
        return p == 2 ? unary(Op::sqrt, x) : binary(Op::pow, x, constantOf(x->type, 1 / p));
    });
    return {};
}

} // namespace

void registerGlobalPool(OperatorList& list) {
    const auto add = [&](const char* name, Kernel kernel, LowerRule lower) {
        addOperator(list, name, Fusion::anchor, 1, {1, 1}, inferGlobalPool, kernel, std::move(lower));
    };
    add("GlobalAveragePool", globalKernel(0, [](double all, double x, double) { return all + x; },
                                          [](double all, double count, double) { return all / count; }),
        lowerAverage);
    add("GlobalMaxPool", globalKernel(-std::numeric_limits<double>::infinity(),
                                      [](double all, double x, double) { return x > all || std::isnan(x) ? x : all; },
                                      [](double all, double, double) { return all; }),
        lowerMax);
    add("GlobalLpPool", globalKernel(0, [](double all, double x, double p) { return all + std::pow(std::fabs(x), p); },
                                     [](double all, double, double p) { return std::pow(all, 1 / p); }),
        lowerLp);
}

} // namespace tunesmith::ops
