// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// One point of a search space: a plain value that is stored, compared and sent around without knowing its
// Space. A space of knobs uses `choices` (an index into each knob's candidates); a tree-like space (inlining
// decisions, a plan of checkpoints) may put any text of its own into `payload`. What the numbers mean only
// the Space knows.
struct Config {
    std::vector<std::int64_t> choices;
    std::string payload;

    // "3,0,12" or "3,0,12;payload": unique, the payload verbatim after the first ';'. parse() is its exact
    // inverse.
    std::string text() const;
    static Result<Config> parse(std::string_view text);

    std::uint64_t hash() const; // stable across machines and versions; stored
    bool operator==(const Config&) const = default;
};

// `config "3,0,12"`, at most 80 bytes of the text, to begin a message with.
std::string configInMessage(std::string_view text);

} // namespace tunesmith
