// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/real_value.h"

#include <cmath>
#include <limits>

#include "core/substitution/term_kernels.h"

namespace tunesmith::substitution {
namespace {

struct Reals {
    using Value = double;
    using Sum = double;
    static Sum product(Value a, Value b) { return a * b; }
    static Value reduced(Sum sum) { return sum; }
    static Value ninth() { return 1.0 / 9; }
    static Sum relu(Value x) { return std::max(x, 0.0); }
    static Sum emptyWindow() { return -std::numeric_limits<double>::infinity(); }
    static Sum joinedTo(Sum largest, Value x) { return std::max(largest, x); }
};

} // namespace

RealValue randomReal(const TermShape& shape, Rng& rng) {
    RealValue value(static_cast<std::size_t>(shape.count()));
    for (double& element : value)
        element = static_cast<double>(rng.below(17)) - 8;
    return value;
}

RealValue evaluateReal(const Term& term, const TermShape& shape, const RealOperand& a, const RealOperand& b) {
    RealValue result(static_cast<std::size_t>(shape.count()));
    TermKernels<Reals>(shape, a.shape, b.shape, a.value.data(), b.value.data(), result.data()).run(term);
    return result;
}

bool areEqual(const RealValue& a, const RealValue& b) {
    double scale = 0;
    for (const double element : a)
        scale = std::max(scale, std::abs(element));
    return std::ranges::equal(a, b, [&](double x, double y) { return std::abs(x - y) <= 1e-9 * scale; });
}

} // namespace tunesmith::substitution
