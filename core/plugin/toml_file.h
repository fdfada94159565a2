// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <toml++/toml.h>

#include "core/base/result.h"

namespace tunesmith {

// A TOML file of at most 1 MiB. toml++ bounds how deep values nest, but not how many parts a dotted key has, and recurses into them:
// keys of more than 32 parts and values more than 32 deep are refused before it reads them. Errors name the file and the line.
Result<toml::table> readTomlFile(const std::filesystem::path& file);

} // namespace tunesmith
