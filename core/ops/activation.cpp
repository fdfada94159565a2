// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/float_to_int.h"
#include "core/ops/broadcast.h"
#include "core/ops/clamped.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// Activations: y = f(x) with up to two numbers from attributes. Kernels compute in double and round once.
namespace tunesmith::ops {
namespace {

using namespace loops;

struct Coefficients {
    double alpha = 0, beta = 0;
};

struct Defaults {
    const char* first = nullptr; // attribute names
    float firstValue = 0;
    const char* second = nullptr;
    float secondValue = 0;
};

Coefficients coefficients(const Node& node, const Defaults& defaults) {
    return {defaults.first ? node.floatAttr(defaults.first, defaults.firstValue) : 0.0F,
            defaults.second ? node.floatAttr(defaults.second, defaults.secondValue) : 0.0F};
}

// The body of a lowering sees x and can make constants of its type.
struct Body {
    Expr x;
    Coefficients c;
    Expr number(double value) const { return constantOf(x->type, value); }
};

template <class Fn>
void addActivation(OperatorList& list, const std::string& name, std::int64_t since, const std::string& stage,
                   const Defaults& defaults, Fn fn, Expr (*body)(const Body&)) {
    const Kernel kernel = [defaults, fn](EvalContext& context) -> Status {
        const Coefficients c = coefficients(context.node, defaults);
        visitFloat(context.outputs[0].type(), [&](auto tag) {
            using T = decltype(tag);
            const auto x = context.input(0).data<T>();
            const auto y = context.outputs[0].mutableData<T>();
            for (std::size_t i = 0; i < x.size(); ++i)
                y[i] = static_cast<T>(fn(static_cast<double>(x[i]), c));
        });
        return {};
    };
    const LowerRule lower = [defaults, stage, body](LowerContext& context) -> Status {
        const Coefficients c = coefficients(context.node, defaults);
        lowerElementwise(context, stage, [&](const Indices& i) { return body({read(context.inputs[0], i), c}); });
        return {};
    };
    addOperator(list, name, Fusion::elementwise, since, {1, 1}, inferFloatUnary, kernel, lower);
}

Expr sigmoidOf(const Expr& x) {
    const Expr one = constantOf(x->type, 1);
    return one / (one + unary(Op::exp, -x));
}

// log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)).
Expr softplusOf(const Expr& x) {
    const Expr one = constantOf(x->type, 1);
    return max(x, constantOf(x->type, 0)) + unary(Op::log, one + unary(Op::exp, -unary(Op::abs, x)));
}

double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Expr clamp(const Expr& x, double low, double high) {
    return min(max(x, constantOf(x->type, low)), constantOf(x->type, high));
}

void registerExponentials(OperatorList& list) {
    addActivation(list, "Elu", 6, "elu", {"alpha", 1.0F},
        [](double x, const Coefficients& c) { return x < 0 ? c.alpha * std::expm1(x) : x; },
        [](const Body& b) {
            return select(b.x < b.number(0), b.number(b.c.alpha) * (unary(Op::exp, b.x) - b.number(1)), b.x);
        });
    addActivation(list, "Celu", 12, "celu", {"alpha", 1.0F},
        [](double x, const Coefficients& c) { return x < 0 ? c.alpha * std::expm1(x / c.alpha) : x; },
        [](const Body& b) {
            const Expr negative = unary(Op::exp, b.x / b.number(b.c.alpha)) - b.number(1);
            return select(b.x < b.number(0), b.number(b.c.alpha) * negative, b.x);
        });
    addActivation(list, "Selu", 6, "selu", {"alpha", 1.67326319217681884765625F, "gamma", 1.05070102214813232421875F},
        [](double x, const Coefficients& c) { return c.beta * (x > 0 ? x : c.alpha * std::expm1(x)); },
        [](const Body& b) {
            const Expr negative = b.number(b.c.alpha) * (unary(Op::exp, b.x) - b.number(1));
            return b.number(b.c.beta) * select(b.x > b.number(0), b.x, negative);
        });
    addActivation(list, "Sigmoid", 6, "sigmoid", {}, [](double x, const Coefficients&) { return sigmoid(x); },
        [](const Body& b) { return sigmoidOf(b.x); });
    addActivation(list, "Swish", 24, "swish", {"alpha", 1.0F},
        [](double x, const Coefficients& c) { return x * sigmoid(c.alpha * x); },
        [](const Body& b) { return b.x * sigmoidOf(b.number(b.c.alpha) * b.x); });
    addActivation(list, "Tanh", 6, "tanh", {}, [](double x, const Coefficients&) { return std::tanh(x); },
        [](const Body& b) { return unary(Op::tanh, b.x); });
    addActivation(list, "Softplus", 1, "softplus", {}, [](double x, const Coefficients&) { return softplus(x); },
        [](const Body& b) { return softplusOf(b.x); });
    addActivation(list, "Mish", 18, "mish", {},
        [](double x, const Coefficients&) { return x * std::tanh(softplus(x)); },
        [](const Body& b) { return b.x * unary(Op::tanh, softplusOf(b.x)); });
}

void registerPiecewise(OperatorList& list) {
    addActivation(list, "LeakyRelu", 6, "leaky_relu", {"alpha", 0.01F},
        [](double x, const Coefficients& c) { return x < 0 ? c.alpha * x : x; },
        [](const Body& b) { return select(b.x < b.number(0), b.number(b.c.alpha) * b.x, b.x); });
    addActivation(list, "ThresholdedRelu", 10, "thresholded_relu", {"alpha", 1.0F},
        [](double x, const Coefficients& c) { return x > c.alpha ? x : 0; },
        [](const Body& b) { return select(b.x > b.number(b.c.alpha), b.x, b.number(0)); });
    addActivation(list, "HardSigmoid", 6, "hard_sigmoid", {"alpha", 0.2F, "beta", 0.5F},
        [](double x, const Coefficients& c) { return clamped(c.alpha * x + c.beta, 0, 1); },
        [](const Body& b) { return clamp(b.number(b.c.alpha) * b.x + b.number(b.c.beta), 0, 1); });
    addActivation(list, "HardSwish", 14, "hard_swish", {},
        [](double x, const Coefficients&) { return x * clamped(x / 6 + 0.5, 0, 1); },
        [](const Body& b) { return b.x * clamp(b.number(1.0 / 6) * b.x + b.number(0.5), 0, 1); });
    addActivation(list, "Softsign", 1, "softsign", {},
        [](double x, const Coefficients&) { return x / (1 + std::fabs(x)); },
        [](const Body& b) { return b.x / (b.number(1) + unary(Op::abs, b.x)); });
}

Status evalRelu(EvalContext& context) {
    visitNumeric(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const auto x = context.input(0).data<T>();
        const auto y = context.outputs[0].mutableData<T>();
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = x[i] < T{} ? T{} : x[i];
    });
    return {};
}

Status lowerRelu(LowerContext& context) {
    lowerElementwise(context, "relu", [&](const Indices& i) {
        const Expr x = read(context.inputs[0], i);
        return max(x, constantOf(x->type, 0));
    });
    return {};
}

bool isTanhGelu(const Node& node) { return node.stringAttr("approximate", "none") == "tanh"; }

constexpr double kSqrt2OverPi = 0.7978845608028654, kSqrtHalf = 0.7071067811865476;

Status evalGelu(EvalContext& context) {
    const bool approximate = isTanhGelu(context.node);
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const auto input = context.input(0).data<T>();
        const auto y = context.outputs[0].mutableData<T>();
        for (std::size_t i = 0; i < input.size(); ++i) {
            const auto x = static_cast<double>(input[i]);
            const double curve =
                approximate ? std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)) : std::erf(x * kSqrtHalf);
            y[i] = static_cast<T>(0.5 * x * (1 + curve));
        }
    });
    return {};
}

