// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/module/module_info.h"
#include "core/module/worker_verbs.h"
#include "core/process/measuring_lock.h"
#include "core/stats/verdict.h"
#include "core/workbench/bench.h"
#include "core/workbench/plan_model.h"
#include "core/workbench/session.h"

namespace tunesmith {

// Inside core/workbench only: something that can be timed, be it a module that lies somewhere or a model that
// was compiled for the occasion.
struct Subject {
    std::string name;
    std::filesystem::path folder;
    std::shared_ptr<TemporaryFolder> owned; // of a compiled model
    ModuleInfo module;
    std::string foreign; // where it comes from, of a module that was not made here (known_modules.h)
    std::vector<Tensor> inputs;
    int threads = 1;
    std::size_t layouts = 0; // of a compiled model: values that lie otherwise than by the greedy choice
};

Result<Subject> openSubject(const std::string& what, const BenchRequest& request);
Result<Subject> compiledSubject(const Model& model, const PlanRequest& plan, const InputChoice& inputs);

// Seconds per run of each, measured in turns, under the measuring lock.
struct PairSamples {
    std::vector<double> a, b;
};
Result<PairSamples> measurePair(const Subject& a, const Subject& b, double seconds, const StopToken& stop);

// The same with its verdict. Slow modules are measured for longer, until it can be told or there are as many turns as quick ones get at the least.
struct JudgedPair {
    PairSamples samples;
    Verdict verdict;
};
Result<JudgedPair> judgeSubjects(const Subject& a, const Subject& b, double seconds, const StopToken& stop);

// Layer by layer, likewise.
Result<PairSteps> measureLayers(const Subject& a, const Subject& b, double seconds, const StopToken& stop);

Latency latencyOf(const std::vector<double>& seconds, const Subject& subject, double peakGflops);

} // namespace tunesmith
