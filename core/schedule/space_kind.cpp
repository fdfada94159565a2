// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/space_kind.h"

#include <algorithm>

namespace tunesmith {

const std::vector<SpaceKindEntry>& spaceKindTable() {
    static const std::vector<SpaceKindEntry> table{
        {SpaceKind::tunesmith, "tunesmith", "Tunesmith", "our own templates"},
        {SpaceKind::autotvm, "autotvm", "AutoTVM",
         "the knobs of AutoTVM's templates for x86; kernels that none of these describes keep our own"},
    };
    return table;
}

const char* spaceKindName(SpaceKind kind) { return std::ranges::find(spaceKindTable(), kind, &SpaceKindEntry::kind)->name; }

Result<SpaceKind> spaceKindFromName(std::string_view name) {
    if (name.empty())
        return spaceKindTable().front().kind;
    std::string known;
    for (const SpaceKindEntry& entry : spaceKindTable()) {
        if (entry.name == name)
            return entry.kind;
        known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    return inputError("there is no space of schedules '" + std::string(name) + "'; there are " + known);
}

} // namespace tunesmith
