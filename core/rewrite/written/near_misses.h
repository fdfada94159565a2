// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// Conditions of rules written by hand are part of finding them, so where one is not met there is nothing to refuse. This says it of places that nearly fit
// (merges, and what is folded into weights), for people: at most one reason for each rule and node. Slow beside finding; not for searches.
struct NearMiss {
    std::string rule;
    std::string_view reason;
    NodeNo anchor = kNone;
};
std::vector<NearMiss> nearMisses(const Draft& draft);

} // namespace tunesmith::rewrite
