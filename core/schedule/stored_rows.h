// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/target.h"
#include "core/schedule/workload.h"
#include "core/store/store.h"

namespace tunesmith {

// What a run needs to have in the store before it begins.
Result<TargetId> storedTarget(Store& store, const Target& target); // of this machine
Result<TargetId> storedTarget(Store& store, const Target& target, const MachineRow& machine);
WorkloadRow rowOf(const Workload& workload, const std::string& serialized);

} // namespace tunesmith
