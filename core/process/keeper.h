// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

namespace tunesmith::keeper {

// The contract between runProgram() and tunesmith-keeper. The keeper is called with the limit of memory in bytes, the folder to
// run in (empty: its own) and the command; a socket is its descriptor 3. It answers with one Report; when the other end of the socket is
// closed, it kills all that it keeps.
inline constexpr const char* kProgram = "tunesmith-keeper";
inline constexpr int kSocket = 3;

struct Report {
    std::int32_t startError = 0; // an errno: the command could not be started
    std::int32_t signal = 0, exitStatus = 0;
    double seconds = 0, cpuSeconds = 0;
};

} // namespace tunesmith::keeper
