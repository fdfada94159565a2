// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <optional>

#include "core/schedule/stage_gate.h"

namespace tunesmith {

// Inside core/workbench only: the turns of work that does one stage after the other, for one thread. Without a gate nothing waits. A stop while a stage waits
// is a cancelled Error, and leaves no stage begun.
class StageTurns {
public:
    // thread: does the work itself, and is kept to the processors of its turn with all that it starts; it cannot tell there what machine this is. others: workers
    // do it, which are told.
    enum class By : std::uint8_t { others, thread };

    StageTurns(std::shared_ptr<StageGate> gate, StopToken stop) : gate_(std::move(gate)), stop_(std::move(stop)) {}
    StageTurns(const StageTurns&) = delete;
    StageTurns& operator=(const StageTurns&) = delete;
    ~StageTurns() { leave(); }

    Status enter(const char* kind, const StageNeed& need = {}, By by = By::others); // ends the stage before
    // What comes, one after the other, so that whoever gives turns can look ahead; instead of what was planned before and has not come. Others may come in between, of kinds that do not come later.
    void plan(std::vector<StageGate::Link> stages);
    void expect(const std::string& kind, std::int64_t stages) const; // as StageGate::expect()
    void leave();
    Status giveWay(); // to others that wait, if this stage has gone on for long
    double seconds() const; // on the gate's clock of what was worked, else on any
    std::vector<int> processors() const { return turn_ ? turn_->processors() : std::vector<int>(); }

    // The stage rests, so that others can be done in its place; afterwards it has its next turn.
    class Rest {
    public:
        explicit Rest(StageTurns& turns) : turns_(turns), stage_(turns.stage_) { turns_.leave(); }
        Rest(const Rest&) = delete;
        Rest& operator=(const Rest&) = delete;
        ~Rest();

    private:
        friend class StageTurns;
        struct Stage {
            const char* kind;
            StageNeed need;
            By by;
        };
        StageTurns& turns_;
        std::optional<Stage> stage_;
    };

private:
    std::shared_ptr<StageGate> gate_;
    StopToken stop_;
    std::optional<Rest::Stage> stage_;
    std::unique_ptr<StageGate::Turn> turn_;
    std::unique_ptr<StageGate::Chain> planned_;
    std::vector<int> before_; // processors of the thread; empty: it is not kept
    std::chrono::steady_clock::time_point begun_;
};

} // namespace tunesmith
