// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/worker_verbs.h"

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/measure/machine.h"
#include "core/measure/timing.h"
#include "core/process/json_number.h"
#include "core/schedule/kernel_bench.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

// The last few values by key: a worker sees the same workload hundreds of times in a row.
template <class T> class Recent {
public:
    explicit Recent(std::size_t capacity) : capacity_(capacity) {}
    template <class Make> Result<std::shared_ptr<T>> get(const std::string& key, const Make& make) {
        for (const auto& [known, value] : entries_)
            if (known == key)
                return value;
        TS_ASSIGN(std::shared_ptr<T> made, make());
        if (entries_.size() == capacity_)
            entries_.pop_front();
        entries_.emplace_back(key, made);
        return made;
    }

private:
    std::size_t capacity_;
    std::deque<std::pair<std::string, std::shared_ptr<T>>> entries_;
};

class Verbs {
public:
    Result<Message> build(const Message& request);
    Result<Message> prepare(const Message& request);
    Result<Message> profile(const Message& request);
    Result<Message> compare(const Message& request);

private:
    Result<Message> timed(const Message& request, const std::shared_ptr<const KernelCase>& kase, BenchKernel& kernel,
                          const PhaseRunner& runner);
    Result<std::shared_ptr<const Workload>> workloadOf(const Message& request);
    Result<std::shared_ptr<const KernelCase>> caseOf(const Message& request);
    Result<std::shared_ptr<BenchKernel>> referenceOf(const Message& request, const std::shared_ptr<const KernelCase>& kase);
    Result<std::shared_ptr<const PhaseRunner>> runnerFor(int threads);

    Recent<const Workload> workloads_{16};
    Recent<const ScheduleSpace> spaces_{16};
    Recent<const KernelCase> cases_{3}; // they hold tensors
    Recent<BenchKernel> references_{2};
    std::shared_ptr<const PhaseRunner> runner_;
};

Result<std::shared_ptr<const Workload>> Verbs::workloadOf(const Message& request) {
    const std::string key = request.body.value("workload", std::string());
    if (request.blobs.empty() || key.empty())
        return internalError("a request without a workload");
    return workloads_.get(key, [&]() -> Result<std::shared_ptr<const Workload>> {
        TS_ASSIGN(Workload workload, Workload::deserialize(blobText(request.blobs[0])));
        return std::make_shared<const Workload>(std::move(workload));
    });
}

Result<std::shared_ptr<const KernelCase>> Verbs::caseOf(const Message& request) {
    TS_ASSIGN(const auto workload, workloadOf(request));
    const auto seed = wholeNumber(request.body, "seed", std::uint64_t(0));
    return cases_.get(request.body.value("workload", std::string()) + ":" + std::to_string(seed),
                      [&] { return KernelCase::make(*workload, seed); });
}

Result<std::shared_ptr<const PhaseRunner>> Verbs::runnerFor(int threads) {
    if (!runner_ || runner_->threads() != threads) {
        TS_ASSIGN(runner_, PhaseRunner::make(threads));
    }
    return runner_;
}

// What candidates are timed beside; it was checked when it was a candidate.
Result<std::shared_ptr<BenchKernel>> Verbs::referenceOf(const Message& request, const std::shared_ptr<const KernelCase>& kase) {
    TS_ASSIGN(const KernelPackage package, KernelPackage::fromParts(request.body.at("reference"), request.blobs.at(2)));
    return references_.get(request.body.at("workload").get<std::string>() + ":" + std::to_string(package.hash),
                           [&]() -> Result<std::shared_ptr<BenchKernel>> {
                               TS_ASSIGN(auto loaded, BenchKernel::load(kase, package));
                               return std::shared_ptr<BenchKernel>(std::move(loaded));
                           });
}

Result<Message> Verbs::build(const Message& request) {
    TS_ASSIGN(const Target target, targetFromJson(request.body));
    TS_ASSIGN(const auto workload, workloadOf(request));
    const std::string spaceKey = request.body.value("workload", std::string()) + ":" + target.key() + ":" + target.tuneCpu;
    TS_ASSIGN(const auto space, spaces_.get(spaceKey, [&]() -> Result<std::shared_ptr<const ScheduleSpace>> {
        TS_ASSIGN(ScheduleSpace made, ScheduleSpace::make(*workload, target));
        return std::make_shared<const ScheduleSpace>(std::move(made));
    }));
    TS_ASSIGN(const Config config, Config::parse(request.body.value("config", std::string())));
    TS_ASSIGN(const ScheduledKernel scheduled, space->schedule(config));
    const Config built = space->space().canonical(config);
    CompileOptions options;
    options.wantText = request.body.value("text", false);
    TS_ASSIGN(CompiledKernel compiled, compileKernel(scheduled.nest, target, options));
    KernelPackage package{std::move(compiled.kernel), scheduled.lowered.argumentLayouts, scheduled.lowered.argumentTransforms,
                          scheduled.lowered.outputLayouts, built.text(), 0};
    package.hash = package.computeHash();
    Message reply{{{"kernel", package.header()}}, {std::move(package.kernel.object)}};
    if (options.wantText)
        for (const std::string& text : {loops::toText(scheduled.nest), compiled.llvmIr, compiled.assembly})
            reply.blobs.push_back(toBlob(text));
    return reply;
}

