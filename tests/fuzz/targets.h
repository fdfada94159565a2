// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <span>

namespace tunesmith::fuzz {

// Each ends the process when its promise is broken.
void import(std::span<const std::byte> bytes);
void roundTrip(std::span<const std::byte> bytes);
void tensorExpressions(std::span<const std::byte> bytes);

} // namespace tunesmith::fuzz
