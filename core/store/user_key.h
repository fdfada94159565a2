// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace tunesmith {

// The user's secret: 32 random bytes in `store-key` beside the default store, made at the first use. "" where none can be kept: in a home that
// cannot be written to.
std::string userKey();

} // namespace tunesmith
