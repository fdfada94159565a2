// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <vector>

#include "core/workbench/run.h"

namespace tunesmith {

// Inside core/workbench only. Writes outputs as NAME.npy into a folder, all of them or none, and fills in their `file`. A model chooses the names of
// its outputs and may call them as the user calls other data, so a file is replaced only where an earlier run wrote it: a hidden list in the folder
// says which, with their hashes. `replace` replaces any file. An Error names the file that is in the way.
Status saveOutputs(std::vector<RunOutput>& outputs, const std::filesystem::path& folder, bool replace);

} // namespace tunesmith
