// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "core/base/stop_token.h"

namespace tunesmith {

// Tells for each address whether its listener takes connections: whether HTTP/2 comes about within `patience`. With TLS any certificate will do, for the
// knock says nothing, and sends no token. `untold`: this process had no descriptor left meanwhile.
enum class Knock { unanswered, answered, untold };
std::vector<Knock> knock(const std::vector<std::string>& addresses, bool tls, std::chrono::milliseconds patience, const StopToken& stop);

} // namespace tunesmith
