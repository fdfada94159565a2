// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/store/store.h"
#include "core/substitution/stored_rule.h"

namespace tunesmith {

// Inside core/workbench only. Adds rules to a store. One that is there keeps its name and origin, and what is known of it unless more is known now;
// one whose name is taken gets the next free number of its family. Gives how many were new.
Result<std::size_t> keepIn(Store& store, const std::vector<substitution::StoredRule>& rules);

} // namespace tunesmith
