// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/search/description.h"

namespace tunesmith {

using Action = std::int64_t;

struct NamedArray {
    std::string name; // "position", "node features", "edges"
    std::vector<std::int64_t> shape;
    std::vector<float> values; // row-major
};

// What an agent sees: named arrays whose shapes may change from step to step (a graph grows and shrinks).
struct Observation {
    std::vector<NamedArray> arrays;
};

struct StepResult {
    double reward = 0;
    bool done = false;
};

// The state of an environment as opaque bytes: it can be kept in a file and restored later, even in another
// process.
struct Snapshot {
    std::string bytes;
};

// A world that agents act in: a graph under rewriting, a game, a program with model outputs. Programs die and
// hang, so every verb that may reach one returns a Result; after an error only reset() and restore() are
// allowed. Used from one thread at a time.
class Environment {
public:
    virtual ~Environment() = default;

    virtual std::string name() const = 0;
    virtual Action actionCount() const = 0;             // actions are 0 ... actionCount() - 1
    virtual Status reset(std::uint64_t seed) = 0;       // a new episode; the same seed gives the same episode
    virtual Result<StepResult> step(Action action) = 0; // refuses a masked action and any action after done
    virtual std::vector<bool>
    actionMask() const = 0; // per action: allowed now; none is when the episode is done
    virtual Observation observation() const = 0;
    virtual Result<Snapshot> snapshot() const = 0;
    virtual Status restore(const Snapshot& snapshot) = 0; // then the same actions give the same results again
    virtual std::vector<Description> describe() const { return {}; }
};

} // namespace tunesmith
