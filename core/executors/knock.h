// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "core/base/stop_token.h"

namespace tunesmith {

// Which of those who listen at these addresses take connections: for each in turn, whether HTTP/2 comes about within `patience`. With TLS whoever shows
// any certificate: nothing is said to them, no token above all. `untold`: nobody knows, for this process had no descriptor left meanwhile.
enum class Knock { unanswered, answered, untold };
std::vector<Knock> knock(const std::vector<std::string>& addresses, bool tls, std::chrono::milliseconds patience, const StopToken& stop);

} // namespace tunesmith
