// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_clock.h"

namespace tunesmith {

double JobClock::seconds() const {
    const std::lock_guard lock(mutex_);
    return worked_ + (working_ ? std::chrono::duration<double>(Clock::now() - since_).count() : 0);
}

void JobClock::wait(int threads) {
    const std::lock_guard lock(mutex_);
    waiting_ += threads;
    settle();
}

void JobClock::stage(int lane, int stages) {
    const std::lock_guard lock(mutex_);
    if ((running_[lane] += stages) == 0)
        running_.erase(lane);
    settle();
}

void JobClock::loseDevice(int lanes) {
    const std::lock_guard lock(mutex_);
    lost_ += lanes;
    settle();
}

// What is built and what is measured in one lane is on one device.
bool JobClock::works() const {
    const int here = running_.contains(kHere) ? 1 : 0;
    const int lanes = static_cast<int>(running_.size()) - here;
    return here > 0 || lanes > lost_ || waiting_ + lost_ == 0;
}

void JobClock::settle() {
    const Clock::time_point now = Clock::now();
    if (working_)
        worked_ += std::chrono::duration<double>(now - since_).count();
    since_ = now;
    working_ = works();
}

class ClockedGate::ClockedTurn : public StageGate::Turn {
public:
    ClockedTurn(std::unique_ptr<Turn> turn, std::shared_ptr<JobClock> clock, int lane) : turn_(std::move(turn)), clock_(std::move(clock)), lane_(lane) { clock_->stage(lane_, 1); }
    ~ClockedTurn() override {
        turn_.reset();
        clock_->stage(lane_, -1);
    }
    std::vector<int> processors() const override { return turn_->processors(); }

private:
    std::unique_ptr<Turn> turn_;
    std::shared_ptr<JobClock> clock_;
    const int lane_;
};

class ClockedGate::DeviceWait : public StageGate::Wait {
public:
    explicit DeviceWait(std::shared_ptr<JobClock> clock) : clock_(std::move(clock)) { clock_->wait(1); }
    ~DeviceWait() override { clock_->wait(-1); }

private:
    std::shared_ptr<JobClock> clock_;
};

std::unique_ptr<StageGate::Wait> ClockedGate::awaitDevice() { return std::make_unique<DeviceWait>(clock_); }

template <class Enter> Result<std::unique_ptr<StageGate::Turn>> ClockedGate::clocked(const std::string& kind, const StageNeed& need, const Enter& enter) {
    const bool onDevice = elsewhere_ && (kind == "build" || kind == "profile");
    const DeviceWait waiting(clock_);
    TS_ASSIGN(auto turn, enter());
    return std::unique_ptr<Turn>(std::make_unique<ClockedTurn>(std::move(turn), clock_, onDevice ? need.lane : JobClock::kHere));
}

Result<std::unique_ptr<StageGate::Turn>> ClockedGate::enter(const std::string& kind, const StageNeed& need, const StopToken& stop) {
    return clocked(kind, need, [&] { return gate_->enter(kind, need, stop); });
}

class ClockedGate::ClockedChain : public StageGate::Chain {
public:
    ClockedChain(ClockedGate& gate, std::unique_ptr<Chain> chain) : gate_(gate), chain_(std::move(chain)) {}
    Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) override {
        return gate_.clocked(kind, need, [&] { return chain_->enter(kind, need, stop); });
    }
    const Chain* inner() const { return chain_.get(); }

private:
    ClockedGate& gate_;
    std::unique_ptr<Chain> chain_;
};

std::unique_ptr<StageGate::Chain> ClockedGate::chain(std::vector<Link> links, const Chain* before) {
    return std::make_unique<ClockedChain>(*this, gate_->chain(std::move(links), before ? static_cast<const ClockedChain*>(before)->inner() : nullptr));
}

} // namespace tunesmith
