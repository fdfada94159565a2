// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/stop_token.h"
#include "core/search/description.h"
#include "core/search/space.h"
#include "core/search/trial.h"

namespace tunesmith {

struct ObjectiveInfo {
    std::string name; // "time", "peak tape", "SSIM"
    std::string unit;
    bool higherIsBetter = false;
};

// What a build leaves behind. Plain data, because builds and profiles run in other processes and on other
// machines.
struct Artifact {
    std::string bytes;          // the thing itself when it is small ...
    std::filesystem::path file; // ... or where it lies, owned by whoever asked for the build
    std::uint64_t hash = 0;     // equal hash = equal behaviour; 0 = unknown
};

struct Built {
    Artifact artifact;
    Config effective; // the config that the artifact really has
};

struct ProfileLimits {
    double deadlineSeconds = 10; // wall clock for the whole profile
    std::optional<double>
        incumbent; // best first objective so far: what is clearly worse may be given up early
    struct Reference {
        const Artifact* artifact;
        double objective;
    };
    std::optional<Reference> reference; // something whose first objective is known, to be measured in turns with
    StopToken stop;
};

// Anything that can be tuned. A schedule template, a compiler's inliner, a program with parameters and a plan
// of checkpoints go through this one door. build() may run on several threads at once and shares its machine
// with others; profile() has its resource for itself.
class Problem {
public:
    virtual ~Problem() = default;

    virtual std::string name() const = 0;
    virtual const Space& space() const = 0;
    virtual std::vector<ObjectiveInfo>
    objectives() const = 0; // at least one; trials give their values in this order
    virtual Result<Built> build(const Config& config, const StopToken& stop) = 0;
    // Fills status, message, objectives and samples; asked and effective config are the caller's.
    virtual Trial profile(const Artifact& artifact, const ProfileLimits& limits) = 0;
    virtual int featureVersion() const { return space().featureVersion(); }
    virtual std::vector<Description> describe() const { return {}; }
    virtual std::vector<Description> describeConfig(const Config&) const { return {}; }
};

// Build, then profile, one config: never fails, the trial says what happened.
Trial tryConfig(Problem& problem, const Config& config, const ProfileLimits& limits);

// Lower-is-better value of objective `index` of an ok trial.
double costOf(const Trial& trial, std::span<const ObjectiveInfo> objectives, std::size_t index = 0);

} // namespace tunesmith
