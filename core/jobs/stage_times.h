// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <string>

#include "core/jobs/stage.h"

namespace tunesmith {

// How long stages take, learned from those that ended: what a kind took in the same job of late, else in any job.
class StageTimes {
public:
    void learn(JobId job, const std::string& kind, double seconds);
    double expected(JobId job, const std::string& kind) const; // 1 s where nothing is known

private:
    struct Mean {
        double seconds = 0;
        int count = 0;
        void add(double value);
    };
    std::map<std::pair<JobId, std::string>, Mean> ofJob_;
    std::map<std::string, Mean> ofKind_;
};

} // namespace tunesmith
