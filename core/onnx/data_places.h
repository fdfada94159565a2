// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/descriptor.h"
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

// Before the model is replaced, by whoever has the turn. An error where no name is free.
Result<DataPlaces> placesOfData(const std::filesystem::path& model);

// A model and its data are two files, and two exports to one name would mix them: they are written one after the other, by any process of this
// machine. A lock beside the model tells so while one is written. Waits for the other, some minutes at most, and then gives an Error. Where
// there can be no such file, nobody waits.
class ExportTurn {
public:
    static Result<ExportTurn> take(const std::filesystem::path& model);
    ExportTurn(ExportTurn&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
    ~ExportTurn();

private:
    ExportTurn() = default;
    std::filesystem::path path_; // empty: no lock
    Descriptor lock_;
};

// After it was. Removes the data that nobody else can need: the replaced model was ours, no model in its folder or in the one above has
// the name in it, and this process does not read the file. A warning tells what stays.
void removeReplacedData(const DataPlaces& places);

} // namespace tunesmith
