// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "core/loops/expr.h"

namespace tunesmith {

// div and mod round towards minus infinity, truncDiv and truncMod towards zero; dividing by zero yields zero instead of a
// trap. Scalars and vectors.
llvm::Value* emitDivision(llvm::IRBuilder<>& builder, loops::Op op, llvm::Value* a, llvm::Value* b, bool isSignedType);

} // namespace tunesmith
