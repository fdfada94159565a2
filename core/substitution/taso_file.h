// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// The contents of TASO's `graph_subst.pb`: a RuleCollection of its rules.proto, in binary. Rules keep the order of the file. The file
// has no shapes; each variable gets the first of the generator's shapes with which both sides have the same results. Kernels and
// ranks are what operators say of themselves. Read are matmul, add, mul, relu, concat and split of two, and convolutions of stride 1
// that keep the size, with or without Relu; anything else is refused. Errors name the rule, counted from 0 as TASO does.
Result<std::vector<Rule>> parseTasoFile(std::string_view bytes);

} // namespace tunesmith::substitution
