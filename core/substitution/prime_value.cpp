// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/prime_value.h"

#include "core/substitution/term_kernels.h"

namespace tunesmith::substitution {
namespace {

using Word = std::uint32_t;

template <Word prime> constexpr Word inverseOf(Word value) { // by Fermat's little theorem
    std::uint64_t result = 1, power = value % prime;
    for (Word exponent = prime - 2; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1)
            result = result * power % prime;
        power = power * power % prime;
    }
    return static_cast<Word>(result);
}

// The operators modulo one prime.
template <Word prime> struct Modulo {
    using Value = Word;
    using Sum = std::uint64_t;
    static Sum product(Value a, Value b) { return Sum(a) * b; }
    static Value reduced(Sum sum) { return static_cast<Value>(sum % prime); }
    static constexpr Value ninth() {
        constexpr Value value = inverseOf<prime>(9);
        return value;
    }
    static Sum relu(Value x) { return (Sum(x) + 3) * x + 5; }
    static Sum emptyWindow() { return 0; }
    static Sum joinedTo(Sum sum, Value x) { return sum + Sum(x) * x % prime; }
};

template <std::size_t which> void runField(const Term& term, const TermShape& shape, const PrimeOperand& a, const PrimeOperand& b, PrimeValue& result) {
    const auto at = [](const PrimeOperand& operand) { return operand.value.data() + which * (operand.value.size() / 2); };
    TermKernels<Modulo<kPrimes[which]>>(shape, a.shape, b.shape, at(a), at(b), result.data() + which * (result.size() / 2)).run(term);
}

} // namespace

PrimeValue randomValue(const TermShape& shape, Rng& rng) {
    const auto count = static_cast<std::size_t>(shape.count());
    PrimeValue value;
    for (const std::uint32_t prime : kPrimes)
        for (std::size_t i = 0; i < count; ++i)
            value.push_back(static_cast<std::uint32_t>(rng.below(prime)));
    return value;
}

void evaluateTerm(const Term& term, const TermShape& shape, const PrimeOperand& a, const PrimeOperand& b, PrimeValue& result) {
    result.resize(2 * static_cast<std::size_t>(shape.count()));
    runField<0>(term, shape, a, b, result);
    runField<1>(term, shape, a, b, result);
}

std::uint64_t fingerprintOf(const TermShape& shape, std::span<const std::uint32_t> value) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
    std::uint64_t hash = shape.rank;
    const auto add = [&](std::uint64_t word) {
        hash = (hash ^ word) * kFactor;
        hash ^= hash >> 29;
    };
    for (const std::uint16_t extent : shape.extents)
        add(extent);
    for (const std::uint32_t word : value)
        add(word);
    return hash;
}

} // namespace tunesmith::substitution
