// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/codegen/llvm/llvm_headers.h"

namespace tunesmith {

// The columns of a small matrix that is given by its rows, vectors of equal length; up to 16 of each. Whole networks of shuffles
// that x86 has as single instructions: pairs within 128 bits first, then pieces of 128 bits.
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& builder, const std::vector<llvm::Value*>& rows);

} // namespace tunesmith
