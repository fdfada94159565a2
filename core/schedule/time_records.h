// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/schedule_problem.h"
#include "core/store/store.h"

namespace tunesmith {

// Times of records are from runs that may be hours apart, and a machine is not always as fast. The kernels of some
// workloads' best records, timed once more within seconds of each other, the better of two rounds: ms of each, none where there is
// no record or it fails. Nothing is stored.
Result<std::vector<std::optional<double>>> timeRecords(const Store& store, const std::vector<Workload>& workloads, const Target& target,
                                                       const std::string& machine, const KernelWorkerOptions& options, const StopToken& stop);

} // namespace tunesmith
