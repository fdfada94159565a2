// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/integer_division.h"

namespace tunesmith {

using llvm::Value;
using loops::Op;

Value* emitDivision(llvm::IRBuilder<>& builder, Op op, Value* a, Value* b, bool isSignedType) {
    Value* zero = llvm::Constant::getNullValue(a->getType());
    Value* one = llvm::ConstantInt::get(a->getType(), 1);
    Value* divides = llvm::isa<llvm::Constant>(b) ? nullptr : builder.CreateICmpNE(b, zero);
    Value* safe = divides ? builder.CreateSelect(divides, b, one) : b;
    Value* quotient = isSignedType ? builder.CreateSDiv(a, safe) : builder.CreateUDiv(a, safe);
    Value* remainder = builder.CreateSub(a, builder.CreateMul(quotient, safe));
    Value* result = op == Op::div || op == Op::truncDiv ? quotient : remainder;
    if (isSignedType && (op == Op::div || op == Op::mod)) {
        Value* inexact = builder.CreateICmpNE(remainder, zero);
        Value* opposite = builder.CreateICmpSLT(builder.CreateXor(remainder, safe), zero);
        Value* correct = builder.CreateAnd(inexact, opposite);
        Value* corrected = op == Op::div ? builder.CreateSub(quotient, one) : builder.CreateAdd(remainder, safe);
        result = builder.CreateSelect(correct, corrected, result);
    }
    return divides ? builder.CreateSelect(divides, result, zero) : result;
}

} // namespace tunesmith
