// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/substitution.h"
#include "core/workbench/optimize.h"

namespace tunesmith {

// Inside core/workbench only. The substitutions of a request: of its set, without those that it does without. Those written by hand come first, so
// that among equals they win. A store says itself what was proved and tried, and may come from anybody: so its rules are tried again on random models,
// under the conditions that it states, and what does not hold is left out and logged.
Result<std::vector<rewrite::SubstitutionPtr>> substitutionsOf(const OptimizeRequest& request, const Work& work);

} // namespace tunesmith
