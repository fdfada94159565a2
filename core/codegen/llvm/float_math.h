// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/codegen/llvm/vector_functions.h"
#include "core/loops/expr.h"

namespace tunesmith {

// Arithmetic and elementary functions on floats, scalar or vector. exp, log, tanh and erf on float32 vectors are computed in
// vector registers (vector_functions.h); everything else becomes a call of libm per lane.
// max(a, b) and min(a, b) are NaN where either is.
class FloatMath {
public:
    FloatMath(llvm::IRBuilder<>& builder, Isa isa) : builder_(builder), vectors_(builder, isa) {}

    llvm::Value* unary(loops::Op op, llvm::Value* x) const;
    llvm::Value* binary(loops::Op op, llvm::Value* a, llvm::Value* b) const;
    llvm::Value* sigmoid(llvm::Value* number, llvm::Value* divisor) const; // see isSigmoid

private:
    llvm::IRBuilder<>& builder_;
    const VectorFunctions vectors_;
};

// Whether `quotient` is a number over 1 + exp(...), or over more: its divisor is a number from 1 on, infinity or NaN.
bool isSigmoid(const loops::Expr& quotient);

} // namespace tunesmith
