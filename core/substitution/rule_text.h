// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// A rule as a line of text:
//   add(matmul(v1, v2), matmul(v3, v2)) = matmul(add(v1, v3), v2) where v1: 2x4, v2: 4x4, v3: 2x4
// Several results have semicolons between them. Variables are what is no operator's name; each has the shape with which the equation
// was found, "(4+4)x4" where a split wants it put together of parts. An axis and a part belong to the name: concat1, split0a, split0b.
std::string ruleText(const Rule& rule);

// What ruleText wrote, and whatever else keeps to its form: names and order of variables are free, blanks may be left out. The operators must
// take their operands, and both sides have the same shapes. Errors name the column, counted in bytes from 1. With `end`, text may
// follow after a semicolon, and `end` becomes where that is (the length of the text if there is none).
Result<Rule> parseRule(std::string_view text, std::size_t* end = nullptr);

} // namespace tunesmith::substitution
