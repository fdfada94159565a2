// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/small_floats.h"

namespace tunesmith {
namespace {

// `element` in the shape (scalar or vector) of `like`.
llvm::Type* shapedLike(llvm::Value* like, llvm::Type* element) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
    return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

} // namespace

llvm::Type* smallFloatMemory(llvm::IRBuilder<>& builder, DType type) {
    return type == DType::f16 ? builder.getHalfTy() : static_cast<llvm::Type*>(builder.getInt16Ty());
}

llvm::Value* widenSmallFloat(llvm::IRBuilder<>& b, llvm::Value* stored, DType type) {
    llvm::Type* real = shapedLike(stored, b.getFloatTy());
    if (type == DType::f16)
        return b.CreateFPExt(stored, real);
    llvm::Value* bits = b.CreateZExt(stored, shapedLike(stored, b.getInt32Ty()));
    return b.CreateBitCast(b.CreateShl(bits, 16), real);
}

// A bfloat16 is the upper half of a float32: add half a unit of its last place, a little less when that place is even. A NaN
// stays one by being made quiet.
llvm::Value* roundToSmallFloat(llvm::IRBuilder<>& b, llvm::Value* value, DType type) {
    if (type == DType::f16)
        return b.CreateFPTrunc(value, shapedLike(value, b.getHalfTy()));
    llvm::Type* word = shapedLike(value, b.getInt32Ty());
    const auto number = [word](std::uint64_t n) { return llvm::ConstantInt::get(word, n); };
    llvm::Value* bits = b.CreateBitCast(value, word);
    llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, number(16)), number(1));
    llvm::Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, number(0x7fff)));
    llvm::Value* quiet = b.CreateOr(bits, number(0x400000));
    llvm::Value* chosen = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
    return b.CreateTrunc(b.CreateLShr(chosen, number(16)), shapedLike(value, b.getInt16Ty()));
}

} // namespace tunesmith
