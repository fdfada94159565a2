// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/transpose.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace tunesmith {
namespace {

using llvm::Value;
using Mask = llvm::SmallVector<int, 16>;

constexpr int kPiece = 4; // elements that are transposed among each other first: 128 bits of floats

int lengthOf(const Value* vector) { return static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements()); }

class Network {
public:
    Network(llvm::IRBuilder<>& builder, const std::vector<Value*>& rows) : builder_(builder) {
        const auto most = std::max(static_cast<unsigned>(rows.size()), static_cast<unsigned>(lengthOf(rows[0])));
        size_ = static_cast<int>(std::max(std::bit_ceil(most), static_cast<unsigned>(kPiece)));
        auto* element = llvm::cast<llvm::VectorType>(rows[0]->getType())->getElementType();
        values_.assign(static_cast<std::size_t>(size_), llvm::PoisonValue::get(llvm::FixedVectorType::get(element, static_cast<unsigned>(size_))));
        for (std::size_t i = 0; i < rows.size(); ++i)
            values_[i] = resized(rows[i], size_);
    }

    std::vector<Value*> columns(std::size_t count, int length) {
        for (int first = 0; first < size_; first += kPiece)
            transposePieces(static_cast<std::size_t>(first));
        for (int distance = kPiece; distance < size_; distance *= 2)
            gatherPieces(distance);
        std::vector<Value*> columns;
        for (std::size_t i = 0; i < count; ++i)
            columns.push_back(resized(values_[i], length));
        return columns;
    }

private:
    Value* resized(Value* vector, int length) {
        const int own = lengthOf(vector);
        if (own == length)
            return vector;
        Mask mask;
        for (int i = 0; i < length; ++i)
            mask.push_back(i < own ? i : -1);
        return builder_.CreateShuffleVector(vector, mask);
    }

    // `pick` says for each place of a piece which of eight elements comes there: four of a, four of b.
    Value* withinPieces(Value* a, Value* b, const std::array<int, kPiece>& pick) {
        Mask mask;
        for (int i = 0; i < size_; ++i) {
            const int from = pick[static_cast<std::size_t>(i % kPiece)];
            mask.push_back(i / kPiece * kPiece + (from < kPiece ? from : size_ + from - kPiece));
        }
        return builder_.CreateShuffleVector(a, b, mask);
    }

    void transposePieces(std::size_t first) {
        Value** const v = values_.data() + first;
        constexpr std::array<int, kPiece> low{0, 4, 1, 5}, high{2, 6, 3, 7}, lowPairs{0, 1, 4, 5}, highPairs{2, 3, 6, 7};
        Value *const a = withinPieces(v[0], v[1], low), *const b = withinPieces(v[0], v[1], high);
        Value *const c = withinPieces(v[2], v[3], low), *const d = withinPieces(v[2], v[3], high);
        v[0] = withinPieces(a, c, lowPairs);
        v[1] = withinPieces(a, c, highPairs);
        v[2] = withinPieces(b, d, lowPairs);
        v[3] = withinPieces(b, d, highPairs);
    }

    // Every other piece of a, then of b.
    Value* everyOther(Value* a, Value* b, int start) {
        Mask mask;
        for (const int source : {0, size_})
            for (int piece = start; piece < size_ / kPiece; piece += 2)
                for (int i = 0; i < kPiece; ++i)
                    mask.push_back(source + piece * kPiece + i);
        return builder_.CreateShuffleVector(a, b, mask);
    }

    void gatherPieces(int distance) {
        for (int i = 0; i < size_; ++i)
            if ((i & distance) == 0) {
                Value*& a = values_[static_cast<std::size_t>(i)];
                Value*& b = values_[static_cast<std::size_t>(i + distance)];
                Value* const even = everyOther(a, b, 0);
                b = everyOther(a, b, 1);
                a = even;
            }
    }

    llvm::IRBuilder<>& builder_;
    int size_;
    std::vector<Value*> values_;
};

} // namespace

std::vector<Value*> transposed(llvm::IRBuilder<>& builder, const std::vector<Value*>& rows) {
    const auto count = static_cast<std::size_t>(lengthOf(rows[0]));
    return Network(builder, rows).columns(count, static_cast<int>(rows.size()));
}

} // namespace tunesmith
