// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/workbench/tune.h"

namespace tunesmith {

// A problem file (problem = "..." in TOML) is tuned by any strategy, each trial kept in the store at once, as a model's kernels are (tune.h).
struct TuneProblemRequest {
    std::filesystem::path file;
    std::string store;                   // empty: the default one
    std::optional<std::int64_t> trials;  // in all; with neither budget 64
    std::optional<double> seconds;       // of this part of the run
    std::string strategy;                // empty: the first of tuneStrategies()
    std::uint64_t seed = 1;
    int builders = 0;                    // builds at a time; 0: one per core
    int batch = 0;                       // configs that are chosen at once; 0: 8
    std::optional<double> timeoutSeconds; // of one config's measurement; default: what the file allows
    std::shared_ptr<StageGate> gate;     // where others use the machine at the same time
    TuneListener* listener = nullptr;    // hears of the run before its first trial, of one task and its trials; their times are known if times are what is tuned
    std::optional<std::int64_t> resume;  // a run of this file that was stopped or killed: budget, strategy, seed and batch are its own
};

struct TunedProblem {
    std::int64_t run = 0;
    std::string kind, name, strategy;
    double space = 0; // number of configs
    std::int64_t trials = 0, failed = 0; // of the whole run
    double seconds = 0; // of this part
    std::string stopReason;
    std::string objective, unit;
    bool higherIsBetter = false;
    // Of the problem's default and of the best config. A time is that of a comparison in turns at the end, where the default stands unless something
    // is certainly faster; without one (stopped, no time) what the trials came to. None: it did not work, or nothing did.
    std::optional<double> defaultValue, bestValue;
    std::string defaultConfig, bestConfig; // for people
    std::string bestKey;                   // the config as it is stored
    std::string verdict;                   // "the best is 20 to 25 % faster", than the default; empty: not compared
    std::vector<std::pair<std::string, std::string>> commands; // how the best one is built and run: title and text
    std::string firstFailure;              // of a trial
};

// Its text; one that is larger than any file of a problem is refused.
Result<std::string> readProblemFile(const std::filesystem::path& file);

// That it can begin: the problem's name. Errors as below.
Result<std::string> checkProblem(const TuneProblemRequest& request);

// A stop is no error: stopReason says "cancelled", and the run can be resumed, as one whose process was killed. Errors: a file that says nonsense, a kind that no
// plugin knows, a build that cannot be started.
Result<TunedProblem> tuneProblem(const TuneProblemRequest& request, const Work& work = {});

} // namespace tunesmith
