// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "core/process/measuring_lock.h"
#include "core/process/worker_pool.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/template.h"
#include "core/search/problem.h"

namespace tunesmith {

struct KernelWorkerOptions {
    WorkerOptions worker;       // its executable serves kernelVerbs()
    int builders = 2;
    double buildSeconds = 20;   // wall clock limit of one build
    double profileSeconds = 10; // of one profile
    double prepareSeconds = 120; // of the reference result, once per workload
    double measureMs = 20;      // of samples per candidate
    std::uint64_t seed = 0;     // of the inputs that kernels are checked and timed with
};

// The processes in which candidates are built and measured, shared by all workloads of a run. Builds may be asked for from
// several threads, measurements from one thread at a time.
class KernelWorkers {
public:
    static Result<std::unique_ptr<KernelWorkers>> start(KernelWorkerOptions options);

    const KernelWorkerOptions& options() const { return options_; }
    CallReport build(const Message& request, const StopToken& stop);
    // Under the machine's measuring lock. The reference result is made first, with a time limit of its own.
    CallReport measure(Message request, double seconds, const StopToken& stop);
    double probeMs() const { return probeMs_; } // best of SpeedProbe so far, for the next measurement

private:
    KernelWorkers(KernelWorkerOptions options, MeasuringLock lock) : options_(std::move(options)), lock_(std::move(lock)) {}
    CallReport prepare(const Message& request, const StopToken& stop);

    KernelWorkerOptions options_;
    MeasuringLock lock_;
    std::unique_ptr<WorkerPool> builders_;
    std::unique_ptr<WorkerClient> profiler_;
    std::string prepared_; // workload for which the profiler has a reference result ...
    int preparedBy_ = -1;  // ... if it is still this process
    double probeMs_ = 0;
};

// One workload on one target as something to be tuned: objective "time" in ms (p5 of the samples).
class ScheduleProblem : public Problem {
public:
    static Result<std::unique_ptr<ScheduleProblem>> make(const Workload& workload, const Target& target,
                                                         KernelWorkers& workers);

    std::string name() const override { return workload_.name; }
    const Space& space() const override { return space_->space(); }
    const ScheduleSpace& schedules() const { return *space_; }
    const Workload& workload() const { return workload_; }
    const Target& target() const { return target_; }
    const std::string& serialized() const { return serialized_; }
    std::vector<ObjectiveInfo> objectives() const override { return {{"time", "ms", false}}; }
    Result<Built> build(const Config& config, const StopToken& stop) override;
    Trial profile(const Artifact& artifact, const ProfileLimits& limits) override;
    std::vector<Description> describeConfig(const Config& config) const override; // loop nest, LLVM IR, assembly

    // As build(), but says how it failed as a trial's status.
    struct BuildOutcome {
        std::optional<Built> built;
        TrialStatus status = TrialStatus::ok;
        std::string message;
        double seconds = 0;
    };
    BuildOutcome tryBuild(const Config& config, const StopToken& stop);

    // Times several artifacts in turns; ms per call of each.
    Result<std::vector<std::vector<float>>> compare(const std::vector<Artifact>& artifacts, double measureMs,
                                                    const StopToken& stop);

    // Why no worker can be started any more; then no trial means anything.
    std::optional<Error> broken() const;

private:
    ScheduleProblem(Workload workload, Target target, KernelWorkers& workers);
    Message request(const std::string& verb) const { return workloadRequest(verb, workload_.key, serialized_, target_); }
    TrialStatus classify(const CallReport& report, bool running);

    Workload workload_;
    Target target_;
    KernelWorkers& workers_;
    std::string serialized_;
    std::unique_ptr<ScheduleSpace> space_;
    mutable std::mutex mutex_; // guards broken_
    std::optional<Error> broken_;
};

} // namespace tunesmith
