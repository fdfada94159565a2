// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// Whose schedules of a workload there are to choose from: those of our templates, or those that AutoTVM's templates for x86
// describe. Names are stored.
enum class SpaceKind : std::uint8_t { tunesmith, autotvm };

struct SpaceKindEntry {
    SpaceKind kind;
    const char *name, *title, *help;
};
const std::vector<SpaceKindEntry>& spaceKindTable(); // the first is the default

const char* spaceKindName(SpaceKind kind);
Result<SpaceKind> spaceKindFromName(std::string_view name); // an empty one is the default

} // namespace tunesmith
