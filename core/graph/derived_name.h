// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tunesmith {

// Nodes and values that are made of another have its name and something more. A name in a file may have megabytes, and thousands are made
// of one where a loop is written out, so what is derived has kLongestDerivedName bytes at most.
inline constexpr std::size_t kLongestDerivedName = 256;

// The text itself, or its beginning, cut between two characters, "~" and a hash of the whole: other texts give other names.
std::string shortName(std::string text);
// Of `of` and `more`, one behind the other. GraphBuilder makes a name that is taken unique.
std::string derivedName(std::string_view of, std::string_view more);

} // namespace tunesmith
