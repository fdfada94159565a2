// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/evaluate.h"

#include <cmath>
#include <limits>
#include <unordered_map>

namespace tunesmith::loops {
namespace {

// One scalar of either kind; which one is in use follows from the type of the expression.
struct Scalar {
    double real = 0;
    std::int64_t integer = 0;
};

struct OutOfRange {
    std::string message;
};

class Evaluator {
public:
    std::unordered_map<const TensorDecl*, Tensor> tensors;
    std::unordered_map<const VarInfo*, std::int64_t> vars;

    Scalar eval(const Expr& e) {
        switch (e->op) {
        case Op::constant: return {e->floatValue, e->intValue};
        case Op::var: return {0, vars.at(e->var.get())};
        case Op::load: return evalLoad(e);
        case Op::select: return eval(e->args[0]).integer ? eval(e->args[1]) : eval(e->args[2]);
        case Op::cast: return convert(eval(e->args[0]), e->args[0]->type, e->type);
        case Op::logicalAnd: return {0, eval(e->args[0]).integer && eval(e->args[1]).integer};
        case Op::logicalOr: return {0, eval(e->args[0]).integer || eval(e->args[1]).integer};
        default: break;
        }
        const DType type = e->args[0]->type;
        Scalar a = eval(e->args[0]);
        if (type == DType::f32 && (e->op == Op::floor || e->op == Op::ceil || e->op == Op::round))
            a.real = static_cast<float>(a.real);
        if (e->args.size() == 1)
            return isFloat(type) ? unaryFloat(e->op, a.real) : unaryInt(e->op, a.integer, type);
        const Scalar b = eval(e->args[1]);
        return isFloat(type) ? binaryFloat(e->op, a.real, b.real) : binaryInt(e->op, a.integer, b.integer, type);
    }

    void store(Tensor& tensor, std::int64_t offset, const Scalar& value) {
        visitDType(tensor.type(), [&](auto tag) {
            using T = decltype(tag);
            auto& slot = tensor.mutableData<T>()[static_cast<std::size_t>(offset)];
            if constexpr (std::is_same_v<T, Half>)
                slot = floatToHalf(static_cast<float>(value.real));
            else if constexpr (std::is_same_v<T, BFloat>)
                slot = floatToBfloat(static_cast<float>(value.real));
            else if constexpr (std::is_floating_point_v<T>)
                slot = static_cast<T>(value.real);
            else
                slot = static_cast<T>(value.integer);
        });
    }

private:
    Scalar evalLoad(const Expr& e) {
        const Tensor& tensor = tensors.at(e->tensor.get());
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < e->args.size(); ++d) {
            const std::int64_t index = eval(e->args[d]).integer;
            if (index < 0 || index >= e->tensor->shape[d])
                throw OutOfRange{"index " + std::to_string(index) + " of " + toText(e) + " leaves dimension " +
                                 std::to_string(d) + " of extent " + std::to_string(e->tensor->shape[d])};
            offset = offset * e->tensor->shape[d] + index;
        }
        return isFloat(e->type) ? Scalar{tensor.asDouble(offset), 0} : Scalar{0, tensor.asInt(offset)};
    }

    static std::int64_t wrap(std::int64_t value, DType type) {
        return visitDType(type, [&](auto tag) -> std::int64_t {
            using T = decltype(tag);
            if constexpr (std::is_integral_v<T>)
                return static_cast<std::int64_t>(static_cast<T>(value));
            else
                return value;
        });
    }

    static Scalar convert(const Scalar& value, DType from, DType to) {
        if (isFloat(to))
            return {isFloat(from) ? value.real : static_cast<double>(value.integer), 0};
        if (to == DType::boolean)
            return {0, isFloat(from) ? value.real != 0 : value.integer != 0};
        return {0, wrap(isFloat(from) ? static_cast<std::int64_t>(value.real) : value.integer, to)};
    }

    static Scalar unaryFloat(Op op, double x) {
        switch (op) {
        case Op::neg: return {-x};
        case Op::abs: return {std::fabs(x)};
        case Op::sign: return {x > 0 ? 1.0 : x < 0 ? -1.0 : x};
        case Op::exp: return {std::exp(x)};
        case Op::log: return {std::log(x)};
        case Op::sqrt: return {std::sqrt(x)};
        case Op::sin: return {std::sin(x)};
        case Op::cos: return {std::cos(x)};
        case Op::tan: return {std::tan(x)};
        case Op::asin: return {std::asin(x)};
        case Op::acos: return {std::acos(x)};
        case Op::atan: return {std::atan(x)};
        case Op::sinh: return {std::sinh(x)};
        case Op::cosh: return {std::cosh(x)};
        case Op::asinh: return {std::asinh(x)};
        case Op::acosh: return {std::acosh(x)};
        case Op::atanh: return {std::atanh(x)};
        case Op::tanh: return {std::tanh(x)};
        case Op::erf: return {std::erf(x)};
        case Op::floor: return {std::floor(x)};
        case Op::ceil: return {std::ceil(x)};
        case Op::round: return {std::nearbyint(x)};
        case Op::isNan: return {0, std::isnan(x)};
        case Op::isInf: return {0, std::isinf(x)};
        default: assert(false && "no such operation on floats"); return {};
        }
    }

    static Scalar unaryInt(Op op, std::int64_t x, DType type) {
        switch (op) {
        case Op::neg: return {0, wrap(-x, type)};
        case Op::abs: return {0, wrap(x < 0 ? -x : x, type)};
        case Op::sign: return {0, x > 0 ? 1 : x < 0 ? -1 : 0};
        case Op::logicalNot: return {0, !x};
        case Op::bitNot: return {0, wrap(~x, type)};
        case Op::isNan:
        case Op::isInf: return {0, 0};
        default: return {0, x}; // floor, ceil, round of an integer
        }
    }

