// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/stage_turns.h"

#include <sched.h>

#include "core/measure/machine.h"

namespace tunesmith {
namespace {

constexpr auto kLongest = std::chrono::seconds(2); // of a turn that others may want

// A wish: where it is not granted, the work is done all the same.
void keepTo(const std::vector<int>& processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors)
        if (processor < CPU_SETSIZE)
            CPU_SET(static_cast<std::size_t>(processor), &set);
    static_cast<void>(::sched_setaffinity(0, sizeof set, &set));
}

} // namespace

StageTurns::Rest::~Rest() {
    if (stage_)
        static_cast<void>(turns_.enter(stage_->kind, stage_->need, stage_->by)); // whose work notices a stop by itself
}

Status StageTurns::enter(const char* kind, const StageNeed& need, By by) {
    leave();
    if (!gate_)
        return {};
    TS_ASSIGN(turn_, planned_ ? planned_->enter(kind, need, stop_) : gate_->enter(kind, need, stop_));
    stage_ = {kind, need, by};
    begun_ = std::chrono::steady_clock::now();
    if (by == By::thread && !turn_->processors().empty()) {
        before_ = tunesmith::processors();
        keepTo(turn_->processors());
    }
    return {};
}

void StageTurns::plan(std::vector<StageGate::Link> stages) {
    planned_.reset();
    if (gate_ && !stages.empty())
        planned_ = gate_->chain(std::move(stages), nullptr);
}

void StageTurns::expect(const std::string& kind, std::int64_t stages) const {
    if (gate_)
        gate_->expect(kind, stages);
}

void StageTurns::leave() {
    if (!before_.empty())
        keepTo(std::exchange(before_, {}));
    turn_.reset();
    stage_.reset();
}

double StageTurns::seconds() const {
    const std::optional<double> worked = gate_ ? gate_->worked() : std::nullopt;
    return worked ? *worked : std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status StageTurns::giveWay() {
    if (!stage_ || std::chrono::steady_clock::now() - begun_ < kLongest)
        return {};
    const Rest::Stage same = *stage_;
    return enter(same.kind, same.need, same.by);
}

} // namespace tunesmith
