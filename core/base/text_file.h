// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// The whole of a regular file that may come from anybody. One that is larger than any of its kind is refused before it takes memory: "x.te: a definition has at most
// 1048576 bytes, and this has 5000000". Bytes, whatever they are.
Result<std::string> readText(const std::filesystem::path& path, std::size_t most, const std::string& kind);

} // namespace tunesmith
