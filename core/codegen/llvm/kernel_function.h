// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/codegen/llvm/llvm_headers.h"
#include "core/codegen/target.h"
#include "core/loops/stmt.h"

namespace tunesmith {

Status checkTypes(const loops::LoopNest& nest); // whether code can be generated for all buffers

// Tells the back end for which processor a phase's function is. Dot products of bytes are asked for only where the nest has some.
void setTarget(llvm::Function& function, const loops::LoopNest& nest, const Target& target);

} // namespace tunesmith
