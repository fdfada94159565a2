// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <vector>

#include "core/codegen/llvm/llvm_headers.h"
#include "core/loops/stmt.h"

namespace tunesmith {

// Stores of a phase to the nest's streamed buffers: whole vectors are written to memory directly instead of first being read into the
// caches (non-temporal stores, Intel's optimisation manual, 9.4). That asks for addresses that are multiples of the vector's size.
// A buffer's address is known only when the kernel runs, hence two versions of the phase: one for buffers that begin a cache line.
// Lines that are written in part only are slow, so a buffer is streamed as a whole or not at all.
class StreamedStores {
public:
    StreamedStores(const loops::LoopNest& nest, const loops::Phase& phase);

    bool none() const { return buffers_.empty(); }
    // Whether every streamed buffer begins a cache line.
    llvm::Value* areAligned(llvm::IRBuilder<>& builder, const std::function<llvm::Value*(const loops::TensorDecl*)>& pointerOf) const;
    // Takes note of a store at `offset` of a buffer: of one that is streamed, or any other.
    void add(llvm::StoreInst& store, const loops::TensorDecl* buffer, const loops::Expr& offset);
    // Marks those that can be streamed, and makes them visible to other threads where the version ends.
    void finish(llvm::IRBuilder<>& builder);

private:
    struct Buffer {
        const loops::TensorDecl* tensor;
        std::vector<llvm::StoreInst*> stores;
        bool fits = true; // all of them
    };
    std::vector<Buffer> buffers_;
};

} // namespace tunesmith
