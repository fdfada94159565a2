// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/jobs/stage.h"

namespace tunesmith {

class Scheduler;

// In which order ready stages get what they need. Jobs of higher priority always come first; policies order the rest.
class SchedulingPolicy {
public:
    virtual ~SchedulingPolicy() = default;
    // Best first. May leave out stages that are not to begin now.
    virtual void order(const Scheduler& scheduler, std::vector<StageId>& ready, double now) const = 0;
    virtual bool controlsLoad() const { return true; } // false: everything begins at once, whatever is there
};

struct PolicyInfo {
    std::string name, description;
};
// "sequential", "shared", "greedy", "fair", "predictive".
std::vector<PolicyInfo> schedulingPolicies();
Result<std::unique_ptr<SchedulingPolicy>> makePolicy(const std::string& name); // an Error names those that there are

} // namespace tunesmith
