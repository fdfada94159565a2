// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/integer_math.h"

#include <cmath>
#include <limits>

#include "core/codegen/llvm/float_math.h"
#include "core/loops/simplify.h"

namespace tunesmith {

using llvm::Value;
using loops::Op;
using Builder = llvm::IRBuilder<>;

namespace {

// Whether the processor can divide any number by it: a constant of neither 0 nor -1.
bool alwaysDivides(Value* divisor) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(divisor);
    const auto* lane = constant && divisor->getType()->isVectorTy() ? constant->getSplatValue() : constant;
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(lane);
    return number && !number->isZero() && !number->isMinusOne();
}

// Dividing by -1 is subtracting from 0, which may wrap around; dividing by 0 yields 0.
Value* division(Builder& builder, Op op, Value* a, Value* b, bool isSigned) {
    Value* zero = llvm::Constant::getNullValue(a->getType());
    Value* one = llvm::ConstantInt::get(a->getType(), 1);
    const bool always = alwaysDivides(b);
    Value* divides = always ? nullptr : builder.CreateICmpNE(b, zero);
    Value* negates = always || !isSigned ? nullptr : builder.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType()));
    Value* safe = always ? b : builder.CreateSelect(negates ? builder.CreateAnd(divides, builder.CreateNot(negates)) : divides, b, one);
    Value* quotient = isSigned ? builder.CreateSDiv(a, safe) : builder.CreateUDiv(a, safe);
    if (negates)
        quotient = builder.CreateSelect(negates, builder.CreateNeg(a), quotient);
    Value* remainder = builder.CreateSub(a, builder.CreateMul(quotient, negates ? b : safe));
    Value* result = op == Op::div || op == Op::truncDiv ? quotient : remainder;
    if (isSigned && (op == Op::div || op == Op::mod)) {
        Value* inexact = builder.CreateICmpNE(remainder, zero);
        Value* opposite = builder.CreateICmpSLT(builder.CreateXor(remainder, b), zero);
        Value* correct = builder.CreateAnd(inexact, opposite);
        Value* corrected = op == Op::div ? builder.CreateSub(quotient, one) : builder.CreateAdd(remainder, b);
        result = builder.CreateSelect(correct, corrected, result);
    }
    return divides ? builder.CreateSelect(divides, result, zero) : result;
}

// Squares as many times as the largest exponent of any lane has bits; a power below 1 is truncated to 0.
Value* power(Builder& b, Value* base, Value* exponent, bool isSigned) {
    llvm::Type* type = base->getType();
    Value* zero = llvm::Constant::getNullValue(type);
    Value* one = llvm::ConstantInt::get(type, 1);
    llvm::Function* function = b.GetInsertBlock()->getParent();
    auto* before = b.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(b.getContext(), "power", function);
    auto* after = llvm::BasicBlock::Create(b.getContext(), "after.power", function);
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode *left = b.CreatePHI(type, 2), *factor = b.CreatePHI(type, 2), *result = b.CreatePHI(type, 2);
    Value* product = b.CreateSelect(b.CreateICmpNE(b.CreateAnd(left, one), zero), b.CreateMul(result, factor), result);
    Value* rest = b.CreateLShr(left, one);
    const std::pair<llvm::PHINode*, std::pair<Value*, Value*>> steps[] = {
        {left, {exponent, rest}}, {factor, {base, b.CreateMul(factor, factor)}}, {result, {one, product}}};
    for (const auto& [phi, values] : steps) {
        phi->addIncoming(values.first, before);
        phi->addIncoming(values.second, loop);
    }
    Value* any = type->isVectorTy() ? b.CreateOrReduce(rest) : rest;
    b.CreateCondBr(b.CreateICmpNE(any, llvm::Constant::getNullValue(any->getType())), loop, after);
    b.SetInsertPoint(after);
    if (!isSigned)
        return product;
    Value* minusOne = llvm::Constant::getAllOnesValue(type);
    Value* stays = b.CreateOr(b.CreateICmpEQ(base, one), b.CreateICmpEQ(base, minusOne)); // an odd exponent is odd in two's complement
    return b.CreateSelect(b.CreateAnd(b.CreateICmpSLT(exponent, zero), b.CreateNot(stays)), zero, product);
}

// The number that stands for what does not fit is also chosen for NaN.
Value* truncatedTo(Builder& b, Value* value, llvm::Type* type) {
    llvm::Type* wide = likeLanesOf(value, type);
    const llvm::APInt lowest = llvm::APInt::getSignedMinValue(type->getIntegerBitWidth());
    Value* end = llvm::ConstantFP::get(value->getType(), -lowest.signedRoundToDouble());
    Value* fits = b.CreateAnd(b.CreateFCmpOLT(value, end), b.CreateFCmpOGT(value, b.CreateFNeg(end)));
    return b.CreateSelect(fits, b.CreateFPToSI(value, wide), llvm::ConstantInt::get(wide, lowest));
}

Value* extreme(Builder& builder, Op op, Value* a, Value* b, bool isSigned) {
    const bool less = op == Op::min;
    Value* condition = isSigned ? (less ? builder.CreateICmpSLT(a, b) : builder.CreateICmpSGT(a, b))
                                : (less ? builder.CreateICmpULT(a, b) : builder.CreateICmpUGT(a, b));
    return builder.CreateSelect(condition, a, b);
}

bool isSmallConstant(const loops::Expr& e) { return e->op == Op::constant && std::fabs(e->floatValue) < 0x1p30; }

} // namespace

bool isSaturated(const loops::Expr& x) {
    if (x->op != Op::min || !isSmallConstant(x->args[1]) || x->args[0]->op != Op::select)
        return false;
    const loops::Expr &choice = x->args[0], &condition = choice->args[0];
    return condition->op == Op::greater && loops::sameExpr(condition->args[0], choice->args[1]) && isSmallConstant(condition->args[1]) && isSmallConstant(choice->args[2]);
}

llvm::Type* likeLanesOf(Value* value, llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<llvm::VectorType>(value->getType());
    return vector ? llvm::VectorType::get(type, vector->getElementCount()) : type;
}

Value* emitFloatToInt(Builder& b, Value* value, DType type) {
    llvm::Type* target = likeLanesOf(value, b.getIntNTy(static_cast<unsigned>(byteSize(type) * 8)));
    const bool isNarrow = byteSize(type) < 4 || type == DType::i32;
    if (type != DType::u64)
        return b.CreateIntCast(truncatedTo(b, value, isNarrow ? b.getInt32Ty() : b.getInt64Ty()), target, true);
    Value* middle = llvm::ConstantFP::get(value->getType(), 0x1p63);
    Value* isUpper = b.CreateFCmpOGE(value, middle);
    Value* lower = truncatedTo(b, b.CreateSelect(isUpper, b.CreateFSub(value, middle), value), b.getInt64Ty());
    return b.CreateSelect(isUpper, b.CreateXor(lower, llvm::ConstantInt::get(target, std::uint64_t{1} << 63)), lower);
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
