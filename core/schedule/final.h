// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/base/stop_token.h"
#include "core/schedule/schedule_problem.h"

namespace tunesmith {

// The end of a workload's search. The least of many noisy times is too good to be true, so the default and the fastest few
// are timed once more, in turns; the default goes only for what beats it beyond doubt.
struct Finalist {
    double ms = 0; // as measured during the search
    Config config;
    std::optional<Artifact> artifact; // none: it is built for the final
};

struct FinalResult {
    Config config;
    std::vector<float> samples; // of the winner
    std::optional<double> defaultMs; // of the default in the same comparison, when it took part
};

struct FinalDecision {
    std::size_t winner = 0;
    bool certain = false; // else more samples may change it
};

// Samples of each were taken in turns. With `defaultIndex`, that one wins unless the fastest is certainly faster.
FinalDecision decideFinal(std::span<const std::vector<float>> samples, std::optional<std::size_t> defaultIndex);

// None: nobody could be measured, or it was stopped; then what the search found stands. Finalists are in order, fastest first.
std::optional<FinalResult> holdFinal(ScheduleProblem& problem, std::vector<Finalist> finalists, const Config& defaultConfig,
                                     const StopToken& stop);

} // namespace tunesmith
