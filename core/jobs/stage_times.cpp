// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/jobs/stage_times.h"

#include <algorithm>

namespace tunesmith {

// A mean of the first ones that becomes a moving one, so that a job whose kernels get larger is believed.
void StageTimes::Mean::add(double value) {
    constexpr int kMemory = 16;
    count = std::min(count + 1, kMemory);
    seconds += (value - seconds) / count;
}

void StageTimes::learn(JobId job, const std::string& kind, double seconds) {
    ofJob_[{job, kind}].add(seconds);
    ofKind_[kind].add(seconds);
}

double StageTimes::expected(JobId job, const std::string& kind) const {
    if (const auto known = ofJob_.find({job, kind}); known != ofJob_.end())
        return known->second.seconds;
    const auto known = ofKind_.find(kind);
    return known != ofKind_.end() ? known->second.seconds : 1;
}

} // namespace tunesmith
