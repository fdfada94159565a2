// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

struct ProgramResult {
    bool succeeded = false;
    std::string ending; // "exited with status 1", "was killed by signal 9"
    std::string errors; // what it printed to stderr, at most the first 64 KiB
};

// Runs a program to its end: no shell, no stdin, stdout to nowhere. The error is that it could not be
// started.
Result<ProgramResult> runProgram(const std::filesystem::path& program,
                                 const std::vector<std::string>& arguments);

} // namespace tunesmith
