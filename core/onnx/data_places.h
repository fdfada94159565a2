// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// Where the data of an exported model goes, and what becomes of the data of the model that it replaces. Data may be shared: copies of a
// model name the same file, and so may models that this program did not write. Such a file stays.
struct DataPlaces {
    std::filesystem::path model;
    std::filesystem::path free;                // MODEL.data, or MODEL.data-2 and so on
    std::vector<std::filesystem::path> before; // those of such names that the model to be replaced names, which needs them until then
    bool ours = false;                         // that model was written by this program
};

// Before the model is replaced. An error where no name is free.
Result<DataPlaces> placesOfData(const std::filesystem::path& model);

// After it was. Removes the data that nobody else can need: the replaced model was ours, no model in its folder or in the one above has
// the name in it, and this process does not read the file. A warning tells what stays.
void removeReplacedData(const DataPlaces& places);

} // namespace tunesmith
