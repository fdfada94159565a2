// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <map>
#include <mutex>

#include "core/schedule/stage_gate.h"

namespace tunesmith {

// Inside core/workbench only.

// How long a job has worked, which is what its budget of seconds is about: all of the time but that in which one of its threads waits for a turn, be it because the job is paused, or
// for a device, and none of its stages runs. From any thread.
class JobClock {
public:
    static constexpr int kHere = -1; // the lane of stages on this machine

    double seconds() const; // since it was made
    void wait(int threads);          // so many more wait; negative: fewer
    void stage(int lane, int stages); // so many more run; negative: fewer
    // A lane lost its device in the middle of a stage, which does not run until there is another one; negative: has one.
    void loseDevice(int lanes);

private:
    using Clock = std::chrono::steady_clock;
    bool works() const;
    void settle();

    mutable std::mutex mutex_; // guards what follows
    std::map<int, int> running_; // stages, by lane
    int waiting_ = 0, lost_ = 0;
    double worked_ = 0;  // until since_
    bool working_ = true; // from then on
    Clock::time_point since_ = Clock::now();
};

// Another gate's turns, which a clock is told of.
class ClockedGate : public StageGate {
public:
    // elsewhere: builds and measurements are on devices
    ClockedGate(std::shared_ptr<StageGate> gate, std::shared_ptr<JobClock> clock, bool elsewhere) : gate_(std::move(gate)), clock_(std::move(clock)), elsewhere_(elsewhere) {}

    Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) override;
    std::unique_ptr<Chain> chain(std::vector<Link> links, const Chain* before) override;
    void expect(const std::string& kind, std::int64_t stages) override { gate_->expect(kind, stages); }
    std::unique_ptr<Wait> awaitDevice() override;
    std::optional<double> worked() const override { return clock_->seconds(); }

private:
    class ClockedTurn;
    class ClockedChain;
    class DeviceWait;
    template <class Enter> Result<std::unique_ptr<Turn>> clocked(const std::string& kind, const StageNeed& need, const Enter& enter);

    std::shared_ptr<StageGate> gate_;
    std::shared_ptr<JobClock> clock_;
    const bool elsewhere_;
};

} // namespace tunesmith
