// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/search/knob_space.h"

namespace tunesmith::autotvm {

// How AutoTVM lists the ways to split a loop (TVM 0.8, autotvm/task/space.py): the sizes of the parts from
// the outermost in, the outermost written as -1 because it follows from the others.
using Sizes = std::vector<std::int64_t>;

enum class SplitPolicy {
    factors,   // divisors of the extent, so that nothing is left over
    power2,    // powers of two up to the extent
    verbose,   // both
    candidate, // the given list
};

struct SplitOptions {
    int parts = 2;
    SplitPolicy policy = SplitPolicy::factors;
    std::int64_t maxFactor = std::int64_t{1} << 31; // of every part but the outermost
    std::optional<bool> noTail = std::nullopt; // only sizes that divide the extent; by default as the policy
    std::function<bool(const Sizes&)> filter = {};
    std::vector<Sizes> candidates = {}; // of SplitPolicy::candidate
};

std::vector<std::int64_t> divisorsOf(std::int64_t extent); // ascending
std::vector<std::int64_t> powersOfTwoUpTo(std::int64_t extent);

// What the policy allows as sizes of inner parts, in AutoTVM's order: for `verbose` that of a hash table
// (hash_order.h), else ascending.
std::vector<std::int64_t> splitFactors(std::int64_t extent, SplitPolicy policy);

// The innermost part runs slowest, the one after the outermost fastest. An error for extents outside of
// [1, 2^31], lists of the wrong length and more than a million ways.
Result<std::vector<Sizes>> splitCandidates(std::int64_t extent, const SplitOptions& options);

// A knob with these candidates; the text of a value is what records hold: "[-1,2,4]".
Result<Knob> splitKnob(std::string name, std::int64_t extent, const SplitOptions& options);

std::string sizesText(const Sizes& sizes);

} // namespace tunesmith::autotvm
