// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/stats/paired.h"
#include <string>

namespace tunesmith {

// What a comparison says, the only wording of it in the whole program (measuring, bench --vs, compare): never
// a bare mean.
enum class VerdictKind {
    faster, // B is faster than A
    slower,
    same,       // whatever the difference is, it is below the tolerance
    cannotTell, // the interval holds both; `more` pairs may decide
};

struct Verdict {
    VerdictKind kind = VerdictKind::cannotTell;
    double ratio = 1, ratioLow = 0, ratioHigh = 0; // time of B / time of A; all 0 when nothing was measured
    std::size_t more = 0;                          // pairs to measure in addition; 0 unless cannotTell
    std::string text;                              // "B is 3 to 5 % faster"
};

struct VerdictOptions {
    double tolerance = 0.01; // differences below it are called none
    std::string nameA = "A", nameB = "B";
};

const char* verdictName(VerdictKind kind); // "faster", "slower", "same", "cannot-tell": stable, for JSON

// "x % faster" is meant as throughput (time A / time B - 1), "x % slower" as time (time B / time A - 1): then
// B is x % faster than A exactly when A is x % slower than B. From a factor of two on, the text says "2.1
// to 2.4 times as fast".
Verdict judge(const PairedRatio& ratio, const VerdictOptions& options = {});

// comparePaired and judge; too few pairs are no error here but "cannot tell, measure N more".
Result<Verdict> judgePaired(std::span<const double> a, std::span<const double> b,
                            const PairedOptions& paired = {}, const VerdictOptions& options = {});

} // namespace tunesmith
