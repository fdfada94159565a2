// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/float_math.h"

#include <vector>

namespace tunesmith {
namespace {

using llvm::Value;
using loops::Op;
using Builder = llvm::IRBuilder<>;

Value* constantLike(Value* x, double value) { return llvm::ConstantFP::get(x->getType(), value); }

Value* call(Builder& b, llvm::Intrinsic::ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }

bool isNumber(Value* x) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(x);
    const auto* lane = constant && x->getType()->isVectorTy() ? constant->getSplatValue() : constant;
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(lane);
    return number && !number->isNaN();
}

// One instruction gives x where either is NaN, so only a NaN in y is left to choose, off the path of what was folded so far into x.
Value* extreme(Builder& b, llvm::CmpInst::Predicate wins, Value* x, Value* y) {
    if (isNumber(x))
        std::swap(x, y);
    Value* extreme = b.CreateSelect(b.CreateFCmp(wins, y, x), y, x);
    return isNumber(y) ? extreme : b.CreateSelect(b.CreateFCmpUNO(y, y), y, extreme);
}

bool isFloatVector(Value* x) { return x->getType()->isVectorTy() && x->getType()->getScalarType()->isFloatTy(); }

const char* libmName(Op op) {
    switch (op) {
    case Op::exp:
    case Op::expDown: return "exp";
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

Value* FloatMath::unary(Op op, Value* x) const {
    Builder& b = builder_;
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
        switch (op) {
        case Op::exp: return vectors_.exp(x);
        case Op::expDown: return vectors_.expDown(x);
        case Op::log: return vectors_.log(x);
        case Op::tanh: return vectors_.tanh(x);
        case Op::erf: return vectors_.erf(x);
        default: break;
        }
    }
    return libm(b, libmName(op), {x});
}

Value* FloatMath::binary(Op op, Value* x, Value* y) const {
    Builder& b = builder_;
    switch (op) {
    case Op::add: return b.CreateFAdd(x, y);
    case Op::sub: return b.CreateFSub(x, y);
    case Op::mul: return b.CreateFMul(x, y);
    case Op::div: return b.CreateFDiv(x, y);
    case Op::max: return extreme(b, llvm::CmpInst::FCMP_OGT, x, y);
    case Op::min: return extreme(b, llvm::CmpInst::FCMP_OLT, x, y);
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

Value* FloatMath::sigmoid(Value* number, Value* divisor) const {
    if (!isFloatVector(divisor))
        return builder_.CreateFDiv(number, divisor);
    Value* inverse = vectors_.reciprocal(divisor);
    auto* one = llvm::dyn_cast<llvm::ConstantFP>(number);
    return one && one->isExactlyValue(1.0) ? inverse : builder_.CreateFMul(number, inverse);
}

bool isSigmoid(const loops::Expr& quotient) {
    const auto number = [](const loops::Expr& e, double least) { return e->op == Op::constant && e->floatValue >= least; };
    const loops::Expr& divisor = quotient->args[1];
    return quotient->op == Op::div && quotient->args[0]->op == Op::constant && divisor->op == Op::add &&
           ((number(divisor->args[0], 1) && divisor->args[1]->op == Op::exp) || (number(divisor->args[1], 1) && divisor->args[0]->op == Op::exp));
}

} // namespace tunesmith
