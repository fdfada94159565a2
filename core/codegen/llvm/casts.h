// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/graph/tensor.h"

namespace tunesmith {

struct CastSource {
    DType type;
    bool isSaturated; // within what the wanted integers hold
};

// A value, or each lane of it, in another type. Floats become integers as in the reference kernels; 16-bit floats are rounded, and stay floats in registers.
llvm::Value* castValue(llvm::IRBuilder<>& builder, llvm::Value* value, const CastSource& from, DType to);

} // namespace tunesmith
