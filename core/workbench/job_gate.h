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
inline constexpr const char* kNetworkResource = "network"; // Mbit/s

std::vector<Resource> resourcesHere();      // with units
std::vector<Resource> resourcesOfBoard();   // and those that are only estimated

// Where the stages of one job get their turns on a board. The watch is told of each that begins or ends. What a job on devices builds and profiles loads one of those, a lane each, and
// of this machine only the network.
class JobGate : public StageGate {
public:
    // cores: the most of a stage; heldMb: what the job has in memory all the time; device: the resource, empty: this machine
    JobGate(StageBoard& board, JobWatch& watch, JobId job, int cores, std::int64_t heldMb, std::string device = {});

    Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) override;
    std::unique_ptr<Chain> chain(std::vector<Link> links, const Chain* before) override; // goes before the gate does
    void expect(const std::string& kind, std::int64_t stages) override { board_.announce(job_, kind, stages); }

private:
    struct BoardTurn;
    class BoardChain;
    StagePlan planOf(const std::string& kind, const StageNeed& need) const;
    Result<std::unique_ptr<Turn>> begin(StageId stage, bool onCores, const StopToken& stop);

    StageBoard& board_;
    JobWatch& watch_;
    const JobId job_;
    const int cores_;
    const std::int64_t heldMb_;
    const std::string device_;
    const std::vector<int> processors_;
};

} // namespace tunesmith
