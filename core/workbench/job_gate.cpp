// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_gate.h"

#include <algorithm>

#include "core/measure/machine.h"

namespace tunesmith {

std::vector<Resource> resourcesHere() { return {{kCoreResource, coreCount()}, {kProfileResource, 1}}; }

struct JobGate::BoardTurn : StageGate::Turn {
    BoardTurn(StageBoard::Turn begun, JobWatch& told, const std::vector<int>& all) : turn(std::move(begun)), watch(told) {
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

JobGate::JobGate(StageBoard& board, JobWatch& watch, JobId job, int cores) : board_(board), watch_(watch), job_(job), cores_(cores), processors_(processors()) {}

Result<std::unique_ptr<StageGate::Turn>> JobGate::enter(const std::string& kind, int cores, const StopToken& stop) {
    StagePlan plan{kind, {{kCoreResource, std::clamp(cores, 1, cores_)}}, {}};
    if (kind == "profile")
        plan.uses.push_back({kProfileResource, 1, true});
    TS_ASSIGN(const StageId stage, board_.plan(job_, std::move(plan)));
    TS_ASSIGN(StageBoard::Turn turn, board_.begin(stage, stop));
    watch_.tellStages();
    return std::unique_ptr<Turn>(std::make_unique<BoardTurn>(std::move(turn), watch_, processors_));
}

} // namespace tunesmith
