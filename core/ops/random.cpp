// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/random.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/hash.h"
#include "core/ops/kernel.h"
#include "core/ops/rules.h"

// RandomUniform, RandomNormal, both of them Like an input, Bernoulli and Multinomial.
namespace tunesmith::ops {

Rng rngOf(const Node& node) {
    const auto seed = node.attributes.find("seed");
    if (seed != node.attributes.end()) {
        if (const auto* number = std::get_if<float>(&seed->second))
            return Rng(std::bit_cast<std::uint32_t>(*number));
        if (const auto* number = std::get_if<std::int64_t>(&seed->second)) // Dropout's
            return Rng(static_cast<std::uint64_t>(*number));
    }
    Hasher hasher;
    hasher.add(node.name);
    return Rng(hasher.value());
}

namespace {

// The element type that `dtype` asks for; `fallback` where it is left out.
Result<DType> statedType(const OpInputs& in, DType fallback, bool (*allowed)(DType), const char* wanted) {
    const std::int64_t code = in.node.intAttr("dtype", static_cast<std::int64_t>(fallback));
    const DType type = dtypeFromNumber(code);
    if (!in.node.has("dtype") && type == DType::undefined)
        return type; // of an input that is not known yet
    if (byteSize(type) == 0 || !allowed(type))
        return in.error("its element type must be " + std::string(wanted));
    return type;
}

bool isCountable(DType type) { return isNumeric(type) || type == DType::boolean; }
bool isIndex(DType type) { return type == DType::i32 || type == DType::i64; }

Status inferStatedShape(InferContext& in) {
    TS_ASSIGN(in.outputs[0].dtype, statedType(in, DType::f32, isFloat, "a floating-point type"));
    const Shape shape = in.node.intsAttr("shape");
    if (!in.node.has("shape") || !checkedElementCount(shape))
        return in.error("its shape is missing or not possible");
    in.outputs[0].dims = knownDims(shape);
    return {};
}

Status inferLike(InferContext& in) {
    in.outputs[0] = in.type(0);
    TS_ASSIGN(in.outputs[0].dtype, statedType(in, in.type(0).dtype, isFloat, "a floating-point type"));
    return {};
}

Status evalUniform(EvalContext& context) {
    Rng rng = rngOf(context.node);
    const float low = context.node.floatAttr("low", 0), high = context.node.floatAttr("high", 1);
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        for (T& value : context.outputs[0].mutableData<T>())
            if constexpr (std::is_same_v<T, double>)
                value = low + rng.uniform() * (static_cast<double>(high) - low);
            else
                value = rng.uniform(low, high);
    });
    return {};
}

Status evalNormal(EvalContext& context) {
    Rng rng = rngOf(context.node);
    const double mean = context.node.floatAttr("mean", 0), scale = context.node.floatAttr("scale", 1);
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        for (T& value : context.outputs[0].mutableData<T>())
            value = static_cast<T>(mean + scale * rng.normal());
    });
    return {};
}

Status inferBernoulli(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    in.outputs[0] = in.type(0);
    TS_ASSIGN(in.outputs[0].dtype, statedType(in, in.type(0).dtype, isCountable, "a number or bool"));
    return {};
}

Status evalBernoulli(EvalContext& context) {
    Rng rng = rngOf(context.node);
    const Tensor& probability = context.input(0);
    Tensor drawn = Tensor::zeros(DType::boolean, probability.shape());
    std::int64_t i = 0;
    for (bool& one : drawn.mutableData<bool>())
        one = rng.chance(probability.asDouble(i++));
    context.outputs[0] = drawn.cast(context.outputs[0].type());
    return {};
}

// Scores [N, C] are logarithms of probabilities, not normalised; a row yields `sample_size` classes.
Status inferMultinomial(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_ASSIGN(in.outputs[0].dtype, statedType(in, DType::i32, isIndex, "int32 or int64"));
    const std::int64_t samples = in.node.intAttr("sample_size", 1);
    if (samples < 0)
        return in.error("sample_size cannot be " + std::to_string(samples));
    if (in.type(0).dims && in.type(0).dims->size() != 2)
        return in.error("input " + in.type(0).text() + " must have two dimensions");
    in.outputs[0].dims = Dims{in.type(0).dims ? in.type(0).dims->front() : Dim(), samples};
    return {};
}

// The shares of the classes, summed up from the first to the last.
std::vector<double> cumulated(const Tensor& scores, std::int64_t row) {
    const std::int64_t classes = scores.shape()[1];
    std::vector<double> sums;
    double top = scores.asDouble(row * classes), sum = 0;
    for (std::int64_t c = 1; c < classes; ++c)
        top = std::max(top, scores.asDouble(row * classes + c));
    for (std::int64_t c = 0; c < classes; ++c)
        sums.push_back(sum += std::exp(scores.asDouble(row * classes + c) - top));
    return sums;
}

Status evalMultinomial(EvalContext& context) {
    Rng rng = rngOf(context.node);
    const Tensor& scores = context.input(0);
    const std::int64_t samples = context.outputs[0].shape()[1];
    Tensor drawn = Tensor::zeros(DType::i64, context.outputs[0].shape());
    if (drawn.count() == 0)
        return {};
    if (scores.shape()[1] == 0)
        return context.error("there are no classes to draw from");
    std::int64_t* next = drawn.mutableData<std::int64_t>().data();
    for (std::int64_t row = 0; row < scores.shape()[0]; ++row) {
        const std::vector<double> sums = cumulated(scores, row);
        for (std::int64_t i = 0; i < samples; ++i) {
            const auto found = std::upper_bound(sums.begin(), sums.end() - 1, rng.uniform() * sums.back());
            *next++ = found - sums.begin();
        }
    }
    context.outputs[0] = drawn.cast(context.outputs[0].type());
    return {};
}

} // namespace

void registerRandom(OperatorList& list) {
    const auto add = [&](const char* name, std::int64_t since, std::size_t inputs, const InferRule& infer, const Kernel& kernel) {
        addOperator(list, name, Fusion::opaque, since, {inputs, inputs}, infer, kernel);
        list.back().deterministic = false;
    };
    add("RandomUniform", 1, 0, inferStatedShape, evalUniform);
    add("RandomNormal", 1, 0, inferStatedShape, evalNormal);
    add("RandomUniformLike", 1, 1, inferLike, evalUniform);
    add("RandomNormalLike", 1, 1, inferLike, evalNormal);
    add("Bernoulli", 15, 1, inferBernoulli, evalBernoulli);
    add("Multinomial", 7, 1, inferMultinomial, evalMultinomial);
}

} // namespace tunesmith::ops
