// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/contrib.h"

// SkipLayerNormalization and SkipSimplifiedLayerNormalization: a norm over the last dimension of s = input +
// skip + bias. Outputs are the norm, the mean, 1 / deviation and s; the simplified one has no mean, and
// neither beta.
namespace tunesmith::ops {
namespace {

struct SkipNorm {
    std::size_t beta,
        bias; // places of the inputs; one that the operator does not have lies behind all of them
    bool centred;
};
constexpr SkipNorm kSkipLayerNorm{3, 4, true}, kSkipSimplifiedNorm{5, 3, false};
constexpr std::size_t kSkip = 1, kGamma = 2, kMean = 1, kInverse = 2, kSum = 3;
constexpr float kSkipEpsilon = 1e-12F; // ONNX Runtime's where the attribute is missing

Status checkSkip(const OpInputs& in, const Dims& x) {
    if (!in.type(kSkip).dims || broadcastsTo(*in.type(kSkip).dims, x))
        return {};
    return pairError(in, 0, kSkip, "do not fit: skip must have the input's shape, but for the batch");
}

Status inferSkipNorm(InferContext& in, const SkipNorm& norm) {
    TS_TRY(inferFloatUnary(in));
    for (std::size_t i = 1; i < in.count(); ++i)
        if (in.has(i))
            TS_TRY(requireSameType(in, 0, i));
    for (const std::size_t i : {kMean, kInverse})
        if (i < in.outputs.size())
            in.outputs[i] = TensorType(statisticType(in.type(0).dtype));
    if (in.outputs.size() > kSum)
        in.outputs[kSum] = in.type(0);
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    if (x.size() != 2 && x.size() != 3)
        return in.error("input 0 is " + in.type(0).text() +
                        " but must have 3 dimensions (batch, sequence, hidden) or 2");
    TS_TRY(checkSkip(in, x));
    for (const std::size_t i : {kGamma, norm.beta, norm.bias})
        TS_TRY(requireDims(in, i, {x.back()}, "one value for each hidden unit"));
    Dims kept = x;
    kept.back() = Dim(1);
    for (const std::size_t i : {kMean, kInverse})
        if (i < in.outputs.size())
            in.outputs[i].dims = kept;
    return {};
}

// One row: its norm, and in `mean` and `inverse` what it was normalised with.
struct NormRow {
    double mean = 0, inverse = 0;
};
NormRow normaliseRow(const double* s, std::int64_t count, bool centred, double epsilon) {
    NormRow row;
    double squares = 0;
    for (std::int64_t i = 0; centred && i < count; ++i)
        row.mean += s[i] / static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i)
        squares += (s[i] - row.mean) * (s[i] - row.mean);
    row.inverse = 1 / std::sqrt(squares / static_cast<double>(count) + epsilon);
    return row;
}

Status evalSkipNorm(EvalContext& context, const SkipNorm& norm) {
    Tensor s = context.input(0).cast(DType::f64);
    for (const std::size_t i : {kSkip, norm.bias})
        if (context.has(i))
            mapBroadcast<double, double>(s, context.input(i).cast(DType::f64), s,
                                         [](double a, double b) { return a + b; });
    const std::int64_t width = s.shape().back(), rows = elementCount(std::span(s.shape()).first(s.rank() - 1));
    const Tensor gamma = context.input(kGamma).cast(DType::f64);
    const Tensor beta = context.has(norm.beta) ? context.input(norm.beta).cast(DType::f64)
                                               : Tensor::zeros(DType::f64, {width});
    Tensor y = Tensor::zeros(DType::f64, s.shape());
    std::vector<double> means, inverses;
    for (std::int64_t r = 0; r < rows; ++r) {
        const double* const from = s.data<double>().data() + r * width;
        const NormRow row =
            normaliseRow(from, width, norm.centred, context.node.floatAttr("epsilon", kSkipEpsilon));
        for (std::int64_t i = 0; i < width; ++i)
            y.mutableData<double>()[r * width + i] =
                (from[i] - row.mean) * row.inverse * gamma.data<double>()[i] + beta.data<double>()[i];
        means.push_back(row.mean);
        inverses.push_back(row.inverse);
    }
    const auto store = [&](std::size_t output, const Tensor& values) {
        if (context.wanted(output))
            context.outputs[output] =
                values.reshaped(context.outputs[output].shape()).cast(context.outputs[output].type());
    };
    store(0, y);
    store(kMean, Tensor::of<double>({rows}, means));
    store(kInverse, Tensor::of<double>({rows}, inverses));
    store(kSum, s);
    return {};
}

Status expandSkipNorm(ExpandContext& context, const SkipNorm& norm) {
    ValueId s = context.node.inputs[0];
    for (const std::size_t i : {kSkip, norm.bias})
        if (context.has(i))
            s = context.add("Add", {s, context.node.inputs[i]});
    std::vector<ValueId> inputs{s, context.node.inputs[kGamma]};
    if (context.has(norm.beta))
        inputs.push_back(context.node.inputs[norm.beta]);
    const float epsilon = context.node.floatAttr("epsilon", kSkipEpsilon);
    const int last = norm.centred ? 3 : 2,
              statistics = context.wanted(kMean) || context.wanted(kInverse) ? last : 1;
    const auto made = context.addMany(norm.centred ? "LayerNormalization" : "SimplifiedLayerNormalization",
                                      inputs, {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}}, statistics);
    context.outputs[0] = made[0];
    if (context.wanted(kMean)) {
        Shape kept = context.type(0).shape();
        kept.back() = 1;
        context.outputs[kMean] =
            norm.centred ? made[1]
                         : context.addConstant(Tensor::zeros(context.outputType(kMean).dtype, kept));
    }
    if (context.wanted(kInverse))
        context.outputs[kInverse] = made.back();
    if (context.wanted(kSum))
        context.outputs[kSum] = s;
    return {};
}

void addSkipNorm(OperatorList& list, const char* name, const Arity& arity, const SkipNorm& norm) {
    addExpanded(
        list, name, arity, [norm](InferContext& in) { return inferSkipNorm(in, norm); },
        [norm](EvalContext& context) { return evalSkipNorm(context, norm); },
        [norm](ExpandContext& context) { return expandSkipNorm(context, norm); });
}

} // namespace

void registerContribSkipNorm(OperatorList& list) {
    addSkipNorm(list, "SkipLayerNormalization", {3, 5, 4}, kSkipLayerNorm);
    addSkipNorm(list, "SkipSimplifiedLayerNormalization", {3, 4, 4}, kSkipSimplifiedNorm);
}

} // namespace tunesmith::ops
