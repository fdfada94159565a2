// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <vector>

#include "core/workbench/inputs.h"
#include "core/workbench/model.h"

namespace tunesmith {

enum class Engine {
    reference, // the slow, exact oracle
    compiled,  // the kernels that a module is made of, in a worker process; what is no kernel, with the reference
    module,    // an exported module in a worker process
};
const char* engineName(Engine engine); // "reference"
Result<Engine> engineFromName(const std::string& name);

struct RunRequest {
    InputChoice inputs;
    Engine engine = Engine::compiled; // an exported module has no other
    int threads = 0;                  // 0: all cores; an exported module: what it was tuned for
    std::string store;                // whose records the compiled engine uses; empty: the default store
    std::filesystem::path saveFolder; // outputs as NAME.npy; empty: not saved
    Work work;
    std::string space = {}; // of the compiled engine's schedules, as in CompileRequest
    bool trust = false;     // a module from elsewhere runs as our own from now on; else it runs confined
    bool replace = false;   // any file that is in saveFolder; else only what earlier runs wrote there, for the model chose the names
};

struct RunOutput {
    TensorSpec spec;
    Tensor tensor;
    std::filesystem::path file; // where it was saved
};

struct RunResult {
    std::vector<RunOutput> outputs;
    double seconds = 0;                   // of the inference alone
    std::string foreign;                  // what is known of a module that was not made here, a sentence
    std::vector<NodeProblem> byReference; // of the compiled engine: nodes that are no kernels, and why
};

// One inference. Errors name the node and the operator that an engine lacks.
Result<RunResult> runModel(const Model& model, const RunRequest& request);
Result<RunResult> runExportedModule(const std::filesystem::path& folder, const RunRequest& request);
bool isExportedModule(const std::filesystem::path& path);

} // namespace tunesmith
