// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop_token.h"
#include "core/base/strong_id.h"

namespace tunesmith {

using JobId = StrongId<struct JobTag>;
using StageId = StrongId<struct StageTag>;

// How much of a resource a stage loads while it runs. Exclusive: nothing else of ours loads it meanwhile.
struct ResourceUse {
    std::string resource; // "builders", "cpu-t2", "server-3/gpu-0"
    int amount = 1;       // at least 1
    bool exclusive = false;
};

// One step of a job (select, build, profile, update): what it needs, what it waits for, what it does.
struct Stage {
    std::string name; // "profile 12", for the timeline
    std::vector<ResourceUse> uses;
    std::vector<StageId> after;                  // stages of the same job that must have ended well
    std::function<Status(const StopToken&)> run; // called once, on any thread
};

struct Resource {
    std::string name;
    int amount = 1; // in all
};

// What became of a stage, for the timeline. Seconds count from the start of the job.
struct StageRecord {
    enum class State {
        waiting,
        running,
        done,
        failed,
        skipped
    }; // skipped: never begun, because the job ended before
    StageId id;
    std::string name;
    std::vector<std::string> resources;
    State state = State::waiting;
    int thread = -1; // 0 ... threads - 1
    double begin = 0;
    double end = 0;
    std::string message; // why it failed
};

} // namespace tunesmith
