// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/recurrent_cell.h"

#include <algorithm>
#include <cmath>

#include "core/ops/clamped.h"
#include "core/ops/dense.h"

namespace tunesmith::ops {
namespace {

struct KnownFunction {
    const char* name; // in lower case
    const char* op;
    double (*call)(double x, double alpha, double beta);
    bool hasAlpha, hasBeta, hasDefaults;
    float alpha, beta;
};

double sigmoid(double x, double, double) {
    return 1 / (1 + std::exp(-x));
}
double hyperbolicTangent(double x, double, double) {
    return std::tanh(x);
}
double softplus(double x, double, double) {
    return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

constexpr KnownFunction kFunctions[] = {
    {"relu", "Relu", [](double x, double, double) { return x < 0 ? 0 : x; }, false, false, true, 0, 0},
    {"tanh", "Tanh", hyperbolicTangent, false, false, true, 0, 0},
    {"sigmoid", "Sigmoid", sigmoid, false, false, true, 0, 0},
    {"softsign", "Softsign", [](double x, double, double) { return x / (1 + std::fabs(x)); }, false, false, true, 0, 0},
    {"softplus", "Softplus", softplus, false, false, true, 0, 0},
    {"affine", "Affine", [](double x, double a, double b) { return a * x + b; }, true, true, true, 1, 0},
    {"leakyrelu", "LeakyRelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, true, false, true, 0.01F, 0},
    {"thresholdedrelu", "ThresholdedRelu", [](double x, double a, double) { return x > a ? x : 0; }, true, false, true, 1, 0},
    {"scaledtanh", "ScaledTanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, true, true, false, 0, 0},
    {"hardsigmoid", "HardSigmoid", [](double x, double a, double b) { return clamped(a * x + b, 0, 1); }, true, true,
     true, 0.2F, 0.5F},
    {"elu", "Elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, true, false, true, 1, 0},
};

const KnownFunction* findFunction(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    const auto* const found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                           [&](const KnownFunction& known) { return known.name == name; });
    return found == std::end(kFunctions) ? nullptr : found;
}

// The next of the values that the node gives, or the default.
float takeNext(const std::vector<float>& values, std::size_t& next, bool wanted, float fallback) {
    return wanted && next < values.size() ? values[next++] : fallback;
}

} // namespace

Result<std::vector<RecurrentFunction>> recurrentFunctions(const Node& node, const std::vector<std::string>& defaults,
                                                          std::size_t directions) {
    std::vector<std::string> names;
    if (const auto given = node.attributes.find("activations"); given != node.attributes.end())
        if (const auto* list = std::get_if<std::vector<std::string>>(&given->second))
            names = *list;
    for (std::size_t d = 0; names.size() < defaults.size() * directions && !node.has("activations"); ++d)
        names.insert(names.end(), defaults.begin(), defaults.end());
    if (names.size() != defaults.size() * directions)
        return inputError("activations names " + std::to_string(names.size()) + " functions where " +
                          std::to_string(defaults.size() * directions) + " are needed");
    const std::vector<float> alphas = node.floatsAttr("activation_alpha"), betas = node.floatsAttr("activation_beta");
    std::size_t nextAlpha = 0, nextBeta = 0;
    std::vector<RecurrentFunction> functions;
    for (const std::string& name : names) {
        const KnownFunction* known = findFunction(name);
        if (!known)
            return inputError("activations names '" + name + "', which is no activation of recurrent operators");
        if (!known->hasDefaults && (nextAlpha >= alphas.size() || nextBeta >= betas.size()))
            return inputError(name + " needs a value in activation_alpha and in activation_beta");
        const float alpha = takeNext(alphas, nextAlpha, known->hasAlpha, known->alpha);
        functions.push_back({known->op, known->call, alpha, takeNext(betas, nextBeta, known->hasBeta, known->beta)});
    }
    return functions;
}

template <class T> double RecurrentLayer<T>::apply(std::size_t function, double value) const {
    const RecurrentFunction& f = functions[function];
    const double bounded = value < -clip ? -clip : value > clip ? clip : value; // what is not a number stays so
    return f.call(bounded, f.alpha, f.beta);
}

template <class T>
std::vector<T> RecurrentLayer<T>::product(const std::vector<T>& rows, const std::vector<T>& matrix,
                                          const std::vector<T>& bias, std::int64_t firstGate,
                                          std::int64_t count) const {
    const std::int64_t width = count * hidden, first = firstGate * hidden;
    const std::int64_t depth = batch > 0 ? static_cast<std::int64_t>(rows.size()) / batch : 0;
    std::vector<T> result(static_cast<std::size_t>(batch * width));
    for (std::int64_t b = 0; b < batch; ++b)
        std::copy_n(bias.begin() + first, width, result.begin() + b * width);
    multiplyAccumulate<T>(batch, width, depth, rows.data(), depth, 1, matrix.data() + first, gates * hidden,
                          result.data(), width);
    return result;
}

template <class T> RecurrentState<T> lstmCell(const RecurrentLayer<T>& layer) {
    const std::vector<T> fromInput = layer.product(layer.x, layer.weights, layer.inputBias, 0, 4);
    const std::vector<T> fromState = layer.product(layer.h, layer.recurrence, layer.recurrentBias, 0, 4);
    RecurrentState<T> next{layer.h, layer.c};
    const auto hidden = static_cast<std::size_t>(layer.hidden);
    for (std::size_t n = 0; n < next.h.size(); ++n) {
        const std::size_t row = n / hidden * 4 * hidden, j = n % hidden;
        const auto gate = [&](std::size_t which, std::size_t peephole, double cell) {
            const std::size_t at = row + which * hidden + j;
            const double peeped =
                layer.peepholes.empty() ? 0 : static_cast<double>(layer.peepholes[peephole * hidden + j]) * cell;
            return static_cast<double>(fromInput[at]) + static_cast<double>(fromState[at]) + peeped;
        };
        const auto before = static_cast<double>(layer.c[n]);
        const double i = layer.apply(0, gate(0, 0, before));
        const double f = layer.inputForget ? 1 - i : layer.apply(0, gate(2, 2, before));
        const double c = f * before + i * layer.apply(1, gate(3, 0, 0));
        const double o = layer.apply(0, gate(1, 1, c));
        const RecurrentFunction& shown = layer.functions[2]; // the cell itself is not clipped
        next.c[n] = static_cast<T>(c);
        next.h[n] = static_cast<T>(o * shown.call(c, shown.alpha, shown.beta));
    }
    return next;
}

template <class T> RecurrentState<T> gruCell(const RecurrentLayer<T>& layer) {
    const std::vector<T> fromInput = layer.product(layer.x, layer.weights, layer.inputBias, 0, 3);
    const std::vector<T> fromState = layer.product(layer.h, layer.recurrence, layer.recurrentBias, 0, 2);
    const auto hidden = static_cast<std::size_t>(layer.hidden);
    const auto gate = [&](std::size_t n, std::size_t which) {
        const std::size_t b = n / hidden, j = n % hidden;
        return layer.apply(0, static_cast<double>(fromInput[(b * 3 + which) * hidden + j]) +
                                  static_cast<double>(fromState[(b * 2 + which) * hidden + j]));
    };
    std::vector<T> reset = layer.h;
    for (std::size_t n = 0; n < reset.size() && !layer.linearBeforeReset; ++n)
        reset[n] = static_cast<T>(static_cast<double>(reset[n]) * gate(n, 1));
    const std::vector<T> proposed = layer.product(reset, layer.recurrence, layer.recurrentBias, 2, 1);
    RecurrentState<T> next{layer.h, {}};
    for (std::size_t n = 0; n < next.h.size(); ++n) {
        const double z = gate(n, 0), r = layer.linearBeforeReset ? gate(n, 1) : 1;
        const auto x = static_cast<double>(fromInput[(n / hidden * 3 + 2) * hidden + n % hidden]);
        const double candidate = layer.apply(1, x + r * static_cast<double>(proposed[n]));
        next.h[n] = static_cast<T>((1 - z) * candidate + z * static_cast<double>(layer.h[n]));
    }
    return next;
}

template <class T> RecurrentState<T> rnnCell(const RecurrentLayer<T>& layer) {
    const std::vector<T> fromInput = layer.product(layer.x, layer.weights, layer.inputBias, 0, 1);
    const std::vector<T> fromState = layer.product(layer.h, layer.recurrence, layer.recurrentBias, 0, 1);
    RecurrentState<T> next{layer.h, {}};
    for (std::size_t n = 0; n < next.h.size(); ++n)
        next.h[n] =
            static_cast<T>(layer.apply(0, static_cast<double>(fromInput[n]) + static_cast<double>(fromState[n])));
    return next;
}

template struct RecurrentLayer<float>;
template struct RecurrentLayer<double>;
template RecurrentState<float> lstmCell(const RecurrentLayer<float>&);
template RecurrentState<double> lstmCell(const RecurrentLayer<double>&);
template RecurrentState<float> gruCell(const RecurrentLayer<float>&);
template RecurrentState<double> gruCell(const RecurrentLayer<double>&);
template RecurrentState<float> rnnCell(const RecurrentLayer<float>&);
template RecurrentState<double> rnnCell(const RecurrentLayer<double>&);

} // namespace tunesmith::ops
