// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/integer_math.h"

#include <limits>

#include "core/codegen/llvm/float_math.h"

namespace tunesmith {

using llvm::Value;
using loops::Op;
using Builder = llvm::IRBuilder<>;

namespace {

Value* division(Builder& builder, Op op, Value* a, Value* b, bool isSigned) {
    Value* zero = llvm::Constant::getNullValue(a->getType());
    Value* one = llvm::ConstantInt::get(a->getType(), 1);
    Value* divides = llvm::isa<llvm::Constant>(b) ? nullptr : builder.CreateICmpNE(b, zero);
    Value* safe = divides ? builder.CreateSelect(divides, b, one) : b;
    Value* quotient = isSigned ? builder.CreateSDiv(a, safe) : builder.CreateUDiv(a, safe);
    Value* remainder = builder.CreateSub(a, builder.CreateMul(quotient, safe));
    Value* result = op == Op::div || op == Op::truncDiv ? quotient : remainder;
    if (isSigned && (op == Op::div || op == Op::mod)) {
        Value* inexact = builder.CreateICmpNE(remainder, zero);
        Value* opposite = builder.CreateICmpSLT(builder.CreateXor(remainder, safe), zero);
        Value* correct = builder.CreateAnd(inexact, opposite);
        Value* corrected = op == Op::div ? builder.CreateSub(quotient, one) : builder.CreateAdd(remainder, safe);
        result = builder.CreateSelect(correct, corrected, result);
    }
    return divides ? builder.CreateSelect(divides, result, zero) : result;
}

Value* power(Builder& builder, Value* a, Value* b, bool isSigned) {
    llvm::Type* real = likeLanesOf(a, builder.getDoubleTy());
    Value* x = isSigned ? builder.CreateSIToFP(a, real) : builder.CreateUIToFP(a, real);
    Value* y = isSigned ? builder.CreateSIToFP(b, real) : builder.CreateUIToFP(b, real);
    return emitFloatToInt(builder, emitPower(builder, x, y), a->getType()->getScalarType());
}

Value* extreme(Builder& builder, Op op, Value* a, Value* b, bool isSigned) {
    const bool less = op == Op::min;
    Value* condition = isSigned ? (less ? builder.CreateICmpSLT(a, b) : builder.CreateICmpSGT(a, b))
                                : (less ? builder.CreateICmpULT(a, b) : builder.CreateICmpUGT(a, b));
    return builder.CreateSelect(condition, a, b);
}

} // namespace

llvm::Type* likeLanesOf(Value* value, llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<llvm::VectorType>(value->getType());
    return vector ? llvm::VectorType::get(type, vector->getElementCount()) : type;
}

Value* emitFloatToInt(Builder& builder, Value* value, llvm::Type* type) {
    llvm::Type* wide = likeLanesOf(value, builder.getInt64Ty());
    Value* bound = llvm::ConstantFP::get(value->getType(), 9.2e18);
    Value* fits = builder.CreateAnd(builder.CreateFCmpOLT(value, bound), builder.CreateFCmpOGT(value, builder.CreateFNeg(bound)));
    Value* safe = builder.CreateSelect(fits, value, llvm::Constant::getNullValue(value->getType()));
    Value* converted = builder.CreateFPToSI(safe, wide);
    Value* lowest = llvm::ConstantInt::get(wide, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min()));
    return builder.CreateIntCast(builder.CreateSelect(fits, converted, lowest), likeLanesOf(value, type), true);
}

Value* emitIntUnary(Builder& builder, Op op, Value* x, bool isSigned) {
    Value* zero = llvm::Constant::getNullValue(x->getType());
    switch (op) {
    case Op::neg: return builder.CreateNeg(x);
    case Op::bitNot:
    case Op::logicalNot: return builder.CreateNot(x);
    case Op::abs: return isSigned ? builder.CreateSelect(builder.CreateICmpSLT(x, zero), builder.CreateNeg(x), x) : x;
    case Op::sign: {
        Value* one = llvm::ConstantInt::get(x->getType(), 1);
        Value* positive = builder.CreateSelect(builder.CreateICmpNE(x, zero), one, zero);
        return isSigned ? builder.CreateSelect(builder.CreateICmpSLT(x, zero), builder.CreateNeg(one), positive) : positive;
    }
    case Op::isNan:
    case Op::isInf: return llvm::Constant::getNullValue(likeLanesOf(x, builder.getInt1Ty()));
    default: return x;
    }
}

Value* emitIntBinary(Builder& builder, Op op, Value* a, Value* b, bool isSigned) {
    switch (op) {
    case Op::add: return builder.CreateAdd(a, b);
    case Op::sub: return builder.CreateSub(a, b);
    case Op::mul: return builder.CreateMul(a, b);
    case Op::div:
    case Op::mod:
    case Op::truncDiv:
    case Op::truncMod: return division(builder, op, a, b, isSigned);
    case Op::min:
    case Op::max: return extreme(builder, op, a, b, isSigned);
    case Op::bitAnd:
    case Op::logicalAnd: return builder.CreateAnd(a, b);
    case Op::bitOr:
    case Op::logicalOr: return builder.CreateOr(a, b);
    case Op::bitXor: return builder.CreateXor(a, b);
    case Op::shiftLeft: return builder.CreateShl(a, b);
    case Op::shiftRight: return isSigned ? builder.CreateAShr(a, b) : builder.CreateLShr(a, b);
    case Op::equal: return builder.CreateICmpEQ(a, b);
    case Op::notEqual: return builder.CreateICmpNE(a, b);
    case Op::less: return isSigned ? builder.CreateICmpSLT(a, b) : builder.CreateICmpULT(a, b);
    case Op::lessEqual: return isSigned ? builder.CreateICmpSLE(a, b) : builder.CreateICmpULE(a, b);
    case Op::greater: return isSigned ? builder.CreateICmpSGT(a, b) : builder.CreateICmpUGT(a, b);
    case Op::greaterEqual: return isSigned ? builder.CreateICmpSGE(a, b) : builder.CreateICmpUGE(a, b);
    default: return power(builder, a, b, isSigned);
    }
}

} // namespace tunesmith
