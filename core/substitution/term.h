// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tunesmith::substitution {

// Tensor algebra terms: what both sides of a generated substitution are written in. The operators are those of TASO's generator (Jia et
// al., SOSP 2019, table 1), with 1x1 convolutions and one transposition where it has two that differ in memory only: how a value lies
// is no part of what it is.
enum class TermOp : std::uint8_t {
    input,
    matmul, add, mul,
    conv, convRelu,         // data, weights; stride 1, zeros around so that the size stays; as many groups as channels ask for
    averagePool, maxPool,   // 3x3, stride 1, zeros counted
    enlarge,                // weights to 3x3, zeros around
    scale,                  // by a scalar
    relu,
    concat, split,          // along an axis; a split undoes the latest concat along it
    transpose,
    poolWeights,            // constants: 1/9 everywhere; the identity of conv, of matmul and of mul
    convIdentity, productIdentity, ones,
};

constexpr std::size_t kTermOps = static_cast<std::size_t>(TermOp::ones) + 1;

struct TermOpTraits {
    std::string_view name;
    int inputs;
    bool commutes; // its two inputs may change places
};
const TermOpTraits& traits(TermOp op);

// Extents of up to four dimensions, and along each where the latest concat put its parts together (0: nowhere).
struct TermShape {
    std::uint8_t rank = 0;
    std::array<std::uint16_t, 4> extents{}, cuts{};

    int count() const;
    bool sameExtents(const TermShape& other) const { return rank == other.rank && extents == other.extents; }
    bool operator==(const TermShape&) const = default;
};
std::string toText(const TermShape& shape); // "2x4x5x5", or "(1+2)x4" of what was put together of 1 and 2

using TermId = std::uint32_t;
constexpr TermId kNoTerm = ~TermId(0);

// One operator on terms. `axis` is that of concat and split, `part` which of a split's two results.
struct Term {
    TermOp op = TermOp::input;
    std::uint8_t axis = 0, part = 0;
    std::array<TermId, 2> inputs{kNoTerm, kNoTerm};
    bool operator==(const Term&) const = default;
};

// The shape of a term, or rank 0 where the operator does not take such operands.
TermShape shapeOf(const Term& term, const TermShape& a, const TermShape& b);

// The same for tensors of any size; shapeOf() has a limit, and takes no relu and no multiple of a single number.
TermShape anyShapeOf(const Term& term, const TermShape& a, const TermShape& b);

// What a tensor of a network is, as far as convolutions care: data are convolved with weights, not with other data; numbers go with both.
enum class TensorRole : std::uint8_t { data, weights, number };

// An input of the generator: its name says what kind of tensor it stands for (x1, w1, i1 ...).
struct TermInput {
    std::string name;
    TermShape shape;
    TensorRole role = TensorRole::data;
};

} // namespace tunesmith::substitution
