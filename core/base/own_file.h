// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// A small file that the program keeps for its user, such as a list of what is known: regular, the user's or root's, and written to by nobody else.
// Refuses a pipe, a link and a file of more than `most` bytes with an Error, and waits for none of them.
Result<std::string> readOwnFile(const std::filesystem::path& path, std::size_t most);

// In one piece, as long as `most` bytes hold all. Makes the file where there is none, for the user alone.
Status appendToOwnFile(const std::filesystem::path& path, const std::string& text, std::size_t most);

} // namespace tunesmith
