// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop_token.h"

namespace tunesmith {

// What a stage loads of the machine.
struct StageNeed {
    int cores = 1;
    std::int64_t memoryMb = 0; // an estimate of what its processes and this one take for it; see stage_memory.h
    double networkMbit = 0; // Mbit/s that a device elsewhere has moved until now
    int lane = 0; // which of the run's devices is built or measured on
};

// Where a tuning run that shares the machine with others asks for its turn before each stage. From several threads of the run.
class StageGate {
public:
    virtual ~StageGate() = default;

    struct Turn { // the stage ends with it
        virtual ~Turn() = default;
        virtual std::vector<int> processors() const { return {}; } // that it is to keep to; none: all
    };
    // "prepare": the model is read, and cut into workloads; "propose": candidates for a device elsewhere are chosen; "build": candidates are compiled, on so many
    // cores, and chosen before, if that is here; "profile": kernels are timed on so many, which nothing else may load; "update": what was measured is learned from;
    // "search": equal graphs are searched; "check": results are compared with a reference. Waits; a stop is a cancelled Error.
    virtual Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) = 0;

    struct Wait { // ends with it
        virtual ~Wait() = default;
    };
    virtual std::unique_ptr<Wait> awaitDevice() { return {}; } // a thread of the run waits for a device, without a turn; null: it makes no difference
    // Seconds on a clock that stands while a thread of the run waits for a turn or a device and no stage of it runs: what budgets of seconds are about. None: all
    // time counts.
    virtual std::optional<double> worked() const { return {}; }

    // Stages of which each follows the one before it, so that whoever gives turns knows what a stage that waits is needed for. Those that are passed over, and those that are left when
    // the chain goes, never come. For one thread at a time.
    class Chain {
    public:
        virtual ~Chain() = default;
        virtual Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) = 0;
    };
    struct Link {
        std::string kind;
        StageNeed need;     // as far as one can tell beforehand
        bool joins = false; // comes after the last stage of the chain before, too
    };
    virtual std::unique_ptr<Chain> chain(std::vector<Link> links, const Chain* before) = 0; // before: null, or one of this gate that has been entered
    // How many stages of a kind there will be from now on, as far as one can tell; instead of what was said before.
    virtual void expect(const std::string& kind, std::int64_t stages) = 0;
};

} // namespace tunesmith
