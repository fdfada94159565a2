// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tunesmith::substitution {

// A rule as TASO's rules.proto has it, before anything of it is understood.
struct TasoTensor {
    std::int64_t op = 0;     // of the same side; below zero it is a variable
    std::int64_t result = 0; // of that operator
    auto operator<=>(const TasoTensor&) const = default;
};

struct TasoOperator {
    std::int64_t type = 0;
    std::vector<TasoTensor> inputs;
    std::map<std::int64_t, std::int64_t> parameters;
};

struct TasoRule {
    struct Output {
        TasoTensor source, target;
    };
    std::vector<TasoOperator> source, target;
    std::vector<Output> outputs;
};

Result<TasoRule> parseTasoRule(std::string_view message);

} // namespace tunesmith::substitution