Status lowerGelu(LowerContext& context) {
    const bool approximate = isTanhGelu(context.node);
    lowerElementwise(context, "gelu", [&](const Indices& i) {
        const Body b{read(context.inputs[0], i), {}};
        const Expr cubic = b.x + b.number(0.044715) * b.x * b.x * b.x;
        const Expr curve = approximate ? unary(Op::tanh, b.number(kSqrt2OverPi) * cubic)
                                       : unary(Op::erf, b.x * b.number(kSqrtHalf));
        return b.number(0.5) * b.x * (b.number(1) + curve);
    });
    return {};
}

Status inferGelu(InferContext& in) {
    const std::string kind = in.node.stringAttr("approximate", "none");
    if (kind != "none" && kind != "tanh")
        return in.error("approximate must be 'none' or 'tanh', not '" + kind + "'");
    return inferFloatUnary(in);
}

Status inferPRelu(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireSameType(in, 0, 1));
    const auto &x = in.type(0).dims, &slope = in.type(1).dims;
    if (x && slope && !broadcastsTo(*slope, *x))
        return pairError(in, 0, 1, "do not fit: the slope must broadcast to the input");
    return inferSameAsFirst(in);
}

Status evalPRelu(EvalContext& context) {
    visitNumeric(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        mapBroadcast<T, T>(context.input(0), context.input(1), context.outputs[0], [](T x, T slope) {
            return x < T{} ? wrapping(x, slope, [](auto a, auto b) { return a * b; }) : x;
        });
    });
    return {};
}

