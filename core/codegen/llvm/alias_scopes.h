// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>

#include "core/codegen/llvm/llvm_headers.h"
#include "core/loops/stmt.h"

namespace tunesmith {

// Tells LLVM that the buffers of a nest do not overlap, where one of them is written: without it a sum in memory cannot stay in a
// register while anything is read. Arguments are distinct by contract (LoopNest), local buffers are stack slots and so distinct
// from each other anyway: they share a scope.
class AliasScopes {
public:
    AliasScopes(llvm::LLVMContext& context, const loops::LoopNest& nest);
    void mark(llvm::Instruction& access, const loops::TensorDecl* buffer) const; // a load, store or prefetch

private:
    struct Tags {
        llvm::MDNode* own;
        llvm::MDNode* others;
    };
    std::map<const loops::TensorDecl*, Tags> arguments_;
    Tags locals_{};
};

} // namespace tunesmith
