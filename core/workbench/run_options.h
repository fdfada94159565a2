// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/store/rows.h"

namespace tunesmith {

// Inside core/workbench only: what a stored run's options say about it, as far as they can be read.
struct StoredRunOptions {
    int threads = 1;          // that it tunes for
    bool leads = false;       // other thread counts come after it
    std::int64_t follows = 0; // the run before it; 0: none
    std::string space;        // of schedules (schedule/space_kind.h)
};
StoredRunOptions optionsOf(const RunRow& row);

} // namespace tunesmith
