// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/ast.h"

namespace tunesmith::te {

// A whole number of a schedule, once sizes and knobs have values. Quotients round towards minus infinity and dividing by zero gives
// zero, as in statements; what holds is 1. An error where a number leaves 64 bits.
Result<std::int64_t> numberOf(const std::string& source, const Term& term, const Sizes& values);

struct KnobChoice {
    std::string text; // "8", "on"
    std::int64_t number;
};

// The values of a knob in the order in which they are written, each once.
Result<std::vector<KnobChoice>> choicesOf(const std::string& source, const KnobText& knob, const Sizes& sizes);

} // namespace tunesmith::te
