// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tunesmith {

// MiB of main memory that work may fill: three quarters of what this machine has, or of what its control group may have; the rest is the system's, and the page cache's.
int usableMemoryMb();

std::optional<std::int64_t> totalMemoryMb(const std::string& meminfo); // of the text of /proc/meminfo
std::optional<std::int64_t> memoryLimitMb(const std::string& limit);   // of a control group's memory.max; none: no limit

} // namespace tunesmith
