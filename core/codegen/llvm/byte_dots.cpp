// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/byte_dots.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace tunesmith {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

Value* scalarDotAdd(Builder& b, Value* sum, Value* u, Value* s) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        Value* left = b.CreateZExt(b.CreateTrunc(b.CreateLShr(u, shift), b.getInt8Ty()), b.getInt32Ty());
        Value* right = b.CreateSExt(b.CreateTrunc(b.CreateLShr(s, shift), b.getInt8Ty()), b.getInt32Ty());
        sum = b.CreateAdd(sum, b.CreateMul(left, right));
    }
    return sum;
}

llvm::FixedVectorType* vectorOf(llvm::Type* type, unsigned lanes) { return llvm::FixedVectorType::get(type, lanes); }

Value* vnniDotAdd(Builder& b, unsigned lanes, Value* sum, Value* u, Value* s) {
    const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                    : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                 : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    return b.CreateIntrinsic(id, {}, {sum, u, s});
}

// The bytes of even places and those of odd places, as 16-bit numbers.
struct Halves {
    Value *even, *odd;
};

Value* widenedDotAdd(Builder& b, unsigned lanes, Value* sum, Value* u, Value* s) {
    const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                    : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                 : llvm::Intrinsic::x86_sse2_pmadd_wd;
    auto* type = vectorOf(b.getInt16Ty(), 2 * lanes);
    Value *x = b.CreateBitCast(u, type), *y = b.CreateBitCast(s, type);
    const Halves left{b.CreateAnd(x, std::uint64_t(0xff)), b.CreateLShr(x, 8)};
    const Halves right{b.CreateAShr(b.CreateShl(y, 8), 8), b.CreateAShr(y, 8)};
    Value* even = b.CreateIntrinsic(id, {}, {left.even, right.even});
    Value* odd = b.CreateIntrinsic(id, {}, {left.odd, right.odd});
    return b.CreateAdd(sum, b.CreateAdd(even, odd));
}

// The first `lanes` of a vector, undefined ones where it has fewer.
Value* resized(Builder& b, Value* value, unsigned lanes) {
    const unsigned known = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
    if (known == lanes)
        return value;
    llvm::SmallVector<int, 64> from;
    for (unsigned lane = 0; lane < lanes; ++lane)
        from.push_back(lane < known ? static_cast<int>(lane) : -1);
    return b.CreateShuffleVector(value, from);
}

} // namespace

Value* emitDotAdd(Builder& b, Isa isa, Value* sum, Value* unsignedBytes, Value* signedBytes) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(sum->getType());
    if (!type)
        return scalarDotAdd(b, sum, unsignedBytes, signedBytes);
    const unsigned lanes = type->getNumElements(), widest = isWide(isa) ? 16 : 8;
    const unsigned width = std::clamp(std::bit_ceil(lanes), 4U, widest);
    const unsigned whole = (lanes + width - 1) / width * width;
    const std::array<Value*, 3> operands{resized(b, sum, whole), resized(b, unsignedBytes, whole), resized(b, signedBytes, whole)};
    Value* result = llvm::PoisonValue::get(vectorOf(b.getInt32Ty(), whole));
    for (unsigned first = 0; first < whole; first += width) {
        const auto part = [&](std::size_t i) {
            return whole == width ? operands[i] : b.CreateExtractVector(vectorOf(b.getInt32Ty(), width), operands[i], b.getInt64(first));
        };
        const auto add = hasByteDots(isa) ? vnniDotAdd : widenedDotAdd;
        Value* dots = add(b, width, part(0), part(1), part(2));
        result = whole == width ? dots : b.CreateInsertVector(result->getType(), result, dots, b.getInt64(first));
    }
    return resized(b, result, lanes);
}

} // namespace tunesmith
