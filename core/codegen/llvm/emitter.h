// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/llvm/llvm_headers.h"
#include "core/codegen/target.h"
#include "core/loops/stmt.h"

namespace tunesmith {

// Writes the phases of a loop nest as functions NAME_0, NAME_1 ... into an LLVM module: scalar code with explicit vector
// types where a loop is vectorised and fused multiply-adds where a product is added. Local buffers are stack slots that SROA
// turns into registers where all offsets are constant.
Status emitKernel(llvm::Module& module, const loops::LoopNest& nest, const Target& target, const std::string& name);

} // namespace tunesmith