    static Scalar binaryFloat(Op op, double a, double b) {
        switch (op) {
        case Op::add: return {a + b};
        case Op::sub: return {a - b};
        case Op::mul: return {a * b};
        case Op::div: return {a / b};
        case Op::mod: return {a - std::floor(a / b) * b};
        case Op::truncMod: return {std::fmod(a, b)};
        case Op::min: return {std::isnan(a) || a < b ? a : b};
        case Op::max: return {std::isnan(a) || a > b ? a : b};
        case Op::pow: return {std::pow(a, b)};
        case Op::equal: return {0, a == b};
        case Op::notEqual: return {0, a != b};
        case Op::less: return {0, a < b};
        case Op::lessEqual: return {0, a <= b};
        case Op::greater: return {0, a > b};
        case Op::greaterEqual: return {0, a >= b};
        default: assert(false && "no such operation on floats"); return {};
        }
    }

    static Scalar binaryInt(Op op, std::int64_t a, std::int64_t b, DType type) {
        const bool unsignedWide = type == DType::u64;
        const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
        switch (op) {
        case Op::truncDiv: return {0, b == 0 ? 0 : wrap(unsignedWide ? static_cast<std::int64_t>(ua / ub) : a / b, type)};
        case Op::truncMod: return {0, b == 0 ? 0 : wrap(unsignedWide ? static_cast<std::int64_t>(ua % ub) : a % b, type)};
        case Op::bitAnd: return {0, a & b};
        case Op::bitOr: return {0, a | b};
        case Op::bitXor: return {0, a ^ b};
        case Op::shiftLeft: return {0, wrap(static_cast<std::int64_t>(ua << ub), type)};
        case Op::shiftRight: return {0, wrap(isSigned(type) ? a >> b : static_cast<std::int64_t>(ua >> ub), type)};
        case Op::pow: return {0, wrap(static_cast<std::int64_t>(std::pow(static_cast<double>(a), static_cast<double>(b))), type)};
        default: {
            const Expr folded = binary(op, constantInt(type, a), constantInt(type, b));
            return {0, folded->type == DType::boolean ? folded->intValue : wrap(folded->intValue, type)};
        }
        }
    }
};

Scalar identity(Reduction reduction, DType type) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::int64_t lowest = 0, highest = 1;
    visitDType(type, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_integral_v<T>) {
            lowest = static_cast<std::int64_t>(std::numeric_limits<T>::min());
            highest = static_cast<std::int64_t>(std::numeric_limits<T>::max());
        }
    });
    switch (reduction) {
    case Reduction::max: return {-infinity, lowest};
    case Reduction::min: return {infinity, highest};
    case Reduction::product: return {1, 1};
    default: return {};
    }
}

Op combinerOf(Reduction reduction) {
    switch (reduction) {
    case Reduction::product: return Op::mul;
    case Reduction::max: return Op::max;
    case Reduction::min: return Op::min;
    default: return Op::add;
    }
}

// Visits all points of the box in row-major order with the axes' variables set.
template <class Visit> void forEachPoint(Evaluator& evaluator, const std::vector<Axis>& axes, std::size_t depth, const Visit& visit) {
    if (depth == axes.size())
        return visit();
    for (std::int64_t i = 0; i < axes[depth].extent; ++i) {
        evaluator.vars[axes[depth].var.get()] = i;
        forEachPoint(evaluator, axes, depth + 1, visit);
    }
}

Scalar combine(Evaluator& evaluator, Reduction reduction, DType type, const Scalar& a, const Scalar& b) {
    const Expr left = isFloat(type) ? constantOf(type, a.real) : constantInt(type, a.integer);
    const Expr right = isFloat(type) ? constantOf(type, b.real) : constantInt(type, b.integer);
    return evaluator.eval(binary(combinerOf(reduction), left, right));
}

void runStage(Evaluator& evaluator, const Stage& stage) {
    Tensor output = Tensor::zeros(stage.output->type, stage.output->shape);
    std::int64_t offset = 0;
    forEachPoint(evaluator, stage.axes, 0, [&] {
        Scalar value;
        if (stage.reduction == Reduction::none) {
            value = evaluator.eval(stage.body);
        } else {
            value = identity(stage.reduction, stage.output->type);
            forEachPoint(evaluator, stage.reduceAxes, 0, [&] {
                if (!stage.guard.valid() || evaluator.eval(stage.guard).integer)
                    value = combine(evaluator, stage.reduction, stage.output->type, value, evaluator.eval(stage.body));
            });
        }
        evaluator.store(output, offset++, value);
    });
    evaluator.tensors[stage.output.get()] = std::move(output);
}

} // namespace

Result<std::vector<Tensor>> evaluate(const Program& program, const std::vector<Tensor>& inputs) {
    assert(inputs.size() == program.inputs.size());
    Evaluator evaluator;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].shape() != program.inputs[i]->shape || inputs[i].type() != program.inputs[i]->type)
            return inputError(program.name + ": input '" + program.inputs[i]->name + "' has another type than declared");
        evaluator.tensors[program.inputs[i].get()] = inputs[i];
    }
    try {
        for (const Stage& stage : program.stages)
            runStage(evaluator, stage);
    } catch (const OutOfRange& error) {
        return inputError(program.name + ": " + error.message);
    }
    std::vector<Tensor> outputs;
    for (const TensorRef& output : program.outputs)
        outputs.push_back(evaluator.tensors.at(output.get()));
    return outputs;
}

} // namespace tunesmith::loops
