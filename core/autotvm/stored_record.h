// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/autotvm/config_space.h"
#include "core/store/rows.h"

namespace tunesmith::autotvm {

// How a record lies in the store: a trial of an imported run, nothing of it lost.
//   run       target, TVM's version (options)
//   workload  task, arguments, keywords (graph, as JSON)
//   trial     config: choices in the space of the task where it is known, then ';' and the record's config as
//             JSON; objectives: the costs in seconds as they were, error code, seconds taken, time stamp
// Times of success are also the trial's samples, in ms, so that curves and statistics work as for our own.
inline constexpr const char* kImportedKind = "import";         // of the run
inline constexpr const char* kImportedMachine = "autotvm-log"; // of its target: no machine that is ours

MachineRow importedMachine();
RunRow importedRun(TargetId target, const std::optional<std::string>& tvmVersion, const std::string& file);
std::string workloadKey(const Task& task);
WorkloadRow workloadRow(const Task& task, double flops);
TrialRow trialRow(const Record& record, const std::optional<Config>& config); // without run and index

// The record again. An error when the rows do not hold one, which only damage can cause.
Result<Record> storedRecord(const RunRow& run, const WorkloadRow& workload, const TrialRow& trial);

} // namespace tunesmith::autotvm