Result<Message> Verbs::prepare(const Message& request) {
    TS_ASSIGN(const auto kase, caseOf(request));
    return Message{{{"arguments", kase->arguments().size()}}, {}};
}

Message wrongAnswer(const std::string& why) { return {{{"status", "wrong_answer"}, {"message", why}}, {}}; }

Message timingReply(const std::vector<float>& samples, bool hopeless) {
    return {{{"status", "ok"}, {"low_ms", lowQuantile(samples)}, {"hopeless", hopeless}}, {samplesToBlob(samples)}};
}

Result<Message> Verbs::timed(const Message& request, const std::shared_ptr<const KernelCase>& kase, BenchKernel& kernel,
                             const PhaseRunner& runner) {
    TimingLimits limits;
    limits.measureMs = request.body.value("measure_ms", limits.measureMs);
    limits.maxSeconds = request.body.value("max_seconds", limits.maxSeconds);
    if (request.body.contains("incumbent_ms"))
        limits.incumbentMs = request.body.at("incumbent_ms").get<double>();
    const auto call = [&] { kernel.run(runner); };
    if (request.body.contains("reference")) {
        TS_ASSIGN(const auto reference, referenceOf(request, kase));
        const double referenceMs = request.body.at("reference_ms").get<double>();
        const RelativeTiming timing = timeBeside(call, [&] { reference->run(runner); }, referenceMs, limits);
        return timingReply(timing.samples, timing.hopeless);
    }
    SpeedProbe probe(request.body.value("probe_ms", 0.0), [&] { runner.probe(); });
    const Timing timing = timeCalls(call, limits, probe);
    Message reply = timingReply(timing.samples, timing.hopeless);
    reply.body["disturbed"] = timing.disturbed;
    reply.body["probe_ms"] = probe.bestMs();
    return reply;
}

Result<Message> Verbs::profile(const Message& request) {
    if (request.blobs.size() != (request.body.contains("reference") ? 3 : 2))
        return internalError("a profile request without a kernel");
    TS_ASSIGN(const auto kase, caseOf(request));
    TS_ASSIGN(const KernelPackage package, KernelPackage::fromParts(request.body.at("kernel"), request.blobs[1]));
    TS_ASSIGN(const auto kernel, BenchKernel::load(kase, package));
    const int threads = wholeNumber(request.body, "threads", 1);
    TS_ASSIGN(const auto runner, runnerFor(threads));
    if (const std::string why = kernel->check(*runner); !why.empty())
        return wrongAnswer(why);
    TS_ASSIGN(Message reply, timed(request, kase, *kernel, *runner));
    if (!kernel->intact())
        return wrongAnswer("the kernel writes outside its buffers when it runs again");
    if (threads > 1)
        if (const std::string why = kernel->outputDifference(); !why.empty())
            return wrongAnswer("run again on several threads, " + why);
    return reply;
}

Result<Message> Verbs::compare(const Message& request) {
    const nlohmann::json& headers = request.body.at("kernels");
    if (headers.empty() || request.blobs.size() != headers.size() + 1)
        return internalError("a comparison without kernels");
    TS_ASSIGN(const auto kase, caseOf(request));
    TS_ASSIGN(const auto runner, runnerFor(wholeNumber(request.body, "threads", 1)));
    std::vector<std::unique_ptr<BenchKernel>> kernels;
    std::vector<std::function<void()>> calls;
    for (std::size_t i = 0; i < headers.size(); ++i) {
        TS_ASSIGN(const KernelPackage package, KernelPackage::fromParts(headers[i], request.blobs[i + 1]));
        TS_ASSIGN(kernels.emplace_back(), BenchKernel::load(kase, package));
        if (const std::string why = kernels[i]->check(*runner); !why.empty())
            return wrongAnswer(why);
        calls.push_back([kernel = kernels[i].get(), &runner] { kernel->run(*runner); });
    }
    constexpr std::size_t kRounds = 24;
    constexpr double kSampleMs = 0.3; // several calls of a short kernel, so that what the others left in the caches matters little
    const auto samples = timeInterleaved(calls, request.body.value("measure_ms", 60.0), kRounds, kSampleMs);
    Message reply{{{"status", "ok"}}, {}};
    for (const auto& series : samples)
        reply.blobs.push_back(samplesToBlob(series));
    return reply;
}

} // namespace

std::map<std::string, Handler> kernelVerbs() {
    const auto verbs = std::make_shared<Verbs>();
    return {
        {"build_kernel", [verbs](const Message& request) { return verbs->build(request); }},
        {"prepare_profile", [verbs](const Message& request) { return verbs->prepare(request); }},
        {"profile_kernel", [verbs](const Message& request) { return verbs->profile(request); }},
        {"compare_kernels", [verbs](const Message& request) { return verbs->compare(request); }},
        {"measure_machine", measureMachineVerb},
    };
}

} // namespace tunesmith
