// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include <filesystem>

namespace tunesmith {

// Where the worker executable is: what the environment variable TUNESMITH_WORKER names (then nothing else is
// tried), else beside the running executable, else in ../libexec/tunesmith/ of it. The error lists the
// places.
Result<std::filesystem::path> findWorkerExecutable(const std::string& name = "tunesmith-worker");

} // namespace tunesmith
