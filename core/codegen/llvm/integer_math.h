// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/loops/expr.h"

namespace tunesmith {

// Arithmetic on integers and booleans, scalar or vector. div and mod round towards minus infinity, truncDiv and truncMod
// towards zero; dividing by zero yields zero instead of a trap. What does not fit wraps around, in quotients and powers, too.
llvm::Value* emitIntUnary(llvm::IRBuilder<>& builder, loops::Op op, llvm::Value* x, bool isSigned);
llvm::Value* emitIntBinary(llvm::IRBuilder<>& builder, loops::Op op, llvm::Value* a, llvm::Value* b, bool isSigned);

// As the processor does it, by the rule of floatToInt() (core/graph/tensor.h), so that what does not fit is the same everywhere.
llvm::Value* emitFloatToInt(llvm::IRBuilder<>& builder, llvm::Value* value, DType type);

// Whether a float is min(x > low ? x : low, high) for constants, which an int32 holds: no test for what does not fit is needed.
bool isSaturated(const loops::Expr& x);

llvm::Type* likeLanesOf(llvm::Value* value, llvm::Type* type); // `type`, or as many of it as `value` has lanes

} // namespace tunesmith
