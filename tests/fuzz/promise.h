// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/result.h"

namespace tunesmith::fuzz {

inline void require(bool holds, const std::string& what) {
    if (holds)
        return;
    std::fprintf(stderr, "broken promise: %s\n", what.c_str());
    std::abort();
}

inline bool isSentence(const std::string& text) { return !text.empty() && text.find('\n') == std::string::npos; }

// An outcome is a value or one sentence.
template <class Outcome> void requireSentence(const Outcome& outcome) {
    if (!outcome.ok())
        require(isSentence(outcome.error().message), "an error is one sentence: " + outcome.error().message);
}

} // namespace tunesmith::fuzz
