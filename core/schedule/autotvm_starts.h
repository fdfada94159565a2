// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/template.h"
#include "core/store/store.h"

namespace tunesmith {

// What others found: of each task of AutoTVM that a workload over AutoTVM's space is, the config of the fastest record that was
// imported into the store, on whatever machine it was measured. Records whose config this space does not have are left out.
Result<std::vector<Config>> importedGuesses(const Store& store, const Workload& workload, const ScheduleSpace& space);

} // namespace tunesmith
