// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <future>
#include <map>
#include <mutex>

#include "core/plugin/plugin.h"
#include "core/process/measuring_lock.h"
#include "core/process/program_run.h"
#include "plugins/hello/program_spec.h"

namespace tunesmith {

// A program with parameters, as a problem: build() calls the compiler of the file, once for equal command lines; profile() runs what came of it, checks its
// answer and takes its score. An artifact is the output of the build (none: the command line alone decides) and, as bytes, the config that it is for.
//
// Times are wall clock from exec to end, p5 of the repeats; with a reference the two run in turns and the ratio counts, as for kernels
// (core/measure/timing.h). Other scores are the median of the repeats.
class ProgramProblem final : public Problem {
public:
    ProgramProblem(ProgramSpec spec, std::filesystem::path scratch, MeasuringLock lock) : spec_(std::move(spec)), scratch_(std::move(scratch)), lock_(std::move(lock)) {}

    std::string name() const override { return spec_.name; }
    const Space& space() const override { return spec_.space; }
    std::vector<ObjectiveInfo> objectives() const override { return {spec_.score.objective}; }
    Result<Built> build(const Config& config, const StopToken& stop) override;
    Trial profile(const Artifact& artifact, const ProfileLimits& limits) override;
    std::vector<Description> describe() const override;
    std::vector<Description> describeConfig(const Config& config) const override;

private:
    struct Output {
        std::filesystem::path file;
        std::uint64_t hash = 0;
    };
    struct Shot { // one run of the program
        TrialStatus status = TrialStatus::ok;
        std::string message;
        double value = 0; // in the objective's unit
    };
    Result<Output> outputOf(const Config& config, const StopToken& stop);
    Result<Output> buildOutput(const std::vector<std::string>& command, const std::filesystem::path& file, const StopToken& stop) const;
    std::vector<std::string> buildCommand(const Config& config, const std::string& output) const;
    Result<ProgramOptions> runOptions(const Artifact& artifact, const std::filesystem::path& scratch) const;
    Shot shoot(const Artifact& artifact, double seconds, const StopToken& stop) const;
    Shot judge(const ProgramOptions& options, const ProgramRun& run, const std::filesystem::path& scratch) const;

    ProgramSpec spec_;
    std::filesystem::path scratch_;
    MeasuringLock lock_;
    std::mutex mutex_; // guards outputs_
    std::map<std::vector<std::string>, std::shared_future<Result<Output>>> outputs_; // by the command, its output apart
};

Result<std::unique_ptr<Problem>> openProgramProblem(Settings settings, const ProblemContext& context);

} // namespace tunesmith
