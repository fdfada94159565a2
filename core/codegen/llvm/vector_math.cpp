// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/vector_math.h"

#include <cmath>
#include <span>

namespace tunesmith {
namespace {

using llvm::Value;
using loops::Op;
using Builder = llvm::IRBuilder<>;

Value* constantLike(Value* x, double value) { return llvm::ConstantFP::get(x->getType(), value); }

Value* fma(Builder& b, Value* x, Value* y, Value* z) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

Value* call(Builder& b, llvm::Intrinsic::ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }

Value* maximum(Builder& b, Value* x, Value* y) { return b.CreateSelect(b.CreateFCmpOGT(y, x), y, x); }
Value* minimum(Builder& b, Value* x, Value* y) { return b.CreateSelect(b.CreateFCmpOLT(y, x), y, x); }

// Coefficients from the highest power down.
Value* polynomial(Builder& b, Value* x, std::span<const double> coefficients) {
    Value* sum = constantLike(x, coefficients[0]);
    for (const double coefficient : coefficients.subspan(1))
        sum = fma(b, sum, x, constantLike(x, coefficient));
    return sum;
}

llvm::Type* intsLike(Builder& b, Value* x) {
    llvm::Type* type = b.getInt32Ty();
    if (auto* vector = llvm::dyn_cast<llvm::VectorType>(x->getType()))
        return llvm::VectorType::get(type, vector->getElementCount());
    return type;
}

// e^x = 2^n * e^r with r = x - n ln 2 (in two parts) and |r| <= ln(2)/2; degree-6 Taylor-like minimax polynomial. Relative
// error below 3 ulp over the range that does not overflow; x is clamped to [-87.3, 88.7], NaN stays NaN.
Value* exponential(Builder& b, Value* x) {
    Value* clamped = minimum(b, maximum(b, x, constantLike(x, -87.33)), constantLike(x, 88.72));
    Value* n = call(b, llvm::Intrinsic::rint, b.CreateFMul(clamped, constantLike(x, 1.44269504088896341)));
    Value* r = fma(b, n, constantLike(x, -0.693145751953125), clamped);
    r = fma(b, n, constantLike(x, -1.42860682030941723e-6), r);
    static constexpr double coefficients[] = {1.0 / 720 * 1.0005, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    Value* p = polynomial(b, r, coefficients);
    // 2^n in two steps, because n = 128 alone has no float.
    llvm::Type* ints = intsLike(b, x);
    Value* whole = b.CreateFPToSI(b.CreateSelect(b.CreateFCmpUNO(n, n), constantLike(x, 0), n), ints);
    Value* half = b.CreateAShr(whole, llvm::ConstantInt::get(ints, 1));
    const auto power = [&](Value* exponent) {
        Value* biased = b.CreateAdd(exponent, llvm::ConstantInt::get(ints, 127));
        return b.CreateBitCast(b.CreateShl(biased, llvm::ConstantInt::get(ints, 23)), x->getType());
    };
    return b.CreateFMul(b.CreateFMul(p, power(half)), power(b.CreateSub(whole, half)));
}

// tanh x = sign(x) (1 - 2 / (e^(2|x|) + 1)); below 0.6 the odd series to x^11, where the quotient would cancel.
// Absolute error below 3e-7.
Value* hyperbolicTangent(Builder& b, Value* x) {
    Value* magnitude = call(b, llvm::Intrinsic::fabs, x);
    Value* e = exponential(b, b.CreateFMul(magnitude, constantLike(x, 2)));
    Value* one = constantLike(x, 1);
    Value* large = b.CreateFSub(one, b.CreateFDiv(constantLike(x, 2), b.CreateFAdd(e, one)));
    Value* square = b.CreateFMul(x, x);
    static constexpr double series[] = {-1382.0 / 155925, 62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1.0};
    Value* small = b.CreateFMul(magnitude, polynomial(b, square, series));
    Value* chosen = b.CreateSelect(b.CreateFCmpOLT(magnitude, constantLike(x, 0.35)), small, large);
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, chosen, x);
}

// Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7); near zero the Maclaurin series, so that the relative error stays small.
Value* errorFunction(Builder& b, Value* x) {
    Value* magnitude = call(b, llvm::Intrinsic::fabs, x);
    Value* one = constantLike(x, 1);
    Value* t = b.CreateFDiv(one, fma(b, magnitude, constantLike(x, 0.3275911), one));
    static constexpr double coefficients[] = {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0};
    Value* e = exponential(b, b.CreateFNeg(b.CreateFMul(x, x)));
    Value* large = b.CreateFSub(one, b.CreateFMul(polynomial(b, t, coefficients), e));
    static constexpr double series[] = {1.0 / 216 * M_2_SQRTPI, -1.0 / 42 * M_2_SQRTPI, 0.1 * M_2_SQRTPI, -M_2_SQRTPI / 3, M_2_SQRTPI};
    Value* small = b.CreateFMul(magnitude, polynomial(b, b.CreateFMul(x, x), series));
    Value* chosen = b.CreateSelect(b.CreateFCmpOLT(magnitude, constantLike(x, 0.5)), small, large);
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, chosen, x);
}

bool isFloatVector(Value* x) { return x->getType()->isVectorTy() && x->getType()->getScalarType()->isFloatTy(); }

const char* libmName(Op op) {
    switch (op) {
    case Op::exp: return "exp";
    case Op::log: return "log";
    case Op::sin: return "sin";
    case Op::cos: return "cos";
    case Op::tan: return "tan";
    case Op::asin: return "asin";
    case Op::acos: return "acos";
    case Op::atan: return "atan";
    case Op::sinh: return "sinh";
    case Op::cosh: return "cosh";
    case Op::asinh: return "asinh";
    case Op::acosh: return "acosh";
    case Op::atanh: return "atanh";
    case Op::tanh: return "tanh";
    case Op::erf: return "erf";
    case Op::pow: return "pow";
    case Op::truncMod: return "fmod";
    default: return nullptr;
    }
}

Value* scalarLibm(Builder& b, const char* name, llvm::ArrayRef<Value*> arguments) {
    llvm::Type* type = arguments[0]->getType();
    auto* module = b.GetInsertBlock()->getModule();
    const std::string symbol = type->isFloatTy() ? std::string(name) + "f" : name;
    auto* signature = llvm::FunctionType::get(type, std::vector<llvm::Type*>(arguments.size(), type), false);
    auto function = module->getOrInsertFunction(symbol, signature);
    if (auto* declared = llvm::dyn_cast<llvm::Function>(function.getCallee())) {
        declared->setDoesNotThrow();
        declared->setDoesNotAccessMemory();
        declared->setWillReturn();
    }
    return b.CreateCall(function, arguments);
}

// libm is called lane by lane.
Value* libm(Builder& b, const char* name, llvm::ArrayRef<Value*> arguments) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(arguments[0]->getType());
    if (!vector)
        return scalarLibm(b, name, arguments);
    Value* result = llvm::PoisonValue::get(vector);
    for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
        std::vector<Value*> lanes;
        for (Value* argument : arguments)
            lanes.push_back(b.CreateExtractElement(argument, lane));
        result = b.CreateInsertElement(result, scalarLibm(b, name, lanes), lane);
    }
    return result;
}

} // namespace

