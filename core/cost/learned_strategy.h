// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/search/strategy_table.h"

namespace tunesmith {

// What makeStrategy() needs for a search that measures: the learned model, for the strategy that is guided by one, and a plan that it makes in tens
// of milliseconds, as a measurement does not take longer.
StrategyOptions learnedStrategyOptions(std::uint64_t seed);

} // namespace tunesmith
