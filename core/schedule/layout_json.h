// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/loops/layout.h"

namespace tunesmith {

// Layouts in messages and in the store: a list of [dim, divisor, extent] for each.
nlohmann::json layoutsToJson(const std::vector<loops::Layout>& layouts);
std::vector<loops::Layout> layoutsFromJson(const nlohmann::json& list); // throws nlohmann::json::exception

} // namespace tunesmith
