// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rng.h"
#include "core/substitution/term.h"

namespace tunesmith::substitution {

// What a term is worth for one choice of its inputs, modulo two primes below 2^28: sums of 128 products fit 64 bits, and what wraps around
// in a computer's integers (2^31 times 2 is 0) does not here. Relu and the largest of a window are no polynomials; they stand as
// others of degree two, x -> x^2 + 3x + 5 and a sum of squares, which commute with what any elementwise function or symmetric window
// commutes with. What holds for the true ones only (relu of relu) is not found this way; what holds for these only, real_value.h tells.
constexpr std::array<std::uint32_t, 2> kPrimes{268435399, 268435367};

// Values modulo the first prime, then as many modulo the second.
using PrimeValue = std::vector<std::uint32_t>;

PrimeValue randomValue(const TermShape& shape, Rng& rng);

// The value of an operator; its shape is that which shapeOf() says. Operands may be empty where it has fewer.
struct PrimeOperand {
    TermShape shape;
    std::span<const std::uint32_t> value;
};
void evaluateTerm(const Term& term, const TermShape& shape, const PrimeOperand& a, const PrimeOperand& b, PrimeValue& result);

// 64 bits of a shape and a value: equal values have equal fingerprints, others with a chance of 2^-60 or so.
std::uint64_t fingerprintOf(const TermShape& shape, std::span<const std::uint32_t> value);

} // namespace tunesmith::substitution
