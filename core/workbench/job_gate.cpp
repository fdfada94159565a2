// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_gate.h"

#include <algorithm>
#include <limits>

#include "core/measure/machine.h"
#include "core/measure/memory.h"
#include "core/measure/network.h"

namespace tunesmith {

std::vector<Resource> resourcesHere() { return {{kCoreResource, coreCount()}, {kProfileResource, 1}}; }

std::vector<Resource> resourcesOfBoard() {
    std::vector<Resource> all = resourcesHere();
    all.push_back({kMemoryResource, usableMemoryMb(), true});
    all.push_back({kNetworkResource, linkMbit(), true});
    return all;
}

struct JobGate::BoardTurn : StageGate::Turn {
    BoardTurn(StageBoard::Turn begun, JobWatch& told, const std::vector<int>& all, bool onCores) : turn(std::move(begun)), watch(told) {
        if (!onCores)
            return;
        for (const int core : turn->units().front())
            if (static_cast<std::size_t>(core) < all.size())
                kept.push_back(all[static_cast<std::size_t>(core)]);
    }
    std::vector<int> processors() const override { return kept; }
    ~BoardTurn() override {
        turn.reset();
        watch.tellStages();
    }
    std::optional<StageBoard::Turn> turn;
    JobWatch& watch;
    std::vector<int> kept; // the cores of the turn
};

JobGate::JobGate(StageBoard& board, JobWatch& watch, JobId job, int cores, std::int64_t heldMb, std::string device)
    : board_(board), watch_(watch), job_(job), cores_(cores), heldMb_(heldMb), device_(std::move(device)), processors_(processors()) {}

StagePlan JobGate::planOf(const std::string& kind, const StageNeed& need) const {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    if (!device_.empty() && (kind == "build" || kind == "profile")) {
        const double mbit = std::clamp(need.networkMbit, 1.0, static_cast<double>(kMost));
        StagePlan plan{kind, {{device_}, {kNetworkResource, static_cast<int>(mbit)}}, {}};
        plan.lane = need.lane;
        return plan;
    }
    const auto memory = static_cast<int>(std::clamp<std::int64_t>(heldMb_ + need.memoryMb, 1, kMost));
    StagePlan plan{kind, {{kCoreResource, std::clamp(need.cores, 1, cores_)}, {kMemoryResource, memory}}, {}};
    if (kind == "profile")
        plan.uses.push_back({kProfileResource, 1, true});
    return plan;
}

Result<std::unique_ptr<StageGate::Turn>> JobGate::enter(const std::string& kind, const StageNeed& need, const StopToken& stop) {
    StagePlan plan = planOf(kind, need);
    const bool onCores = plan.lane < 0;
    TS_ASSIGN(const StageId stage, board_.plan(job_, std::move(plan)));
    TS_ASSIGN(StageBoard::Turn turn, board_.begin(stage, stop));
    watch_.tellStages();
    return std::unique_ptr<Turn>(std::make_unique<BoardTurn>(std::move(turn), watch_, processors_, onCores));
}

} // namespace tunesmith
