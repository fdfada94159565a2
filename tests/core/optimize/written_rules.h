// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/optimize/rule_set.h"
#include "core/rewrite/written/written.h"

namespace tunesmith {

// All rules that are written by hand, as searches take them.
inline const optimize::RuleSet& rules() {
    static const optimize::RuleSet all(rewrite::writtenSubstitutions());
    return all;
}

} // namespace tunesmith