Value* emitFloatUnary(Builder& b, Op op, Value* x) {
    switch (op) {
    case Op::neg: return b.CreateFNeg(x);
    case Op::abs: return call(b, llvm::Intrinsic::fabs, x);
    case Op::sqrt: return call(b, llvm::Intrinsic::sqrt, x);
    case Op::floor: return call(b, llvm::Intrinsic::floor, x);
    case Op::ceil: return call(b, llvm::Intrinsic::ceil, x);
    case Op::round: return call(b, llvm::Intrinsic::rint, x);
    case Op::isNan: return b.CreateFCmpUNO(x, x);
    case Op::isInf: return b.CreateFCmpOEQ(call(b, llvm::Intrinsic::fabs, x), llvm::ConstantFP::getInfinity(x->getType()));
    case Op::sign: {
        Value* zero = constantLike(x, 0);
        Value* negative = b.CreateSelect(b.CreateFCmpOLT(x, zero), constantLike(x, -1), x);
        return b.CreateSelect(b.CreateFCmpOGT(x, zero), constantLike(x, 1), negative);
    }
    default: break;
    }
    if (isFloatVector(x)) {
        if (op == Op::exp)
            return exponential(b, x);
        if (op == Op::tanh)
            return hyperbolicTangent(b, x);
        if (op == Op::erf)
            return errorFunction(b, x);
    }
    return libm(b, libmName(op), {x});
}

Value* emitFloatBinary(Builder& b, Op op, Value* x, Value* y) {
    switch (op) {
    case Op::add: return b.CreateFAdd(x, y);
    case Op::sub: return b.CreateFSub(x, y);
    case Op::mul: return b.CreateFMul(x, y);
    case Op::div: return b.CreateFDiv(x, y);
    case Op::max: return maximum(b, x, y);
    case Op::min: return minimum(b, x, y);
    case Op::equal: return b.CreateFCmpOEQ(x, y);
    case Op::notEqual: return b.CreateFCmpUNE(x, y);
    case Op::less: return b.CreateFCmpOLT(x, y);
    case Op::lessEqual: return b.CreateFCmpOLE(x, y);
    case Op::greater: return b.CreateFCmpOGT(x, y);
    case Op::greaterEqual: return b.CreateFCmpOGE(x, y);
    case Op::mod: {
        Value* quotient = call(b, llvm::Intrinsic::floor, b.CreateFDiv(x, y));
        return b.CreateFSub(x, b.CreateFMul(quotient, y));
    }
    default: return libm(b, libmName(op), {x, y});
    }
}

} // namespace tunesmith