Status lowerPRelu(LowerContext& context) {
    lowerElementwise(context, "prelu", [&](const Indices& i) {
        const Expr x = read(context.inputs[0], i);
        return select(x < constantOf(x->type, 0), x * operand(context, 1, i), x);
    });
    return {};
}

// SwiGLU: one input gates the other, a sigmoid(alpha a) b.
Status inferSwiGlu(InferContext& in) {
    TS_TRY(inferFloatUnary(in));
    TS_TRY(requireSameType(in, 0, 1));
    const auto &a = in.type(0).dims, &b = in.type(1).dims;
    bool same = !a || !b || a->size() == b->size();
    for (std::size_t d = 0; same && a && b && d < a->size(); ++d)
        same = mergeEqual((*a)[d], (*b)[d]).has_value();
    return same ? Status() : Status(pairError(in, 0, 1, "do not fit: they must have the same shape"));
}

Status evalSwiGlu(EvalContext& context) {
    const double alpha = context.node.floatAttr("alpha", 1);
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        mapBroadcast<T, T>(context.input(0), context.input(1), context.outputs[0], [&](T gate, T value) {
            const auto a = static_cast<double>(gate);
            return static_cast<T>(a * sigmoid(alpha * a) * static_cast<double>(value));
        });
    });
    return {};
}

Status lowerSwiGlu(LowerContext& context) {
    const double alpha = context.node.floatAttr("alpha", 1);
    lowerElementwise(context, "swiglu", [&](const Indices& i) {
        const Expr a = read(context.inputs[0], i);
        return a * sigmoidOf(constantOf(a->type, alpha) * a) * read(context.inputs[1], i);
    });
    return {};
}

// Clip took its limits as attributes before opset 11 and takes them as scalar inputs since.
Status inferClip(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    for (std::size_t i = 1; i < 3; ++i) {
        if (!in.has(i))
            continue;
        TS_TRY(requireSameType(in, 0, i));
        if (in.type(i).isStatic() && (in.type(i).dims->size() > 1 || elementCount(in.type(i).shape()) != 1))
            return pairError(in, 0, i, "do not fit: a limit must be a scalar");
    }
    return inferSameAsFirst(in);
}

// Static so that kernel and lowering agree on which limits there are.
bool hasLimit(const Node& node, std::int64_t opset, std::size_t index) {
    return opset < 11 ? node.has(index == 1 ? "min" : "max") : node.hasInput(index);
}

// A limit that is an attribute, as near as the type comes to it.
template <class T> T stated(double limit) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(limit);
    if (limit <= static_cast<double>(Limits::lowest()))
        return Limits::lowest();
    return limit >= static_cast<double>(Limits::max()) ? Limits::max() : static_cast<T>(limit);
}

// A limit that is no number limits nothing.
Status evalClip(EvalContext& context) {
    visitNumeric(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const auto limit = [&](std::size_t index, T none) {
            if (!hasLimit(context.node, context.opset, index))
                return none;
            if (context.opset < 11)
                return stated<T>(context.node.floatAttr(index == 1 ? "min" : "max", 0));
            return context.input(index).data<T>()[0];
        };
        using Limits = std::numeric_limits<T>;
        const T low = limit(1, Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest());
        const T high = limit(2, Limits::has_infinity ? Limits::infinity() : Limits::max());
        const auto x = context.input(0).data<T>();
        const auto y = context.outputs[0].mutableData<T>();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const T raised = x[i] < low ? low : x[i];
            y[i] = raised > high ? high : raised;
        }
    });
    return {};
}

// A bound that is NaN limits nothing.
Expr limitOr(const Expr& limit, double nothing) {
    if (!isFloat(limit->type))
        return limit;
    const Expr none = constantOf(limit->type, nothing);
    if (limit->op == Op::constant)
        return std::isnan(limit->floatValue) ? none : limit;
    return select(unary(Op::isNan, limit), none, limit);
}

