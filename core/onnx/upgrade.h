// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace tunesmith {

// The oldest opset whose rules ops/ knows. Models of opsets before it become models of this one on import, so
// that the rest of the project never sees the attributes (`broadcast`, `consumed_inputs`, `is_test` ...) that
// opset 7 did away with. Later differences are the business of the operators' own rules.
inline constexpr std::int64_t kOldestRules = 7;

// The same computation in opset kOldestRules, bodies of control flow included. A graph that is new enough, or
// has no node of the default domain, comes back as it is. An error names the node and what cannot be said in
// newer terms.
Result<Graph> upgradeOpset(const Graph& graph);

} // namespace tunesmith
