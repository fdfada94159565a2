// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/substitution/ranked_rule.h"

namespace tunesmith::substitution {

// A list of rules in a part of a folder, each list in order.
struct RuleList {
    std::string part;
    std::size_t begin = 0; // of the rules in the part
};

// One list of many, in parts of so many rules that are named `name`-0, -1 and so on; of rules of one text the first stays. Returns how many
// rules there are. What is read ahead of all lists together takes so many bytes.
Result<std::size_t> mergeRules(PartFolder& folder, const std::vector<RuleList>& lists, const std::string& name, std::size_t rulesPerPart, std::size_t bytes,
                               const StopToken& stop);

} // namespace tunesmith::substitution
