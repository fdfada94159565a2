// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "core/schedule/kernel_executor.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/template.h"
#include "core/search/problem.h"

namespace tunesmith {

// One workload on one target as something to be tuned: objective "time" in ms (p5 of the samples). Times that no machine can take are none.
class ScheduleProblem : public Problem {
public:
    static Result<std::unique_ptr<ScheduleProblem>> make(const Workload& workload, const Target& target,
                                                         KernelExecutor& executor);

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

    void moveTo(KernelExecutor& executor); // of the same kind; while nothing is built or measured, unless it is there already

    // Times several artifacts in turns; ms per call of each.
    Result<std::vector<std::vector<float>>> compare(const std::vector<Artifact>& artifacts, double measureMs,
                                                    const StopToken& stop);

    // Why no worker can be started any more; then no trial means anything.
    std::optional<Error> broken() const;

private:
    ScheduleProblem(Workload workload, Target target, KernelExecutor& executor);
    Message request(const std::string& verb) const { return workloadRequest(verb, workload_.key, serialized_, target_); }
    TrialStatus classify(const CallReport& report, bool running);
    bool isPossible(std::span<const float> samples) const;

    Workload workload_;
    Target target_;
    KernelExecutor* executor_;
    std::string serialized_;
    std::unique_ptr<ScheduleSpace> space_;
    mutable std::mutex mutex_; // guards broken_
    std::optional<Error> broken_;
};

} // namespace tunesmith
