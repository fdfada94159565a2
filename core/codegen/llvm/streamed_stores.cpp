// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/streamed_stores.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>

#include "core/loops/simplify.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kLine = 64, kLeast = 16; // bytes of a cache line, of the shortest vector that can be streamed

bool isStored(const loops::Stmt& stmt, const loops::TensorRef& buffer) {
    if (!stmt)
        return false;
    return (stmt->kind == loops::StmtKind::store && stmt->buffer == buffer) ||
           std::ranges::any_of(stmt->body, [&](const loops::Stmt& child) { return isStored(child, buffer); });
}

// What the address of a store must be a multiple of to be streamed; 0: it cannot be.
std::int64_t streamAlignment(const llvm::Type& stored, std::int64_t elementBytes) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&stored);
    const std::int64_t bytes = vector ? elementBytes * vector->getNumElements() : 0;
    return bytes >= kLeast && std::has_single_bit(static_cast<std::uint64_t>(bytes)) ? std::min(bytes, kLine) : 0;
}

} // namespace

StreamedStores::StreamedStores(const loops::LoopNest& nest, const loops::Phase& phase) {
    for (const auto& buffer : nest.streamed)
        if (isStored(phase.body, buffer))
            buffers_.push_back({buffer.get(), {}});
}

llvm::Value* StreamedStores::areAligned(llvm::IRBuilder<>& builder, const std::function<llvm::Value*(const loops::TensorDecl*)>& pointerOf) const {
    llvm::Value* bits = builder.getInt64(0);
    for (const Buffer& buffer : buffers_)
        bits = builder.CreateOr(bits, builder.CreatePtrToInt(pointerOf(buffer.tensor), builder.getInt64Ty()));
    return builder.CreateICmpEQ(builder.CreateAnd(bits, builder.getInt64(kLine - 1)), builder.getInt64(0));
}

void StreamedStores::add(llvm::StoreInst& store, const loops::TensorDecl* tensor, const loops::Expr& offset) {
    const auto buffer = std::ranges::find(buffers_, tensor, &Buffer::tensor);
    if (buffer == buffers_.end())
        return;
    const auto elementBytes = static_cast<std::int64_t>(byteSize(tensor->type));
    const std::int64_t alignment = streamAlignment(*store.getValueOperand()->getType(), elementBytes);
    const loops::LinearForm form = loops::toLinear(offset, loops::VarRanges());
    const auto divides = [&](std::int64_t elements) { return alignment > 0 && elements * elementBytes % alignment == 0; };
    if (divides(form.constant) && std::ranges::all_of(form.terms, [&](const auto& term) { return divides(term.second); })) {
        store.setAlignment(llvm::Align(static_cast<std::uint64_t>(alignment)));
        buffer->stores.push_back(&store);
    } else {
        buffer->fits = false;
    }
}

void StreamedStores::finish(llvm::IRBuilder<>& builder) {
    auto* one = llvm::ConstantAsMetadata::get(builder.getInt32(1));
    for (const Buffer& buffer : buffers_)
        for (llvm::StoreInst* store : buffer.stores)
            if (buffer.fits)
                store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(builder.getContext(), one));
    builder.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

} // namespace tunesmith
