// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/expr.h"

namespace tunesmith::loops {

// What the operations of expr.h mean on single numbers. Integers wrap around and nothing divides by zero or overflows in C++'s
// eyes: whatever a tensor holds has a result.
double realUnary(Op op, double x); // but for isNan and isInf
double realBinary(Op op, double a, double b);
bool realCompare(Op op, double a, double b); // isNan and isInf, too, of a
// Integers of all types lie in an int64, those of uint64 as their bits.
std::int64_t intUnary(Op op, std::int64_t x, DType type);
std::int64_t intBinary(Op op, std::int64_t a, std::int64_t b, DType type); // before wrapping to the type
std::int64_t floorDivide(std::int64_t a, std::int64_t b);  // rounds down
std::int64_t truncated(DType type, double x);              // as floatToInt() does it
double realOf(DType type, std::int64_t x);
std::int64_t wrapTo(DType type, std::int64_t value);

} // namespace tunesmith::loops
