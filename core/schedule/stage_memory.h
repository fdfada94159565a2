// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/stage_gate.h"
#include "core/schedule/workload.h"

namespace tunesmith {

// What stages load, with an estimate of the memory that their workers take meanwhile.
StageNeed buildNeed(int builders);
StageNeed profileNeed(const Workload& workload, int threads); // with the copies that workers have of its tensors (kernel_bench.h)
StageNeed moduleNeed(const Graph& model, int cores);          // to compile it, or to time two forms of it as modules

std::int64_t constantMb(const Graph& graph); // of its weights

} // namespace tunesmith
