// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include <filesystem>
#include <nlohmann/json.hpp>

namespace tunesmith {

// A path in a message between processes. Names of files are bytes, and JSON text replaces those that are not UTF-8, by which a path would name
// another file: so its bytes travel as hexadecimal digits. What is no such text is an `input` Error.
nlohmann::json pathToJson(const std::filesystem::path& path);
Result<std::filesystem::path> pathFromJson(const nlohmann::json& json);

} // namespace tunesmith
