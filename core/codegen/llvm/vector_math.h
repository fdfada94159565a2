// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/loops/expr.h"

namespace tunesmith {

// Arithmetic and elementary functions on floats, scalar or vector. exp, tanh, erf and the like on float32 vectors are
// polynomials in vector registers (errors stated at each); everything else becomes a call of libm per lane.
// max(a, b) and min(a, b) yield a when either is NaN, as the processor's instructions do, so a NaN in a passes through.
llvm::Value* emitFloatUnary(llvm::IRBuilder<>& builder, loops::Op op, llvm::Value* x);
llvm::Value* emitFloatBinary(llvm::IRBuilder<>& builder, loops::Op op, llvm::Value* a, llvm::Value* b);

} // namespace tunesmith
