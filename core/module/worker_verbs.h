// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/module/loaded_module.h"
#include "core/process/worker_client.h"
#include "core/process/worker_server.h"

namespace tunesmith {

// Exported modules run in the worker process. moduleVerbs() is the worker's side; the functions below are the
// workbench's, and what they return is in the order of the module's inputs, outputs and steps. They do not
// take the measuring lock: who measures holds it around the call. A module stays loaded in the worker for the
// next call.
std::map<std::string, Handler> moduleVerbs();

struct ModuleCall {
    std::filesystem::path folder;
    int threads = 0;            // 0: what the module was tuned for
    std::vector<Tensor> inputs; // none: values for measuring (LoadedModule::setAnyInputs)
};

struct ModuleTiming {
    std::vector<double> samples; // seconds of each run; of very many, those of every n-th (stats/thinned.h)
    std::size_t runs = 0;        // all of them
    std::vector<double> steps;   // seconds of each step, median over a few profiled runs after the samples;
                                 // empty when not asked for
};

// Two modules measured in turns (A B, B A, A B ...), a block of runs each: samples a[i] and b[i] are the
// seconds per run of two blocks one right after the other, as stats/comparePaired wants them.
struct PairTiming {
    std::vector<double> a, b;
};

// The steps of two modules, whose runs take turns, 20 of each or more: a[i][s] and b[i][s] are the seconds of step s in the runs of one round.
struct PairSteps {
    std::vector<std::vector<double>> a, b;
};

// One step of a module with probes (ExportInfo), alone and on given inputs: buffers of the plan and what is in them.
struct StepProbe {
    std::int64_t step = 0;
    std::vector<LoadedModule::Probe> inputs, outputs; // of outputs the flat tensors say type and size
};

// As LoadedModule::trace() on the inputs of the call.
using ModuleTrace = std::vector<LoadedModule::TracedStep>;

using Timeout = std::chrono::steady_clock::duration;

Result<std::vector<Tensor>> runModule(WorkerClient& worker, const ModuleCall& call, Timeout timeout,
                                      const StopToken& stop = {});
// Returns the outputs afterwards, flat.
Result<std::vector<Tensor>> probeStep(WorkerClient& worker, const ModuleCall& call, const StepProbe& probe, Timeout timeout,
                                      const StopToken& stop = {});
Result<LoadedModule::Clobbered> traceModule(WorkerClient& worker, const ModuleCall& call, const ModuleTrace& trace, Timeout timeout,
                                            const StopToken& stop = {});
Result<ModuleTiming> timeModule(WorkerClient& worker, const ModuleCall& call, const TimingBudget& budget,
                                int profiledRuns, Timeout timeout, const StopToken& stop = {});
Result<PairTiming> timeModulePair(WorkerClient& worker, const ModuleCall& a, const ModuleCall& b,
                                  double seconds, double blockSeconds, Timeout timeout,
                                  const StopToken& stop = {});
Result<PairSteps> timePairSteps(WorkerClient& worker, const ModuleCall& a, const ModuleCall& b, double seconds, Timeout timeout,
                                const StopToken& stop = {});

} // namespace tunesmith
