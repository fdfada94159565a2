// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

namespace tunesmith::autotvm {

// The order in which CPython (3.7 and later) lists the union of two sets of small whole numbers that were
// made from `left` and `right`. AutoTVM takes the factors of its `verbose` splits from such a union without
// sorting them, so that the indices in its records depend on it.
std::vector<std::int64_t> unionInHashOrder(const std::vector<std::int64_t>& left,
                                           const std::vector<std::int64_t>& right);

} // namespace tunesmith::autotvm
