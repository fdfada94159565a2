// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "core/graph/dtype.h"

namespace tunesmith {

// float16 and bfloat16 exist in memory only: kernels compute with float32 and round once, to nearest even, when they store.
// Both work on scalars and vectors.
inline bool isSmallFloat(DType type) { return type == DType::f16 || type == DType::bf16; }

llvm::Type* smallFloatMemory(llvm::IRBuilder<>& builder, DType type);                // of one element
llvm::Value* widenSmallFloat(llvm::IRBuilder<>& builder, llvm::Value* stored, DType type); // to float32
llvm::Value* roundToSmallFloat(llvm::IRBuilder<>& builder, llvm::Value* value, DType type); // from float32, as stored

} // namespace tunesmith
