// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/worker_verbs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>

#include "core/base/memory_budget.h"
#include "core/measure/memory.h"
#include "core/measure/tensor_codec.h"
#include "core/measure/timing.h"
#include "core/process/json_number.h"
#include "core/process/path_json.h"

namespace tunesmith {
namespace {

using nlohmann::json;

constexpr std::size_t kKeptModules = 4;
constexpr std::size_t kEnoughRounds = 4000; // of step times: of quick modules there would be many more in the same time

// The last few modules of this worker. A folder that was exported anew is loaded anew, after every older copy
// is gone: the dynamic loader would answer the same path with the library that it has.
class ModuleCache {
public:
    Result<LoadedModule*> get(const std::filesystem::path& folder, int threads) {
        TS_ASSIGN(const ModuleInfo info, readModuleInfo(folder));
        const std::string identity = info.document.at("files").dump();
        entries_.remove_if(
            [&](const Entry& entry) { return entry.folder == folder && entry.identity != identity; });
        const auto same = [&](const Entry& entry) {
            return entry.folder == folder && entry.threads == threads;
        };
        const auto known = std::find_if(entries_.begin(), entries_.end(), same);
        if (known != entries_.end()) {
            entries_.splice(entries_.begin(), entries_, known);
            return entries_.front().module.get();
        }
        TS_ASSIGN(auto module, LoadedModule::open(folder, threads));
        entries_.push_front({folder, threads, identity, std::move(module)});
        if (entries_.size() > kKeptModules)
            entries_.pop_back();
        return entries_.front().module.get();
    }

private:
    struct Entry {
        std::filesystem::path folder;
        int threads;
        std::string identity; // sizes and hashes of its files
        std::unique_ptr<LoadedModule> module;
    };
    std::list<Entry> entries_; // the last used first
};

// Beside the tensors there are their copies in the message, and in the worker both again.
Status checkInputs(const Message& message, const std::vector<Tensor>& inputs) {
    std::size_t bytes = 0;
    for (const auto& blob : message.blobs) // of the other module that is timed
        bytes += blob.size();
    for (const Tensor& input : inputs)
        bytes += input.byteCount();
    return checkValueMemory("what a worker is sent, and then holds,", 3 * static_cast<std::int64_t>(bytes));
}

Result<json> callToJson(Message& message, const ModuleCall& call) {
    std::error_code error;
    const auto folder =
        std::filesystem::weakly_canonical(call.folder, error); // the worker's current folder may differ
    json body{{"folder", pathToJson(error ? call.folder : folder)}, {"threads", call.threads}};
    if (!call.inputs.empty()) {
        TS_TRY(checkInputs(message, call.inputs));
        TS_ASSIGN(body["inputs"], putTensors(message, call.inputs));
    }
    return body;
}

Result<LoadedModule*> loaded(ModuleCache& cache, const json& call) {
    TS_ASSIGN(const std::filesystem::path folder, pathFromJson(call.at("folder")));
    return cache.get(folder, call.at("threads").get<int>());
}

Result<LoadedModule*> prepare(ModuleCache& cache, const Message& request, const json& call) {
    TS_ASSIGN(LoadedModule * module, loaded(cache, call));
    if (!call.contains("inputs")) {
        TS_TRY(module->setAnyInputs());
        return module;
    }
    TS_ASSIGN(const std::vector<Tensor> inputs, takeTensors(request, call.at("inputs")));
    TS_TRY(module->setInputs(inputs));
    return module;
}

Result<Message> handleRun(ModuleCache& cache, const Message& request) {
    TS_ASSIGN(LoadedModule * module, prepare(cache, request, request.body.at("module")));
    TS_TRY(module->run());
    Message reply;
    TS_ASSIGN(reply.body["outputs"], putTensors(reply, module->outputs()));
    return reply;
}

Result<json> putProbes(Message& message, const std::vector<LoadedModule::Probe>& probes) {
    json list = json::array();
    for (const LoadedModule::Probe& probe : probes) {
        TS_ASSIGN(json flat, putTensor(message, probe.flat));
        list.push_back({{"buffer", probe.buffer}, {"flat", std::move(flat)}});
    }
    return list;
}

Result<std::vector<LoadedModule::Probe>> takeProbes(const Message& message, const json& list) {
    std::vector<LoadedModule::Probe> probes;
    for (const json& entry : list) {
        TS_ASSIGN(Tensor flat, takeTensor(message, entry.at("flat")));
        probes.push_back({entry.at("buffer").get<std::int64_t>(), std::move(flat)});
    }
    return probes;
}

std::vector<LoadedModule::Probe> emptyProbes(const json& list) {
    std::vector<LoadedModule::Probe> probes;
    for (const json& entry : list)
        probes.push_back({entry.at("buffer"), Tensor::zeros(dtypeFromName(entry.at("type").get<std::string>()), {entry.at("count").get<std::int64_t>()})});
    return probes;
}

Result<Message> handleProbe(ModuleCache& cache, const Message& request) {
    const json& call = request.body.at("module");
    TS_ASSIGN(LoadedModule * module, loaded(cache, call));
    TS_ASSIGN(const std::vector<LoadedModule::Probe> inputs, takeProbes(request, request.body.at("inputs")));
    std::vector<LoadedModule::Probe> outputs = emptyProbes(request.body.at("outputs"));
    TS_TRY(module->probe(request.body.at("step"), inputs, outputs));
    Message reply;
    std::vector<Tensor> flat;
    for (LoadedModule::Probe& output : outputs)
        flat.push_back(std::move(output.flat));
    TS_ASSIGN(reply.body["outputs"], putTensors(reply, flat));
    return reply;
}

json toJson(const std::vector<LoadedModule::TracedBuffer>& buffers) {
    json list = json::array();
    for (const LoadedModule::TracedBuffer& buffer : buffers)
        list.push_back({buffer.buffer, buffer.bytes, buffer.value});
    return list;
}

std::vector<LoadedModule::TracedBuffer> tracedBuffers(const json& list) {
    std::vector<LoadedModule::TracedBuffer> buffers;
    for (const json& entry : list)
        buffers.push_back({entry.at(0), entry.at(1), entry.at(2)});
    return buffers;
}

Result<Message> handleTrace(ModuleCache& cache, const Message& request) {
    TS_ASSIGN(LoadedModule * module, prepare(cache, request, request.body.at("module")));
    ModuleTrace trace;
    for (const json& step : request.body.at("steps"))
        trace.push_back({tracedBuffers(step.at("inputs")), tracedBuffers(step.at("outputs"))});
    TS_ASSIGN(const LoadedModule::Clobbered found, module->trace(trace));
    return Message{{{"step", found.step}, {"value", found.value}}, {}};
}

Result<Message> handleTime(ModuleCache& cache, const Message& request) {
    TS_ASSIGN(LoadedModule * module, prepare(cache, request, request.body.at("module")));
    TimingBudget budget;
    budget.runs = request.body.at("runs");
    budget.seconds = request.body.at("seconds");
    budget.warmUp = request.body.at("warm_up");
    const int profiled = request.body.at("profiled_runs");
    TS_ASSIGN(const ThinnedSamples samples, module->time(budget));
    json steps = json::array();
    if (profiled > 0) {
        TS_ASSIGN(steps, module->timeSteps(profiled));
    }
    return Message{{{"samples", samples.values()}, {"runs", samples.count()}, {"steps", steps}}, {}};
}

// How many runs fill a block.
Result<int> runsPerBlock(LoadedModule& module, double blockSeconds) {
    TimingBudget trial;
    trial.runs = 3;
    TS_ASSIGN(const ThinnedSamples samples, module.time(trial));
    const double fastest = std::max(std::ranges::min(samples.values()), 1e-9);
    return static_cast<int>(std::clamp(std::round(blockSeconds / fastest), 1.0, 1e6));
}

Status appendBlock(LoadedModule& module, int runs, std::vector<double>& samples) {
    TimingBudget budget;
    budget.runs = runs;
    budget.warmUp = 0;
    TS_ASSIGN(const ThinnedSamples times, module.time(budget));
    double sum = 0;
    for (const double time : times.values())
        sum += time;
    samples.push_back(sum / static_cast<double>(times.values().size()));
    return {};
}

Result<Message> handleTimePair(ModuleCache& cache, const Message& request) {
    TS_ASSIGN(LoadedModule * a, prepare(cache, request, request.body.at("a")));
    TS_ASSIGN(LoadedModule * b, prepare(cache, request, request.body.at("b")));
    const double blockSeconds = request.body.at("block_seconds"), seconds = request.body.at("seconds");
    TS_ASSIGN(const int runsA, runsPerBlock(*a, blockSeconds));
    TS_ASSIGN(const int runsB, runsPerBlock(*b, blockSeconds));
    std::vector<double> samplesA, samplesB;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    do {
        const bool aFirst = samplesA.size() % 2 == 0;
        if (aFirst)
            TS_TRY(appendBlock(*a, runsA, samplesA));
        TS_TRY(appendBlock(*b, runsB, samplesB));
        if (!aFirst)
            TS_TRY(appendBlock(*a, runsA, samplesA));
    } while (std::chrono::steady_clock::now() < end);
    return Message{{{"a", samplesA}, {"b", samplesB}}, {}};
}

// One run to fill the caches with its own, one that counts.
Status appendSteps(LoadedModule& module, std::vector<std::vector<double>>& rounds) {
    TS_TRY(module.run());
    TS_ASSIGN(std::vector<double> steps, module.timeStepsOnce());
    rounds.push_back(std::move(steps));
    return {};
}

Result<Message> handlePairSteps(ModuleCache& cache, const Message& request) {
    TS_ASSIGN(LoadedModule * a, prepare(cache, request, request.body.at("a")));
    TS_ASSIGN(LoadedModule * b, prepare(cache, request, request.body.at("b")));
    constexpr std::size_t kRounds = 20;          // that a comparison needs, also where they take longer
    constexpr std::size_t kMostTimes = 1 << 18;  // in an answer
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(request.body.at("seconds").get<double>());
    PairSteps steps;
    do {
        const bool aFirst = steps.a.size() % 2 == 0;
        if (aFirst)
            TS_TRY(appendSteps(*a, steps.a));
        TS_TRY(appendSteps(*b, steps.b));
        if (!aFirst)
            TS_TRY(appendSteps(*a, steps.a));
        if (steps.a.size() >= kEnoughRounds || steps.a.size() * steps.a.back().size() >= kMostTimes)
            break;
    } while (std::chrono::steady_clock::now() < end || steps.a.size() < kRounds);
    return Message{{{"a", steps.a}, {"b", steps.b}}, {}};
}

Handler withCache(std::shared_ptr<ModuleCache> cache,
                  Result<Message> (*handle)(ModuleCache&, const Message&)) {
    return [cache = std::move(cache), handle](const Message& request) { return handle(*cache, request); };
}

// Bytes that an answer with these tensors may have. They lie in memory four times over at the most, here and in the worker: as tensors and as a message.
std::size_t mostWith(std::uint64_t tensors) {
    const std::uint64_t fit = (static_cast<std::uint64_t>(usableMemoryMb()) << 20) / 4;
    return MessageLimits::answer + std::min(tensors, fit);
}

Result<std::size_t> mostOfRun(const std::filesystem::path& folder) {
    TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
    std::uint64_t sum = 0;
    for (const ModuleTensor& output : module.outputs)
        if (__builtin_add_overflow(sum, static_cast<std::uint64_t>(output.bytes().value_or(std::numeric_limits<std::int64_t>::max())), &sum))
            sum = std::numeric_limits<std::uint64_t>::max();
    return mostWith(sum);
}

// A reply without the expected parts comes from a worker whose memory is damaged.
template <class T> Result<T> part(const Message& reply, const char* name) {
    try {
        if constexpr (std::integral<T>)
            return wholeNumber<T>(reply.body.at(name));
        else
            return reply.body.at(name).get<T>();
    } catch (const json::exception&) {
        return internalError(std::string("the worker's answer lacks '") + name + "'");
    }
}

class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Foreign code may answer any times. These are refused: none, less than a clock can tell, and together more than went by until the answer came.
bool fit(const std::vector<double>& times, double passed, double least) {
    double sum = 0;
    return std::ranges::all_of(times, [&](double time) { return time >= least && (sum += time) <= passed; });
}

bool isPossible(const ModuleTiming& timing, const TimingBudget& budget, double passed) {
    const std::size_t kept = timing.samples.size();
    const bool counted = kept > 0 && kept <= std::min(timing.runs, ThinnedSamples::kMost) && static_cast<double>(timing.runs) * kLeastCallSeconds <= passed;
    const bool asked = budget.runs <= 0 || timing.runs == static_cast<std::size_t>(budget.runs) || (budget.seconds > 0 && timing.runs < static_cast<std::size_t>(budget.runs));
    return counted && asked && fit(timing.samples, passed, kLeastCallSeconds) && fit(timing.steps, passed, 0);
}

// Blocks are about as long as asked; nothing makes them a hundredth of that.
bool isPossible(const PairTiming& timing, double seconds, double blockSeconds, double passed) {
    const bool counted = !timing.a.empty() && timing.a.size() == timing.b.size() && static_cast<double>(timing.a.size()) <= 2 + 100 * seconds / blockSeconds;
    return counted && fit(timing.a, passed, kLeastCallSeconds) && fit(timing.b, passed, kLeastCallSeconds);
}

bool isPossible(const std::vector<std::vector<double>>& rounds, std::size_t steps, double passed) {
    return !rounds.empty() && rounds.size() <= kEnoughRounds && std::ranges::all_of(rounds, [&](const auto& round) { return round.size() == steps && fit(round, passed, 0); });
}

Error impossibleTimes(const std::filesystem::path& folder) {
    return internalError("the worker answered with times that " + folder.string() + " cannot have; measure again, or ask where the module comes from");
}

Result<std::size_t> stepsOf(const std::filesystem::path& folder) {
    TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
    return module.steps.size();
}

} // namespace

std::map<std::string, Handler> moduleVerbs() {
    const auto cache = std::make_shared<ModuleCache>();
    return {{"run_module", withCache(cache, handleRun)},
            {"probe_step", withCache(cache, handleProbe)},
            {"trace_module", withCache(cache, handleTrace)},
            {"time_module", withCache(cache, handleTime)},
            {"time_module_pair", withCache(cache, handleTimePair)},
            {"time_pair_steps", withCache(cache, handlePairSteps)}};
}

Result<std::vector<Tensor>> runModule(WorkerClient& worker, const ModuleCall& call, Timeout timeout,
                                      const StopToken& stop) {
    Message request{{{"verb", "run_module"}}, {}};
    TS_ASSIGN(request.body["module"], callToJson(request, call));
    TS_ASSIGN(const std::size_t most, mostOfRun(call.folder));
    TS_ASSIGN(const Message reply, worker.call(request, timeout, stop, most));
    TS_ASSIGN(const json outputs, part<json>(reply, "outputs"));
    return takeTensors(reply, outputs);
}

Result<std::vector<Tensor>> probeStep(WorkerClient& worker, const ModuleCall& call, const StepProbe& probe, Timeout timeout,
                                      const StopToken& stop) {
    Message request{{{"verb", "probe_step"}, {"step", probe.step}, {"outputs", json::array()}}, {}};
    TS_ASSIGN(request.body["module"], callToJson(request, {call.folder, call.threads, {}}));
    TS_ASSIGN(request.body["inputs"], putProbes(request, probe.inputs));
    std::uint64_t bytes = 0;
    for (const LoadedModule::Probe& output : probe.outputs) {
        request.body["outputs"].push_back({{"buffer", output.buffer}, {"type", dtypeName(output.flat.type())}, {"count", output.flat.count()}});
        bytes += output.flat.byteCount();
    }
    TS_ASSIGN(const Message reply, worker.call(request, timeout, stop, mostWith(bytes)));
    TS_ASSIGN(const json list, part<json>(reply, "outputs"));
    TS_ASSIGN(std::vector<Tensor> outputs, takeTensors(reply, list));
    const auto asked = [](const Tensor& tensor, const LoadedModule::Probe& output) { return tensor.type() == output.flat.type() && tensor.count() == output.flat.count(); };
    if (!std::ranges::equal(outputs, probe.outputs, asked))
        return internalError("the worker answered with other outputs than step " + std::to_string(probe.step) + " of " + call.folder.string() + " has");
    return outputs;
}

Result<LoadedModule::Clobbered> traceModule(WorkerClient& worker, const ModuleCall& call, const ModuleTrace& trace, Timeout timeout,
                                            const StopToken& stop) {
    Message request{{{"verb", "trace_module"}, {"steps", json::array()}}, {}};
    TS_ASSIGN(request.body["module"], callToJson(request, call));
    for (const LoadedModule::TracedStep& step : trace)
        request.body["steps"].push_back({{"inputs", toJson(step.inputs)}, {"outputs", toJson(step.outputs)}});
    TS_ASSIGN(const Message reply, worker.call(request, timeout, stop));
    LoadedModule::Clobbered found;
    TS_ASSIGN(found.step, part<std::int64_t>(reply, "step"));
    TS_ASSIGN(found.value, part<std::string>(reply, "value"));
    if (found.step >= static_cast<std::int64_t>(trace.size()))
        return internalError("the worker told of step " + std::to_string(found.step) + ", and " + call.folder.string() + " has " + std::to_string(trace.size()));
    return found;
}

Result<ModuleTiming> timeModule(WorkerClient& worker, const ModuleCall& call, const TimingBudget& budget,
                                int profiledRuns, Timeout timeout, const StopToken& stop) {
    Message request{{{"verb", "time_module"},
                     {"runs", budget.runs},
                     {"seconds", budget.seconds},
                     {"warm_up", budget.warmUp},
                     {"profiled_runs", profiledRuns}},
                    {}};
    TS_ASSIGN(request.body["module"], callToJson(request, call));
    TS_ASSIGN(const std::size_t steps, stepsOf(call.folder));
    const Stopwatch watch;
    TS_ASSIGN(const Message reply, worker.call(request, timeout, stop));
    ModuleTiming timing;
    TS_ASSIGN(timing.samples, part<std::vector<double>>(reply, "samples"));
    TS_ASSIGN(timing.runs, part<std::size_t>(reply, "runs"));
    TS_ASSIGN(timing.steps, part<std::vector<double>>(reply, "steps"));
    if (timing.steps.size() != (profiledRuns > 0 ? steps : 0) || !isPossible(timing, budget, watch.seconds()))
        return impossibleTimes(call.folder);
    return timing;
}

Result<PairTiming> timeModulePair(WorkerClient& worker, const ModuleCall& a, const ModuleCall& b,
                                  double seconds, double blockSeconds, Timeout timeout,
                                  const StopToken& stop) {
    Message request{{{"verb", "time_module_pair"}, {"seconds", seconds}, {"block_seconds", blockSeconds}},
                    {}};
    TS_ASSIGN(request.body["a"], callToJson(request, a));
    TS_ASSIGN(request.body["b"], callToJson(request, b));
    const Stopwatch watch;
    TS_ASSIGN(const Message reply, worker.call(request, timeout, stop));
    PairTiming timing;
    TS_ASSIGN(timing.a, part<std::vector<double>>(reply, "a"));
    TS_ASSIGN(timing.b, part<std::vector<double>>(reply, "b"));
    if (!isPossible(timing, seconds, blockSeconds, watch.seconds()))
        return impossibleTimes(a.folder.string() + " and " + b.folder.string());
    return timing;
}

Result<PairSteps> timePairSteps(WorkerClient& worker, const ModuleCall& a, const ModuleCall& b, double seconds, Timeout timeout,
                                const StopToken& stop) {
    Message request{{{"verb", "time_pair_steps"}, {"seconds", seconds}}, {}};
    TS_ASSIGN(request.body["a"], callToJson(request, a));
    TS_ASSIGN(request.body["b"], callToJson(request, b));
    TS_ASSIGN(const std::size_t stepsA, stepsOf(a.folder));
    TS_ASSIGN(const std::size_t stepsB, stepsOf(b.folder));
    const Stopwatch watch;
    TS_ASSIGN(const Message reply, worker.call(request, timeout, stop));
    using Rounds = std::vector<std::vector<double>>;
    PairSteps steps;
    TS_ASSIGN(steps.a, part<Rounds>(reply, "a"));
    TS_ASSIGN(steps.b, part<Rounds>(reply, "b"));
    if (steps.a.size() != steps.b.size() || !isPossible(steps.a, stepsA, watch.seconds()) || !isPossible(steps.b, stepsB, watch.seconds()))
        return impossibleTimes(a.folder.string() + " and " + b.folder.string());
    return steps;
}

} // namespace tunesmith
