// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace tunesmith {

// What an assembly listing (AT&T syntax, as LLVM prints it) says about its loops.
struct ListedLoop {
    std::size_t firstLine = 0, lines = 0; // in the listing, from 0
    int instructions = 0;
    int multiplyAdds = 0; // fused, vectors or scalars
    int broadcasts = 0;   // of what is read, not of constants in the code
    int stackVectors = 0; // vector registers that are saved to the stack or read back: spills
};

// From a label to a backward jump to it with no other such pair inside, in the order of the listing.
std::vector<ListedLoop> innermostLoops(std::string_view assembly);

// Where the time goes: the innermost loop with most fused multiply-adds, or with most instructions where nothing multiplies.
std::optional<ListedLoop> hottestLoop(std::string_view assembly);

} // namespace tunesmith
