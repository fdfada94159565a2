// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include <filesystem>

namespace tunesmith {

// Where the worker executable is: what the environment variable TUNESMITH_WORKER names (then nothing else is
// tried), else beside the running executable, else in ../libexec/tunesmith/ of it. The error lists the
// places.
Result<std::filesystem::path> findWorkerExecutable(const std::string& name = "tunesmith-worker");

// Likewise without the variable: a program of ours that stands beside the running one.
Result<std::filesystem::path> findProgramBeside(const std::string& name);

// The folder of the running executable.
Result<std::filesystem::path> programFolder();

} // namespace tunesmith
