// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string_view>

#include "core/base/result.h"
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// Substitutions as TASO's generator prints them, one in each line, lines that begin with # apart:
//   Matmul[0]{input0(x1)input1(w1)} | ...  =>  ...
// where x1 to x3 are 2x4, w1 to w3 4x4, i1 to i3 2x4x5x5, w4 to w13 weights and s0 a scalar; [1] is the second part of a split.
// Errors name the line.
Result<std::vector<Rule>> parseTasoRules(std::string_view text);

} // namespace tunesmith::substitution
