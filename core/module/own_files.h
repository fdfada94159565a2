// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tunesmith {

// A file of an exported folder, as the folder's description lists it.
struct ModuleFile {
    std::string name; // within the folder: "example/main.c"
    std::uintmax_t bytes = 0;
    std::string hash; // of its content, 16 hexadecimal digits
};

// The files of an earlier export that a later one may take away: regular files that hold what the list says (without a hash: whatever they hold). All
// else belongs to the user. What the list is read from comes last, so that a kill leaves it while there is something to take away.
using OwnFiles = std::vector<ModuleFile>;
using ListOwnFiles = std::function<std::optional<OwnFiles>(const std::filesystem::path& folder)>; // none: it is no export

} // namespace tunesmith