Expr statedLimit(DType type, double limit) {
    Expr number;
    visitNumeric(type, [&](auto tag) {
        const auto nearest = stated<decltype(tag)>(limit);
        number = isFloat(type) ? constantOf(type, static_cast<double>(nearest)) : constantInt(type, static_cast<std::int64_t>(nearest));
    });
    return number;
}

Status lowerClip(LowerContext& context) {
    const auto limit = [&](std::size_t index, DType type) {
        if (context.opset < 11)
            return statedLimit(type, context.node.floatAttr(index == 1 ? "min" : "max", 0));
        if (context.isConstant(index))
            return isFloat(type) ? constantOf(type, context.constant(index).asDouble(0))
                                 : constantInt(type, context.constant(index).asInt(0));
        const TensorRef& tensor = context.inputs[index];
        return read(tensor, Indices(tensor->shape.size(), Expr(0)));
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    lowerElementwise(context, "clip", [&](const Indices& i) {
        Expr x = read(context.inputs[0], i);
        if (hasLimit(context.node, context.opset, 1))
            x = max(x, limitOr(limit(1, x->type), -infinity));
        return hasLimit(context.node, context.opset, 2) ? min(x, limitOr(limit(2, x->type), infinity)) : x;
    });
    return {};
}

// Shrink: what is within lambd of zero becomes zero, the rest moves by bias. Integers round towards zero, as numpy does.
struct ShrinkLimits {
    double threshold, bias;
    explicit ShrinkLimits(const Node& node) : threshold(node.floatAttr("lambd", 0.5F)), bias(node.floatAttr("bias", 0)) {}
};

// Double rounds large integers of 64 bits: they are moved as integers. A shift with a fraction is too small to change their sign.
template <class T> T shifted(T x, double shift) {
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(static_cast<double>(x) + shift);
    else {
        if (sizeof(T) < 8 || std::fabs(static_cast<double>(x)) < 0x1p24)
            return floatToInt<T>(static_cast<double>(x) + shift);
        const T whole = floatToInt<T>(x > 0 ? std::floor(shift) : std::ceil(shift));
        return wrapping(x, whole, [](auto a, auto b) { return a + b; });
    }
}

Status evalShrink(EvalContext& context) {
    const ShrinkLimits shrink(context.node);
    visitNumeric(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        std::ranges::transform(context.input(0).data<T>(), context.outputs[0].mutableData<T>().begin(), [&](T x) {
            const auto value = static_cast<long double>(x); // holds integers of 64 bits
            if (value < -shrink.threshold)
                return shifted(x, shrink.bias);
            return value > shrink.threshold ? shifted(x, -shrink.bias) : T{};
        });
    });
    return {};
}

Status lowerShrink(LowerContext& context) {
    const ShrinkLimits shrink(context.node);
    lowerElementwise(context, "shrink", [&](const Indices& i) {
        const Body b{read(context.inputs[0], i), {}};
        const Expr above = select(b.x > b.number(shrink.threshold), b.x - b.number(shrink.bias), b.number(0));
        return select(b.x < b.number(-shrink.threshold), b.x + b.number(shrink.bias), above);
    });
    return {};
}

Status shrinkLowerable(const OpInputs& in) {
    return isFloat(in.type(0).dtype) ? Status() : Status(in.unsupported("integers are not compiled"));
}

} // namespace

void registerActivation(OperatorList& list) {
    registerExponentials(list);
    registerPiecewise(list);
    addOperator(list, "Relu", Fusion::elementwise, 6, {1, 1}, inferNumericUnary, evalRelu, lowerRelu);
    addOperator(list, "Gelu", Fusion::elementwise, 20, {1, 1}, inferGelu, evalGelu, lowerGelu);
    addOperator(list, "SwiGLU", Fusion::elementwise, 28, {2, 2}, inferSwiGlu, evalSwiGlu, lowerSwiGlu);
    addOperator(list, "PRelu", Fusion::elementwise, 7, {2, 2}, inferPRelu, evalPRelu, lowerPRelu);
    addOperator(list, "Shrink", Fusion::elementwise, 9, {1, 1}, inferNumericUnary, evalShrink, lowerShrink, shrinkLowerable);
    addOperator(list, "Clip", Fusion::elementwise, 6, {1, 3}, inferClip, evalClip, lowerClip);
}

} // namespace tunesmith::ops
