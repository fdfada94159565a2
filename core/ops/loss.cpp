// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/scratch.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: x [N, C, D1, ...], a class for each of [N, D1, ...], and a weight
// for each class. The mean is weighted: it divides by the weights of the classes that were met.
namespace tunesmith::ops {
namespace {

using namespace loops;
using Axes = std::vector<std::size_t>;

bool ignores(const Node& node) { return node.has("ignore_index"); }
std::int64_t ignoredClass(const Node& node) { return node.intAttr("ignore_index", 0); }
std::string reductionOf(const Node& node) { return node.stringAttr("reduction", "mean"); }

Status inferClasses(InferContext& in, Dims& positions) {
    const Dims &x = *in.type(0).dims, &target = *in.type(1).dims;
    if (x.size() < 2 || target.size() + 1 != x.size())
        return pairError(in, 0, 1, "do not fit: the classes have the shape of the scores without dimension 1");
    for (std::size_t d = 0; d < target.size(); ++d) {
        const auto merged = mergeEqual(x[d == 0 ? 0 : d + 1], target[d]);
        if (!merged)
            return pairError(in, 0, 1, "do not fit: the classes have the shape of the scores without dimension 1");
        positions.push_back(*merged);
    }
    return {};
}

Status inferLoss(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireIndexType(in, 1));
    if (in.has(2))
        TS_TRY(requireSameType(in, 0, 2));
    const std::string reduction = reductionOf(in.node);
    if (reduction != "none" && reduction != "sum" && reduction != "mean")
        return in.error("reduction must be 'none', 'sum' or 'mean', not '" + reduction + "'");
    if (in.outputs.size() > 1)
        in.outputs[1] = in.type(0);
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (reduction != "none")
        in.outputs[0].dims = Dims();
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    Dims positions;
    TS_TRY(inferClasses(in, positions));
    if (in.has(2) && in.type(2).dims &&
        (in.type(2).dims->size() != 1 || !mergeEqual((*in.type(2).dims)[0], (*in.type(0).dims)[1])))
        return pairError(in, 0, 2, "do not fit: one weight per class is needed");
    if (reduction == "none")
        in.outputs[0].dims = std::move(positions);
    return {};
}

// Scores as N x C x (everything behind).
struct Extents {
    std::int64_t batch, classes, inner;
    explicit Extents(const Shape& x)
        : batch(x[0]), classes(x[1]), inner(elementCount(std::span(x).subspan(2))) {}
};

// -x * weight of each position's class, reduced as the node asks; `x` are logarithms of probabilities.
template <class T> Status reduceLoss(EvalContext& context, const Scratch<double>& x) {
    const Extents extents(context.input(0).shape());
    const std::string reduction = reductionOf(context.node);
    const auto out = context.outputs[0].mutableData<T>();
    double total = 0, weights = 0;
    for (std::int64_t p = 0; p < extents.batch * extents.inner; ++p) {
        const std::int64_t target = context.input(1).asInt(p);
        if (ignores(context.node) && target == ignoredClass(context.node))
            continue; // the output is zero already
        if (target < 0 || target >= extents.classes)
            return context.error("class " + std::to_string(target) + " is out of range for " +
                                 std::to_string(extents.classes) + " classes");
        const double weight = context.has(2) ? context.input(2).asDouble(target) : 1;
        const std::int64_t row = p / extents.inner * extents.classes + target;
        const double loss = -x[static_cast<std::size_t>(row * extents.inner + p % extents.inner)] * weight;
        total += loss;
        weights += weight;
        if (reduction == "none")
            out[static_cast<std::size_t>(p)] = static_cast<T>(loss);
    }
    if (reduction != "none")
        out[0] = static_cast<T>(reduction == "mean" ? total / weights : total);
    return {};
}

Scratch<double> asDoubles(const Tensor& tensor) {
    const Tensor wide = tensor.cast(DType::f64);
    return {wide.data<double>().begin(), wide.data<double>().end()};
}

Status evalNll(EvalContext& context) {
    Status status;
    visitFloat(context.input(0).type(),
               [&](auto tag) { status = reduceLoss<decltype(tag)>(context, asDoubles(context.input(0))); });
    return status;
}

void logSoftmaxOfClasses(Scratch<double>& x, const Extents& extents) {
    for (std::int64_t p = 0; p < extents.batch * extents.inner; ++p) {
        double* const first = x.data() + p / extents.inner * extents.classes * extents.inner + p % extents.inner;
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t c = 0; c < extents.classes; ++c)
            top = std::max(top, first[c * extents.inner]);
        for (std::int64_t c = 0; c < extents.classes; ++c)
            sum += std::exp(first[c * extents.inner] - top);
        for (std::int64_t c = 0; c < extents.classes; ++c)
            first[c * extents.inner] = first[c * extents.inner] - top - std::log(sum); // top may be so large that adding log(sum) changes nothing
    }
}

