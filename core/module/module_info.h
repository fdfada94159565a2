// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/codegen/target.h"
#include "core/graph/tensor.h"
#include "core/module/own_files.h"
#include "core/module/plan.h"

namespace tunesmith {

struct ModuleTensor {
    std::string name;
    DType type = DType::undefined;
    Shape shape; // kOpenExtent in outputs: known after a run
    bool ranked = true; // false: not even the rank is known before
    std::optional<std::int64_t> fallback = {}; // of an input: where its default value lies in the weights

    bool isOpen() const { return !ranked || std::ranges::find(shape, kOpenExtent) != shape.end(); }
    std::optional<std::int64_t> bytes() const; // none where it is open, or they are too many to count
};

struct ModuleStep {
    std::string name, kernel, workload, config;
    std::int64_t flops = 0;
    double expectedMs = 0;
    std::string reference; // the operator, of a step that the reference kernels compute: then there is no kernel
};

// What module.json says about an exported module, read without loading any foreign code.
struct ModuleInfo {
    std::filesystem::path folder;
    std::string name;   // as the model calls itself
    std::string prefix; // of its C functions and files
    std::string version;
    Target target;
    std::vector<ModuleTensor> inputs, outputs;
    std::vector<ModuleStep> steps;
    std::vector<ModuleFile> files;
    nlohmann::json document; // everything, with graph, records, machine and check

    std::filesystem::path library() const { return folder / ("lib" + prefix + ".so"); }
    std::filesystem::path weights() const { return folder / "weights.bin"; }
    std::int64_t flops() const;
};

inline constexpr int kModuleFormat = 2;
inline constexpr const char* kProbeFunctions[] = {"probe_write", "probe_read", "probe_step"}; // of runtime/probe.c

// A C identifier made of a model's name: "resnet-18 v2" -> "resnet_18_v2".
std::string modulePrefix(const std::string& name);
// An Error names a prefix that would do. Empty: none is asked for.
Status checkPrefix(const std::string& prefix);

// "{...}" of a plan, without the files.
nlohmann::json describePlan(const ModulePlan& plan, const std::string& prefix);

bool isModuleFolder(const std::filesystem::path& folder); // has a module.json, whatever is in it
OwnFiles listedFiles(const nlohmann::json& document); // in its "files", as far as it can be read
// The files that such a folder lists, under the names that an export gives, as far as they can be read.
std::optional<OwnFiles> ownModuleFiles(const std::filesystem::path& folder);
// Errors: no module, newer format, a file that is missing or has another size than module.json says.
Result<ModuleInfo> readModuleInfo(const std::filesystem::path& folder);
std::string reasonOf(const std::exception& exception); // what reading JSON threw, without the exception's own name
// Reads the library whole: that it is what was exported, so that loading it cannot crash on a damaged file.
Status checkLibrary(const ModuleInfo& info);

Result<std::string> hashFile(const std::filesystem::path& path);

} // namespace tunesmith
