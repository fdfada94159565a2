// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/graph/tensor.h"

namespace tunesmith {

llvm::Type* valueTypeOf(llvm::IRBuilder<>& builder, DType type);  // in registers: half precision is float there
llvm::Type* memoryTypeOf(llvm::IRBuilder<>& builder, DType type); // of an element of a buffer

} // namespace tunesmith
