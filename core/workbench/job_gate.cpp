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

Result<std::unique_ptr<StageGate::Turn>> JobGate::begin(StageId stage, bool onCores, const StopToken& stop) {
    TS_ASSIGN(StageBoard::Turn turn, board_.begin(stage, stop));
    watch_.tellStages();
    return std::unique_ptr<Turn>(std::make_unique<BoardTurn>(std::move(turn), watch_, processors_, onCores));
}

Result<std::unique_ptr<StageGate::Turn>> JobGate::enter(const std::string& kind, const StageNeed& need, const StopToken& stop) {
    StagePlan plan = planOf(kind, need);
    const bool onCores = plan.lane < 0;
    TS_ASSIGN(const StageId stage, board_.plan(job_, std::move(plan)));
    return begin(stage, onCores, stop);
}

// All of them are on the board from the first turn on.
class JobGate::BoardChain : public StageGate::Chain {
public:
    BoardChain(JobGate& gate, std::vector<Link> links, const BoardChain* before) : gate_(gate), links_(std::move(links)) {
        if (before && !before->stages_.empty())
            before_ = before->stages_.back();
    }
    ~BoardChain() override { dropUntil(links_.size()); }

    Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) override {
        TS_TRY(plan());
        const auto found = std::find_if(links_.begin() + static_cast<std::ptrdiff_t>(next_), links_.end(), [&](const Link& link) { return link.kind == kind; });
        if (found == links_.end())
            return gate_.enter(kind, need, stop);
        dropUntil(static_cast<std::size_t>(found - links_.begin()));
        StagePlan plan = gate_.planOf(kind, need);
        TS_TRY(gate_.board_.revise(stages_[next_], std::move(plan.uses)));
        return gate_.begin(stages_[next_++], plan.lane < 0, stop);
    }

private:
    Status plan() {
        while (stages_.size() < links_.size()) {
            const Link& link = links_[stages_.size()];
            StagePlan plan = gate_.planOf(link.kind, link.need);
            if (!stages_.empty())
                plan.after.push_back(stages_.back());
            if (link.joins && before_.valid())
                plan.after.push_back(before_);
            TS_ASSIGN(const StageId stage, gate_.board_.plan(gate_.job_, std::move(plan)));
            stages_.push_back(stage);
        }
        return {};
    }

    void dropUntil(std::size_t end) {
        for (; next_ < std::min(end, stages_.size()); ++next_)
            gate_.board_.drop(stages_[next_]);
        next_ = end;
    }

    JobGate& gate_;
    const std::vector<Link> links_;
    StageId before_; // may be none
    std::vector<StageId> stages_;
    std::size_t next_ = 0;
};

std::unique_ptr<StageGate::Chain> JobGate::chain(std::vector<Link> links, const Chain* before) {
    return std::make_unique<BoardChain>(*this, std::move(links), static_cast<const BoardChain*>(before));
}

} // namespace tunesmith
