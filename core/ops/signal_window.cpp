// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <numbers>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

// Tensors that signal processing weighs with: HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix. All inputs are
// single numbers.
namespace tunesmith::ops {
namespace {

Status requireSingle(const OpInputs& in, std::size_t index, bool (*allowed)(DType), const char* wanted) {
    TS_TRY(requireType(in, index, allowed, wanted));
    return requireOneElement(in, index);
}

Status requireCount(const OpInputs& in, std::size_t index) {
    return requireSingle(in, index, [](DType type) { return type == DType::i32 || type == DType::i64; }, "int32 or int64");
}

Result<DType> outputType(const OpInputs& in) {
    const std::int64_t code = in.node.intAttr("output_datatype", static_cast<std::int64_t>(DType::f32));
    const DType type = dtypeFromNumber(code);
    if (byteSize(type) == 0 || !isNumeric(type))
        return in.error("output_datatype " + std::to_string(code) + " is no type of numbers");
    return type;
}

Status inferWindow(InferContext& in) {
    TS_TRY(requireCount(in, 0));
    TS_ASSIGN(in.outputs[0].dtype, outputType(in));
    in.outputs[0].dims = Dims(1);
    if (!in.isConstant(0))
        return {};
    const std::int64_t size = in.constant(0).asInt(0);
    if (size < 0)
        return in.error("a window cannot have " + std::to_string(size) + " elements");
    in.outputs[0].dims = Dims{size};
    return {};
}

// The first three terms of the sum of cosines.
struct Cosines {
    double constant, first, second;
};

MoveKernel windowKernel(Cosines terms) {
    return [terms](EvalContext& context, const std::vector<TensorType>& types) -> Status {
        Tensor window = Tensor::zeros(DType::f64, types[0].shape());
        const bool periodic = context.node.intAttr("periodic", 1) != 0;
        const double step = 2 * std::numbers::pi / static_cast<double>(periodic ? window.count() : window.count() - 1);
        double position = 0;
        for (double& value : window.mutableData<double>()) {
            const double angle = step * position++;
            value = terms.constant - terms.first * std::cos(angle) + terms.second * std::cos(2 * angle);
        }
        context.outputs[0] = window.cast(types[0].dtype);
        return {};
    };
}

Status inferMel(InferContext& in) {
    for (std::size_t i = 0; i < 3; ++i)
        TS_TRY(requireCount(in, i));
    for (std::size_t i = 3; i < 5; ++i)
        TS_TRY(requireSingle(in, i, isFloat, "a floating-point type"));
    TS_ASSIGN(in.outputs[0].dtype, outputType(in));
    in.outputs[0].dims = Dims(2);
    const char* const names[] = {"num_mel_bins", "dft_length", "sample_rate"};
    for (std::size_t i = 0; i < 3; ++i)
        if (in.isConstant(i) && (in.constant(i).asInt(0) < 1 || in.constant(i).asInt(0) > std::int64_t(1) << 40))
            return in.error(std::string(names[i]) + " cannot be " + std::to_string(in.constant(i).asInt(0)));
    if (in.isConstant(1))
        (*in.outputs[0].dims)[0] = in.constant(1).asInt(0) / 2 + 1;
    if (in.isConstant(0))
        (*in.outputs[0].dims)[1] = in.constant(0).asInt(0);
    return {};
}

double melOf(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertzOf(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// The spectrogram bins at which the triangles of the bands begin, peak and end: band i has bins[i], [i + 1], [i + 2].
std::vector<std::int64_t> bandBins(const EvalContext& context, std::int64_t bands) {
    const double low = melOf(context.input(3).asDouble(0)), high = melOf(context.input(4).asDouble(0));
    const double step = (high - low) / static_cast<double>(bands + 2);
    std::vector<std::int64_t> bins;
    for (std::int64_t i = 0; i < bands + 2; ++i) {
        const double hertz = hertzOf(low + step * static_cast<double>(i));
        const double bin = std::floor(static_cast<double>(context.input(1).asInt(0) + 1) * hertz /
                                      static_cast<double>(context.input(2).asInt(0)));
        bins.push_back(bin >= 0 && bin < 1e15 ? static_cast<std::int64_t>(bin) : -1);
    }
    return bins;
}

Status evalMel(EvalContext& context, const std::vector<TensorType>& types) {
    Tensor weights = Tensor::zeros(DType::f64, types[0].shape());
    const std::int64_t rows = weights.shape()[0], bands = weights.shape()[1];
    const std::vector<std::int64_t> bins = bandBins(context, bands);
    const auto at = [&](std::int64_t row, std::int64_t band) -> double& {
        return weights.mutableData<double>()[static_cast<std::size_t>(row * bands + band)];
    };
    for (std::int64_t band = 0; band < bands; ++band) {
        const auto* const bin = &bins[static_cast<std::size_t>(band)];
        const std::int64_t rise = bin[1] - bin[0], fall = bin[2] - bin[1];
        if (bin[0] < 0 || rise < 0 || fall < 0 || bin[1] >= rows || bin[2] > rows)
            return context.error("its edges must rise from 0 to half of the sample rate at most");
        if (rise == 0)
            at(bin[1], band) = 1;
        for (std::int64_t i = 0; i <= rise && rise > 0; ++i)
            at(bin[0] + i, band) = static_cast<double>(i) / static_cast<double>(rise);
        for (std::int64_t i = 0; i < fall; ++i)
            at(bin[1] + i, band) = static_cast<double>(fall - i) / static_cast<double>(fall);
    }
    context.outputs[0] = weights.cast(types[0].dtype);
    return {};
}

} // namespace

void registerSignalWindow(OperatorList& list) {
    const auto add = [&](const char* name, Cosines terms) {
        addMovement(list, name, Fusion::opaque, 17, {1, 1}, inferWindow, windowKernel(terms));
    };
    add("HannWindow", {0.5, 0.5, 0});
    add("HammingWindow", {25.0 / 46, 21.0 / 46, 0});
    add("BlackmanWindow", {0.42, 0.5, 0.08});
    addMovement(list, "MelWeightMatrix", Fusion::opaque, 17, {5, 5}, inferMel, evalMel);
}

} // namespace tunesmith::ops
