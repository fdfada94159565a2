// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/graph/tensor.h"
#include "core/loops/expr.h"

namespace tunesmith {

// Products of bytes read their operands as words: int32 numbers of four bytes that are neighbours along the summed dimension, the
// first one lowest. Bytes of the left side are unsigned, those of the right side signed, as loops::Op::dot4 wants them: what is
// stored with the other sign is moved by 128, which flips its highest bit, and its zero point moves with it. Bytes beyond the
// dimension are 0 in that form.
inline constexpr std::int64_t kBytesInWord = 4;
std::int64_t wordsFor(std::int64_t bytes);

// Weights [K, N] or [O, C, kernel...] as signed words along dimension `dim`, which gets one index more: there lie the sums of
// all bytes that are summed for one output, at the first index of the other dimensions that are summed over.
Tensor signedWords(const Tensor& weights, std::size_t dim);
Shape signedWordsShape(Shape weights, std::size_t dim);

Tensor plainWords(const Tensor& bytes); // along the last dimension, which is one of whole words

enum class Sign : std::uint8_t { none, negative }; // that a word's bytes have

// One word of four bytes, as `byteAt` reads them in the type that they are stored in.
loops::Expr wordOf(DType stored, Sign wanted, const std::function<loops::Expr(std::int64_t)>& byteAt);
loops::Expr inForm(DType stored, Sign wanted, const loops::Expr& word); // a word as it is stored
loops::Expr byteBeyond(DType stored, Sign wanted); // one that is 0 in the wanted form
// What is added to a zero point when a byte of this type takes the wanted form.
std::int64_t zeroShift(DType stored, Sign wanted);
loops::Expr repeated(const loops::Expr& byte); // a byte, as int32 from 0 to 255, in all four places

} // namespace tunesmith
