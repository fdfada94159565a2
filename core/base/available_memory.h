// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

namespace tunesmith {

// Bytes of main memory that can be had now without pushing others out; large where the system does not tell.
std::int64_t availableMemory();
// Whether so many bytes can be had. Asks the system only for what is not small.
bool fitsInMemory(std::int64_t bytes);

} // namespace tunesmith
