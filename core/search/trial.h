// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/search/config.h"
#include "core/store/rows.h" // Objective: name, value, unit

namespace tunesmith {

// What became of one attempt. Failures are results too: they are kept with their reason and teach the cost
// model. The names are stored; never rename one.
enum class TrialStatus {
    ok,
    buildError,
    buildTimeout,
    runError,
    runTimeout,
    wrongAnswer,
    crashed,
    outOfMemory,
    skipped,   // not tried on purpose, e.g. predicted hopeless or already in the store
    cancelled, // somebody stopped the search; says nothing about the config
};
std::string_view trialStatusName(TrialStatus status); // "ok", "build_error" ...
std::optional<TrialStatus> trialStatusFromName(std::string_view name);

struct Trial {
    Config asked;
    Config effective; // what was really built: a compiler may take other decisions than asked
    TrialStatus status = TrialStatus::ok;
    std::string message;               // why it failed, one sentence
    std::vector<Objective> objectives; // in the problem's order; the first one leads. Empty unless ok
    std::vector<float> samples;        // raw measurements of the first objective, in its unit
    double buildSeconds = 0;
    std::optional<double> predicted; // the strategy's score before measuring; higher is better
    std::uint64_t artifactHash = 0;  // equal artifacts need to be measured once only; 0 = unknown

    bool ok() const { return status == TrialStatus::ok; }
    bool informative() const { return status != TrialStatus::skipped && status != TrialStatus::cancelled; }

    static Trial failure(Config asked, TrialStatus status, std::string message);
};

// Cost of an ok trial, lower is better. Where one may be left out, the value of the first objective is meant.
using TrialCost = std::function<double(const Trial&)>;

// The status that an error of a build (or, with running, of a run) stands for.
TrialStatus statusOf(const Error& error, bool running);

} // namespace tunesmith
