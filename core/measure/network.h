// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

namespace tunesmith {

// Mbit/s of this machine's fastest link that is up, of hardware if there is any (a bridge of containers claims what it likes); 1000 where none says. `interfaces`: a
// folder for each.
int linkMbit(const std::filesystem::path& interfaces = "/sys/class/net");

} // namespace tunesmith
