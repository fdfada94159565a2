// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include "core/base/stop_token.h"
#include "core/rewrite/condition.h"

namespace tunesmith::rewrite {

// The conditions that trials told, and of those that a proof of the rule needs the ones that do not follow from them: trials may have missed a
// case in which the rule is false, such as two convolutions of as many filters and other groups. Nothing where no proof is found.
std::optional<std::vector<Condition>> enoughForProof(const Rule& rule, bool fromRight, const std::vector<Condition>& told, const StopToken& stop = {});

} // namespace tunesmith::rewrite
