// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

namespace tunesmith {

// What a file in TOML asks for, so that one command opens them all. What cannot be read or asks for nothing counts as jobs: their reader says what is wrong.
enum class WorkFile { jobs, sweep, problem };
WorkFile workFileKind(const std::filesystem::path& file);

} // namespace tunesmith
