// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/kernel_workers.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/measure/machine.h"
#include "core/schedule/kernel_reply.h"

namespace tunesmith {
namespace {

std::chrono::steady_clock::duration seconds(double value) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(value));
}

CallReport notMeasured(CallOutcome outcome, Error error) {
    CallReport report;
    report.outcome = outcome;
    report.error = std::move(error);
    return report;
}

// The call, unless its answer is none.
CallReport checked(const Message& request, CallReport report) {
    if (!report.replied())
        return report;
    if (const Status good = checkKernelReply(request, report.reply); !good.ok())
        return notMeasured(CallOutcome::refused, internalError("the worker answers garbage: " + good.error().message));
    return report;
}

void keepTo(Message& request, const std::vector<int>& processors) {
    if (!processors.empty())
        request.body[worker_environment::kProcessors] = processors;
}

} // namespace

Result<std::unique_ptr<KernelWorkers>> KernelWorkers::start(KernelWorkerOptions options) {
    TS_ASSIGN(MeasuringLock lock, MeasuringLock::open());
    std::unique_ptr<KernelWorkers> workers(new KernelWorkers(std::move(options), std::move(lock)));
    const auto builders = static_cast<std::size_t>(std::max(1, workers->options_.builders));
    WorkerOptions builder = workers->options_.worker;
    if (workers->options_.builderMemory > 0)
        builder.memoryLimit = workers->options_.builderMemory;
    TS_ASSIGN(workers->builders_, WorkerPool::start(builder, builders));
    TS_ASSIGN(workers->profiler_, WorkerClient::start(workers->options_.worker));
    return workers;
}

Result<MachineRow> KernelWorkers::machine() const { return thisMachine(); }

CallReport KernelWorkers::build(const Message& request, const StopToken& stop) {
    Message kept = request;
    {
        const std::lock_guard lock(mutex_);
        keepTo(kept, buildOn_);
    }
    return checked(kept, builders_->exchange(kept, seconds(options_.buildSeconds), stop));
}

void KernelWorkers::keepBuildsTo(const std::vector<int>& processors) {
    const std::lock_guard lock(mutex_);
    buildOn_ = processors;
}

CallReport KernelWorkers::prepare(const Message& request, const StopToken& stop) {
    Message first{request.body, {request.blobs.at(0)}};
    first.body["verb"] = "prepare_profile";
    first.body.erase("kernel");
    first.body.erase("kernels");
    first.body.erase("reference");
    CallReport report = profiler_->exchange(first, seconds(options_.prepareSeconds), stop);
    if (report.replied()) {
        prepared_ = request.body.at("workload").get<std::string>();
        preparedBy_ = profiler_->pid();
    }
    return report;
}

CallReport KernelWorkers::measure(Message request, double limit, const StopToken& stop) {
    request.body["seed"] = options_.seed;
    request.body["probe_ms"] = probeMs_;
    keepTo(request, measureOn_);
    const bool ready = prepared_ == request.body.at("workload").get<std::string>() && profiler_->alive() &&
                       profiler_->pid() == preparedBy_;
    if (!ready)
        if (CallReport report = prepare(request, stop); !report.replied())
            return report;
    const auto key = lock_.acquire(stop);
    if (!key.ok())
        return notMeasured(key.error().isCancelled() ? CallOutcome::cancelled : CallOutcome::notStarted, key.error());
    CallReport report = checked(request, profiler_->exchange(request, seconds(limit), stop));
    if (const auto probe = report.reply.body.find("probe_ms"); probe != report.reply.body.end() && probe->is_number())
        probeMs_ = probe->get<double>();
    return report;
}

} // namespace tunesmith
