// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/byte_words.h"

#include <algorithm>

namespace tunesmith {

using loops::Expr;
using loops::Op;

namespace {

constexpr std::int64_t kHighBits = static_cast<std::int32_t>(0x80808080U);
constexpr std::int64_t kOnes = 0x01010101;

bool moves(DType stored, Sign wanted) { return (stored == DType::i8) != (wanted == Sign::negative); }

} // namespace

std::int64_t wordsFor(std::int64_t bytes) { return (bytes + kBytesInWord - 1) / kBytesInWord; }

Shape signedWordsShape(Shape weights, std::size_t dim) {
    weights[dim] = wordsFor(weights[dim]) + 1;
    return weights;
}

Tensor signedWords(const Tensor& weights, std::size_t dim) {
    const Shape& from = weights.shape();
    const Shape shape = signedWordsShape(from, dim), fromStrides = rowMajorStrides(from), strides = rowMajorStrides(shape);
    Tensor words = Tensor::zeros(DType::i32, shape);
    const auto to = words.mutableData<std::int32_t>();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(weights.bytes().data());
    const std::uint8_t flip = weights.type() == DType::i8 ? 0 : 0x80;
    const auto isOutput = [dim](std::size_t d) { return dim == 0 ? d != 0 : d == 0; };
    for (std::int64_t i = 0; i < weights.count(); ++i) {
        std::int64_t word = 0, sum = (shape[dim] - 1) * strides[dim];
        for (std::size_t d = 0; d < from.size(); ++d) {
            const std::int64_t at = i / fromStrides[d] % from[d];
            word += (d == dim ? at / kBytesInWord : at) * strides[d];
            sum += isOutput(d) ? at * strides[d] : 0;
        }
        const auto byte = static_cast<std::uint8_t>(bytes[i] ^ flip);
        const auto place = static_cast<int>(i / fromStrides[dim] % from[dim] % kBytesInWord) * 8;
        to[static_cast<std::size_t>(word)] |= static_cast<std::int32_t>(static_cast<std::uint32_t>(byte) << place);
        to[static_cast<std::size_t>(sum)] += static_cast<std::int8_t>(byte);
    }
    return words;
}

Tensor plainWords(const Tensor& bytes) {
    Shape shape = bytes.shape();
    shape.back() /= kBytesInWord;
    Tensor words = Tensor::zeros(DType::i32, shape);
    std::ranges::copy(bytes.bytes(), words.mutableBytes().begin());
    return words;
}

Expr wordOf(DType stored, Sign wanted, const std::function<Expr(std::int64_t)>& byteAt) {
    Expr word;
    for (std::int64_t place = 0; place < kBytesInWord; ++place) {
        const Expr number = cast(DType::i32, cast(DType::u8, byteAt(place)));
        const Expr shifted = number * loops::constantInt(DType::i32, std::int64_t{1} << (8 * place));
        word = word.valid() ? binary(Op::bitOr, word, shifted) : shifted;
    }
    return inForm(stored, wanted, word);
}

Expr inForm(DType stored, Sign wanted, const Expr& word) {
    return moves(stored, wanted) ? binary(Op::bitXor, word, loops::constantInt(DType::i32, kHighBits)) : word;
}

Expr byteBeyond(DType stored, Sign wanted) { return loops::constantInt(stored, !moves(stored, wanted) ? 0 : stored == DType::i8 ? -128 : 128); }

std::int64_t zeroShift(DType stored, Sign wanted) { return !moves(stored, wanted) ? 0 : wanted == Sign::none ? 128 : -128; }

Expr repeated(const Expr& byte) { return byte * loops::constantInt(DType::i32, kOnes); }

} // namespace tunesmith
