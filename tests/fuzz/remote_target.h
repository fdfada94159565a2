// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tunesmith::fuzz {

// Ends the process when a promise is broken. The first byte says what the others are for: a server, a client or the tracker.
void remoteMessages(std::span<const std::byte> bytes);
std::vector<std::string> remoteSeeds();

} // namespace tunesmith::fuzz
