// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/jobs/stage_board.h"
#include "core/schedule/stage_gate.h"
#include "core/workbench/job_watch.h"

namespace tunesmith {

// Inside core/workbench only.

inline constexpr const char* kCoreResource = "core";
inline constexpr const char* kProfileResource = "profile"; // one measurement at a time on a machine

inline constexpr const char* kMemoryResource = "memory";   // MiB

std::vector<Resource> resourcesHere();      // with units
std::vector<Resource> resourcesWithMemory();

// Where the stages of one job get their turns on a board. The watch is told of each that begins or ends.
class JobGate : public StageGate {
public:
    JobGate(StageBoard& board, JobWatch& watch, JobId job, int cores, std::int64_t heldMb); // cores: the most of a stage; heldMb: what the job has in memory all the time

    Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) override;

private:
    struct BoardTurn;

    StageBoard& board_;
    JobWatch& watch_;
    const JobId job_;
    const int cores_;
    const std::int64_t heldMb_;
    const std::vector<int> processors_;
};

} // namespace tunesmith