Status evalCrossEntropy(EvalContext& context) {
    Scratch<double> logs = asDoubles(context.input(0));
    logSoftmaxOfClasses(logs, Extents(context.input(0).shape()));
    Status status;
    visitFloat(context.input(0).type(), [&](auto tag) {
        using T = decltype(tag);
        if (context.wanted(1))
            std::transform(logs.begin(), logs.end(), context.outputs[1].mutableData<T>().begin(),
                           [](double value) { return static_cast<T>(value); });
        if (context.wanted(0))
            status = reduceLoss<T>(context, logs);
    });
    return status;
}

// The class of a position and what weighs it; `ignored` is none where no class is ignored.
struct LoweredClass {
    Expr index, weight, ignored;
    Expr unlessIgnored(const Expr& value) const {
        return ignored.valid() ? select(ignored, constantOf(value->type, 0), value) : value;
    }
};

LoweredClass classAt(const LowerContext& context, const Indices& position, DType type) {
    const Expr target = load(context.inputs[1], position);
    const Expr index = safeIndex(target, context.inputShape(0)[1]);
    const Expr ignored = ignores(context.node) ? equal(target, constantInt(target->type, ignoredClass(context.node))) : Expr();
    return {index, context.has(2) ? read(context.inputs[2], {index}) : constantOf(type, 1), ignored};
}

// `logAt` is the logarithm of a probability at an index into the scores.
Status lowerLoss(LowerContext& context, const std::function<Expr(const Indices&)>& logAt) {
    const DType type = computeType(context.inputs[0]->type);
    const Shape positions = context.inputShape(1);
    const auto lossAt = [&](const Indices& position) {
        const LoweredClass chosen = classAt(context, position, type);
        Indices at = position;
        at.insert(at.begin() + 1, chosen.index);
        return chosen.unlessIgnored(-logAt(at) * chosen.weight);
    };
    const std::string reduction = reductionOf(context.node);
    if (reduction == "none") {
        lowerElementwise(context, "loss", lossAt);
        return {};
    }
    Axes all(positions.size());
    std::iota(all.begin(), all.end(), 0);
    const Indices only(positions.size(), Expr(0));
    const TensorRef total = reduceOver(context, "loss_sum", type, Reduction::sum, positions, all, lossAt);
    if (reduction == "sum") {
        lowerElementwise(context, "loss", [&](const Indices&) { return load(total, only); });
        return {};
    }
    const TensorRef weights = reduceOver(context, "loss_weight", type, Reduction::sum, positions, all, [&](const Indices& i) {
        const LoweredClass chosen = classAt(context, i, type);
        return chosen.unlessIgnored(chosen.weight);
    });
    lowerElementwise(context, "loss", [&](const Indices&) { return load(total, only) / load(weights, only); });
    return {};
}

Status lowerNll(LowerContext& context) {
    return lowerLoss(context, [&](const Indices& i) { return read(context.inputs[0], i); });
}

Status lowerCrossEntropy(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const DType type = computeType(x->type);
    const Axes axes{1};
    const TensorRef top = reduceOver(context, "loss_max", type, Reduction::max, x->shape, axes,
                                     [&](const Indices& i) { return read(x, i); });
    const TensorRef sum = reduceOver(context, "loss_exp_sum", type, Reduction::sum, x->shape, axes, [&](const Indices& i) {
        return unary(Op::expDown, read(x, i) - readReduced(top, i, axes));
    });
    const auto logAt = [&](const Indices& i) {
        return read(x, i) - readReduced(top, i, axes) - unary(Op::log, readReduced(sum, i, axes));
    };
    if (context.outputs.size() > 1 && context.node.outputs[1].valid())
        context.finish(1, compute("log_probability", context.outputType(1), x->shape,
                                  [&](const Indices& i) { return narrow(context.outputType(1), logAt(i)); }));
    return lowerLoss(context, logAt);
}

Status lossLowerable(const OpInputs& in) {
    if (in.type(0).dims && in.type(0).dims->size() > 1 && (*in.type(0).dims)[1] == Dim(0))
        return in.unsupported("a loss over no classes is not compiled");
    return {};
}

} // namespace

void registerLoss(OperatorList& list) {
    addOperator(list, "NegativeLogLikelihoodLoss", Fusion::anchor, 12, {2, 3}, inferLoss, evalNll, lowerNll, lossLowerable);
    addOperator(list, "SoftmaxCrossEntropyLoss", Fusion::anchor, 12, {2, 3, 2}, inferLoss, evalCrossEntropy,
                lowerCrossEntropy, lossLowerable);
}

} // namespace tunesmith::ops
