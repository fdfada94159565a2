// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <memory>

namespace tunesmith {

// How long work learns that nobody wants its result any more. The source is kept by whoever may change their mind (a
// button, Ctrl-C, a deadline); tokens are copied into the work, from any thread. Asking to stop is only a wish: work
// stops at its next check and decides itself what it leaves behind. A default token never stops.
class StopToken {
public:
    StopToken() = default;
    bool stopRequested() const { return (flag_ && flag_->load(std::memory_order_relaxed)) || (other_ && other_->stopRequested()); }

    // Stops when either does.
    friend StopToken operator|(StopToken a, const StopToken& b) {
        if (a.other_)
            a.other_ = std::make_shared<const StopToken>(*a.other_ | b);
        else
            a.other_ = std::make_shared<const StopToken>(b);
        return a;
    }

private:
    friend class StopSource;
    explicit StopToken(std::shared_ptr<const std::atomic<bool>> flag) : flag_(std::move(flag)) {}
    std::shared_ptr<const std::atomic<bool>> flag_;
    std::shared_ptr<const StopToken> other_;
};

class StopSource {
public:
    void requestStop() { flag_->store(true, std::memory_order_relaxed); }
    bool stopRequested() const { return flag_->load(std::memory_order_relaxed); }
    StopToken token() const { return StopToken(flag_); }

private:
    std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

} // namespace tunesmith
