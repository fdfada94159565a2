// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/loops/expr.h"

namespace tunesmith {

// Arithmetic on integers and booleans, scalar or vector. div and mod round towards minus infinity, truncDiv and truncMod
// towards zero; dividing by zero yields zero instead of a trap. Powers are computed in double precision.
llvm::Value* emitIntUnary(llvm::IRBuilder<>& builder, loops::Op op, llvm::Value* x, bool isSigned);
llvm::Value* emitIntBinary(llvm::IRBuilder<>& builder, loops::Op op, llvm::Value* a, llvm::Value* b, bool isSigned);

// Through int64 as the processor does it, so that what does not fit is the same as in the reference kernel. `type`: of one lane.
llvm::Value* emitFloatToInt(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Type* type);

llvm::Type* likeLanesOf(llvm::Value* value, llvm::Type* type); // `type`, or as many of it as `value` has lanes

} // namespace tunesmith
