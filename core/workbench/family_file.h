// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/tensor_type.h"
#include "core/module/own_files.h"
#include "core/ops/index_inputs.h"
#include "core/workbench/model.h"

namespace tunesmith {

// Inside core/workbench only: family.json of a folder that holds modules of one model for several extents of
// its dimensions.
struct FamilyMember {
    Dimensions extents; // of the ranged dimensions
    std::string folder; // within the family's folder: "batch-4"
};

struct FamilyTensor {
    std::string name;
    TensorType type; // ranged dimensions are named
    IndexRange bounds = {0, 0}; // within which integers are drawn
};

struct FamilyInfo {
    std::filesystem::path folder;
    std::string name; // as safeFileName() writes it
    Dimensions fixed;
    DimensionRanges ranges;
    std::vector<FamilyTensor> inputs;
    std::vector<std::string> outputs;
    std::vector<FamilyMember> members;
    OwnFiles files; // beside the modules

    std::string modelFile() const; // "resnet18.onnx", with its open dimensions
    std::filesystem::path model() const { return folder / modelFile(); }
};

inline constexpr const char* kFamilyFile = "family.json";

std::string
memberFolder(const Dimensions& extents); // "batch-4", a file name whatever the dimensions are called
std::string extentsText(const Dimensions& extents); // "batch=4, time=100"

// The files that such a folder and the modules in it list; none where there is no such file of ours.
std::optional<OwnFiles> ownFamilyFiles(const std::filesystem::path& folder);
std::string toJsonText(const FamilyInfo& family);
// Errors: not there, not ours, newer, damaged: one sentence that names the file.
Result<FamilyInfo> readFamily(const std::filesystem::path& folder);

} // namespace tunesmith
