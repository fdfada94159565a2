// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/workbench/run.h"

namespace tunesmith {

struct ConformanceCase {
    enum class Status { passed, failed, unsupported };
    std::string name; // the case's folder
    Engine engine = Engine::reference;
    Status status = Status::failed;
    std::string detail; // why not passed; of a passed case what was not compared, if anything
};
const char* conformanceStatusName(ConformanceCase::Status status);

struct ConformanceRequest {
    std::vector<std::filesystem::path> folders; // cases (model.onnx and test_data_set_*), or folders of such
    std::vector<Engine> engines{Engine::reference, Engine::compiled};
    std::filesystem::path saveFolder; // outputs as ENGINE/CASE/SET/NAME.npy; empty: not saved
    Work work;
};

// ONNX test cases: stored inputs in, outputs against the stored ones. Tolerances are those of ONNX's own
// runner (relative 1e-3, absolute 1e-7; compiled 1e-5). Of outputs that depend on drawn numbers, types and
// shapes are compared.
Result<std::vector<ConformanceCase>> runConformance(const ConformanceRequest& request);

} // namespace tunesmith
