// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/schedule_problem.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/measure/timing.h"

namespace tunesmith {
namespace {

// A hundred times what the widest core does in a second: 64 operations, or as many bytes, per cycle at 5 GHz. Kernels do less than is counted where Winograd's
// algorithm takes a quarter of the products, where windows hang over the edge, and where an expression repeats what is computed once.
constexpr double kMostPerSecond = 3e13;

constexpr const char* kImpossible = "its time is less than any machine can take";

} // namespace

ScheduleProblem::ScheduleProblem(Workload workload, Target target, KernelExecutor& executor)
    : workload_(std::move(workload)), target_(std::move(target)), executor_(&executor),
      serialized_(workload_.serialize()) {}

Result<std::unique_ptr<ScheduleProblem>> ScheduleProblem::make(const Workload& workload, const Target& target,
                                                               KernelExecutor& executor) {
    std::unique_ptr<ScheduleProblem> problem(new ScheduleProblem(workload, target, executor));
    TS_ASSIGN(ScheduleSpace space, ScheduleSpace::make(workload, target));
    problem->space_ = std::make_unique<ScheduleSpace>(std::move(space));
    return problem;
}

void ScheduleProblem::moveTo(KernelExecutor& executor) {
    if (executor_ != &executor)
        executor_ = &executor;
}

TrialStatus ScheduleProblem::classify(const CallReport& report, bool running) {
    switch (report.outcome) {
    case CallOutcome::replied: return TrialStatus::ok;
    case CallOutcome::crashed: return TrialStatus::crashed;
    case CallOutcome::timedOut: return running ? TrialStatus::runTimeout : TrialStatus::buildTimeout;
    case CallOutcome::cancelled: return TrialStatus::cancelled;
    case CallOutcome::notStarted: {
        const std::lock_guard guard(mutex_);
        broken_ = report.error;
        return TrialStatus::cancelled;
    }
    case CallOutcome::refused: break;
    }
    if (report.error.message.starts_with("out of memory"))
        return TrialStatus::outOfMemory;
    return statusOf(report.error, running);
}

// All that is counted is computed, or all outputs are written.
bool ScheduleProblem::isPossible(std::span<const float> samples) const {
    double written = 0;
    for (const ValueId output : workload_.graph.outputs()) {
        const TensorType& type = workload_.graph.value(output).type;
        written += static_cast<double>(storedBytes(type.dtype, elementCount(type.shape())));
    }
    const double least = std::max(static_cast<double>(workload_.flops), written) / (kMostPerSecond * target_.threads);
    return lowQuantile(samples) >= 1000 * least;
}

std::optional<Error> ScheduleProblem::broken() const {
    const std::lock_guard guard(mutex_);
    return broken_;
}

ScheduleProblem::BuildOutcome ScheduleProblem::tryBuild(const Config& config, const StopToken& stop) {
    const auto start = std::chrono::steady_clock::now();
    Message message = request("build_kernel");
    message.body["config"] = config.text();
    CallReport report = executor_->build(message, stop);
    BuildOutcome outcome;
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome.status = classify(report, false);
    outcome.message = report.error.message;
    if (outcome.status != TrialStatus::ok)
        return outcome;
    auto package = report.reply.blobs.size() == 1
                       ? KernelPackage::fromParts(report.reply.body.value("kernel", nlohmann::json()),
                                                  std::move(report.reply.blobs[0]))
                       : Result<KernelPackage>(internalError("a builder sent no kernel"));
    auto effective = package.ok() ? Config::parse(package->config) : package.error();
    if (!effective.ok()) {
        outcome.status = TrialStatus::buildError;
        outcome.message = effective.error().message;
        return outcome;
    }
    outcome.message.clear();
    outcome.built = Built{{package->pack(), {}, package->hash}, std::move(*effective)};
    return outcome;
}

Result<Built> ScheduleProblem::build(const Config& config, const StopToken& stop) {
    BuildOutcome outcome = tryBuild(config, stop);
    if (outcome.built)
        return std::move(*outcome.built);
    if (outcome.status == TrialStatus::cancelled)
        return cancelledError();
    return outcome.status == TrialStatus::buildTimeout ? timeoutError(outcome.message) : inputError(outcome.message);
}

Trial ScheduleProblem::profile(const Artifact& artifact, const ProfileLimits& limits) {
    const auto package = KernelPackage::unpack(artifact.bytes);
    if (!package.ok())
        return Trial::failure({}, TrialStatus::runError, package.error().message);
    Message message = request("profile_kernel");
    message.body["kernel"] = package->header();
    message.body["measure_ms"] = executor_->options().measureMs;
    message.body["max_seconds"] = limits.deadlineSeconds / 2;
    if (limits.incumbent)
        message.body["incumbent_ms"] = *limits.incumbent;
    message.blobs.push_back(package->kernel.object);
    if (limits.reference)
        if (auto reference = KernelPackage::unpack(limits.reference->artifact->bytes); reference.ok()) {
            message.body["reference"] = reference->header();
            message.body["reference_ms"] = limits.reference->objective;
            message.blobs.push_back(std::move(reference->kernel.object));
        }
    const CallReport report = executor_->measure(std::move(message), limits.deadlineSeconds, limits.stop);
    TrialStatus status = classify(report, true);
    std::string text = report.error.message;
    Trial trial;
    if (status == TrialStatus::ok) {
        status = trialStatusFromName(report.reply.body.value("status", "")).value_or(TrialStatus::runError);
        text = report.reply.body.value("message", std::string());
        if (status == TrialStatus::ok)
            trial.samples = samplesFromBlob(report.reply.blobs.at(0));
        if (status == TrialStatus::ok && !isPossible(trial.samples))
            status = TrialStatus::runError, text = kImpossible;
    }
    trial.status = status;
    trial.message = std::move(text);
    if (!trial.ok()) {
        trial.samples.clear();
        return trial;
    }
    trial.objectives = {{"time", lowQuantile(trial.samples), "ms"}};
    if (report.reply.body.value("hopeless", false))
        trial.message = "given up early: more than twice the best time";
    else if (report.reply.body.value("disturbed", false))
        trial.message = "measured while the machine was slow";
    return trial;
}

Result<std::vector<std::vector<float>>> ScheduleProblem::compare(const std::vector<Artifact>& artifacts,
                                                                 double measureMs, const StopToken& stop) {
    Message message = request("compare_kernels");
    message.body["measure_ms"] = measureMs;
    message.body["kernels"] = nlohmann::json::array();
    for (const Artifact& artifact : artifacts) {
        TS_ASSIGN(KernelPackage package, KernelPackage::unpack(artifact.bytes));
        message.body["kernels"].push_back(package.header());
        message.blobs.push_back(std::move(package.kernel.object));
    }
    const CallReport report = executor_->measure(std::move(message), executor_->options().profileSeconds * 2, stop);
    if (const TrialStatus status = classify(report, true); status != TrialStatus::ok)
        return report.error;
    std::vector<std::vector<float>> samples;
    for (const auto& blob : report.reply.blobs)
        samples.push_back(samplesFromBlob(blob));
    if (samples.size() != artifacts.size() || std::ranges::any_of(samples, &std::vector<float>::empty))
        return internalError("the comparison failed: " + report.reply.body.value("message", std::string("no samples")));
    if (!std::ranges::all_of(samples, [this](const std::vector<float>& series) { return isPossible(series); }))
        return inputError(std::string("the comparison failed: ") + kImpossible);
    return samples;
}

std::vector<Description> ScheduleProblem::describeConfig(const Config& config) const {
    Message message = request("build_kernel");
    message.body["config"] = config.text();
    message.body["text"] = true;
    const CallReport report = executor_->build(message, {});
    if (!report.replied() || report.reply.blobs.size() != 4)
        return {{"Config " + config.text(), TextPart{report.error.message, ""}}};
    const auto text = [&](std::size_t i) { return std::string(blobText(report.reply.blobs[i])); };
    return {{"Loop nest", TextPart{text(1), ""}}, {"LLVM IR", TextPart{text(2), "llvm"}}, {"Assembly", TextPart{text(3), "asm"}}};
}

} // namespace tunesmith
