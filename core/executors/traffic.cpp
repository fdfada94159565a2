// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/traffic.h"

namespace tunesmith {

void Traffic::begin(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (++calls_ == 1)
        since_ = now;
}

void Traffic::end(std::uint64_t bytes, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    bytes_ += static_cast<double>(bytes);
    busy_ += now - since_;
    since_ = now;
    --calls_;
}

double Traffic::mbit() const {
    const std::lock_guard lock(mutex_);
    return busy_.count() > 0 ? 8e-6 * bytes_ / busy_.count() : 0;
}

} // namespace tunesmith
