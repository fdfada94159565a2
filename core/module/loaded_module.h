// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor.h"
#include "core/module/module_info.h"
#include "core/stats/thinned.h"

namespace tunesmith {

// When to stop repeating: after so many runs or so many seconds, whichever is first (0: no such limit; one
// must be set).
struct TimingBudget {
    int runs = 0;
    double seconds = 0;
    int warmUp = 3;
};

// An exported module in this process: foreign code, so only for processes that may crash (the worker, tests).
// For one thread at a time.
class LoadedModule {
public:
    // A buffer of the plan and its bytes, as kernels see them.
    struct Probe {
        std::int64_t buffer = 0;
        Tensor flat;
    };

    // threads: 0 takes what the module was tuned for.
    static Result<std::unique_ptr<LoadedModule>> open(const std::filesystem::path& folder, int threads);
    ~LoadedModule();
    LoadedModule(const LoadedModule&) = delete;
    LoadedModule& operator=(const LoadedModule&) = delete;

    const ModuleInfo& info() const { return info_; }
    int threads() const;
    Status setInputs(const std::vector<Tensor>& inputs); // in the order of info().inputs
    Status
    setAnyInputs(); // values for measuring: floats in [-1, 1) from a fixed seed, zeros for everything else
    Status run();
    std::vector<Tensor> outputs() const; // of the last run

    // One step alone: on these inputs, its outputs read into the tensors of `outputs`. For modules with probes (ExportInfo).
    Status probe(std::int64_t step, const std::vector<Probe>& inputs, std::vector<Probe>& outputs);

    // Runs all steps in turn and looks at what each reads: the first that finds other bytes in a value than its step wrote, and that value.
    struct TracedBuffer {
        std::int64_t buffer = 0, bytes = 0;
        std::string value; // one name for each value and layout
    };
    struct TracedStep {
        std::vector<TracedBuffer> inputs, outputs;
    };
    struct Clobbered {
        std::int64_t step = -1; // none
        std::string value;
    };
    Result<Clobbered> trace(const std::vector<TracedStep>& steps);

    Result<ThinnedSamples> time(const TimingBudget& budget); // seconds of each run
    Result<std::vector<double>> timeStepsOnce();             // seconds of each step of one run
    Result<std::vector<double>> timeSteps(int runs);         // the median of each step, seconds

private:
    struct Functions;
    LoadedModule(ModuleInfo info, void* library);
    Status connect(int threads);
    Status checked(int status) const;
    Result<std::uint64_t> hashOf(const TracedBuffer& buffer) const;

    ModuleInfo info_;
    void* library_;
    std::unique_ptr<Functions> functions_;
    void* instance_ = nullptr;
};

} // namespace tunesmith
