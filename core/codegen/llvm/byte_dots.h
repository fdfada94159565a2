// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/codegen/target.h"

namespace tunesmith {

// sum + dot4(unsignedBytes, signedBytes) on int32, scalars or vectors of any number of lanes: vpdpbusd where the target has it.
// Elsewhere pairs of bytes are widened to 16 bits before they are multiplied, so that no pair ever saturates, as it would in
// vpmaddubsw.
llvm::Value* emitDotAdd(llvm::IRBuilder<>& builder, Isa isa, llvm::Value* sum, llvm::Value* unsignedBytes, llvm::Value* signedBytes);

} // namespace tunesmith
