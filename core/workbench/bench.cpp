// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/bench.h"

#include <numeric>

#include "core/module/worker_verbs.h"
#include "core/stats/quantiles.h"
#include "core/stats/verdict.h"
#include "core/workbench/family.h"
#include "core/workbench/known_modules.h"
#include "core/workbench/machine.h"
#include "core/workbench/measure_module.h"
#include "core/workbench/read_inputs.h"

namespace tunesmith {
namespace {

constexpr double kBlockSeconds = 0.01; // of one turn: shorter than most slow episodes of the machine
constexpr int kProfiledRuns = 11;

double speed(std::int64_t flops, double seconds) {
    return seconds > 0 ? static_cast<double>(flops) / seconds * 1e-9 : 0;
}

double fraction(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

std::vector<LayerTime> layersOf(const ModuleInfo& module, const std::vector<double>& steps,
                                double peakGflops) {
    std::vector<LayerTime> layers;
    const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
    for (std::size_t i = 0; i < std::min(steps.size(), module.steps.size()); ++i) {
        const ModuleStep& step = module.steps[i];
        const double gflops = speed(step.flops, steps[i]);
        layers.push_back({step.name, steps[i] * 1e3, fraction(steps[i], sum), gflops,
                          fraction(gflops, peakGflops), step.expectedMs, step.config});
    }
    return layers;
}

Result<std::unique_ptr<WorkerClient>> workerFor(const Subject& a, const Subject& b) {
    return startModuleWorker(a.foreign.empty() ? b.foreign : a.foreign, {a.folder, b.folder});
}

Result<ModuleTiming> measureOne(const Subject& subject, const BenchRequest& request) {
    TS_ASSIGN(const auto worker, startModuleWorker(subject.foreign, {subject.folder}));
    TS_ASSIGN(const MeasuringLock lock, MeasuringLock::open());
    TS_ASSIGN(const MeasuringKey key, lock.acquire(request.work.stop));
    request.work.report("measuring " + subject.name);
    return timeModule(*worker, {subject.folder, subject.threads, subject.inputs}, {0, request.seconds, 3},
                      request.layers ? kProfiledRuns : 0, kPatience, request.work.stop);
}

void nameForeign(const Subject& subject, BenchResult& result) {
    if (!subject.foreign.empty())
        result.foreign.push_back(subject.foreign + ". Every time that is measured with it is its claim, for its code runs in the process that measures");
}

Result<Subject> subjectAt(const std::filesystem::path& folder, const InputChoice& inputs, int threads) {
    Subject subject;
    subject.folder = folder;
    TS_ASSIGN(subject.module, readModuleInfo(folder));
    subject.name = subject.module.name;
    subject.threads = threads > 0 ? threads : subject.module.target.threads;
    TS_ASSIGN(subject.inputs, readInputs(wantedInputs(subject.module), inputs));
    return subject;
}

// One that lies somewhere.
Result<Subject> exportedSubject(const std::filesystem::path& folder, const InputChoice& inputs, const BenchRequest& request) {
    TS_ASSIGN(Subject subject, subjectAt(folder, inputs, request.threads));
    TS_ASSIGN(subject.foreign, foreignOrigin(subject.module, request.trust));
    return subject;
}

Status compareWith(const Subject& subject, const BenchRequest& request, const MachineReport& machine,
                   BenchResult& result) {
    TS_ASSIGN(const Subject other, openSubject(request.other, request));
    nameForeign(other, result);
    request.work.report("measuring " + subject.name + " and " + other.name + " in turns");
    TS_ASSIGN(const PairSamples pair, measurePair(subject, other, request.seconds, request.work.stop));
    result.latency = latencyOf(pair.a, subject, machine.peakGflops(subject.threads));
    Comparison comparison;
    comparison.other = latencyOf(pair.b, other, machine.peakGflops(other.threads));
    const bool same = subject.name == other.name;
    const VerdictOptions names{0.01, same ? request.other : other.name,
                               same ? request.subject : subject.name};
    TS_ASSIGN(const Verdict verdict, judgePaired(pair.b, pair.a, {}, names));
    comparison.ratio = verdict.ratio;
    comparison.ratioLow = verdict.ratioLow;
    comparison.ratioHigh = verdict.ratioHigh;
    comparison.verdict = verdictName(verdict.kind);
    comparison.text = verdict.text;
    result.comparison = std::move(comparison);
    return {};
}

} // namespace

Result<Subject> compiledSubject(const Model& model, const PlanRequest& plan, const InputChoice& inputs) {
    TS_ASSIGN(const PlannedModel planned, planModel(model, plan));
    TS_ASSIGN(TemporaryFolder folder, TemporaryFolder::create());
    auto owned = std::make_shared<TemporaryFolder>(std::move(folder));
    const auto module = exportPlanned(planned, owned->path() / "module");
    if (!module.ok())
        return withRemedy(module.error(), *owned);
    TS_ASSIGN(Subject subject, subjectAt(module->folder, inputs, plan.threads));
    subject.owned = std::move(owned);
    subject.layouts = planned.layouts;
    return subject;
}

Result<Subject> openSubject(const std::string& what, const BenchRequest& request) {
    if (isModuleFolder(what))
        return exportedSubject(what, request.inputs, request);
    if (isModuleFamily(what)) {
        const CompileRequest compiling{{}, request.store, request.threads, 0, request.untuned,
                                       1,  request.work,  request.space};
        TS_ASSIGN(const FamilyChoice choice,
                  chooseMember(what, request.dimensions, request.inputs, compiling));
        const bool padded =
            choice.how == FamilyChoice::How::padded; // then files do not fit; values do not matter
        return exportedSubject(choice.folder, padded ? InputChoice{{}, request.inputs.seed} : request.inputs, request);
    }
    TS_ASSIGN(const Model model, openModel(what, request.dimensions, request.work));
    TS_ASSIGN(const std::optional<SpaceKind> space, askedSpace(request.space));
    return compiledSubject(model, {request.store, request.threads, 0, request.untuned, request.work, space},
                           request.inputs);
}

Result<PairSamples> measurePair(const Subject& a, const Subject& b, double seconds, const StopToken& stop) {
    TS_ASSIGN(const auto worker, workerFor(a, b));
    TS_ASSIGN(const MeasuringLock lock, MeasuringLock::open());
    TS_ASSIGN(const MeasuringKey key, lock.acquire(stop));
    TS_ASSIGN(PairTiming timing,
              timeModulePair(*worker, {a.folder, a.threads, a.inputs}, {b.folder, b.threads, b.inputs},
                             seconds, kBlockSeconds, kPatience, stop));
    return PairSamples{std::move(timing.a), std::move(timing.b)};
}

Result<JudgedPair> judgeSubjects(const Subject& a, const Subject& b, double seconds, const StopToken& stop) {
    constexpr std::size_t kEnough = 24; // turns
    JudgedPair judged;
    do {
        TS_ASSIGN(const PairSamples more, measurePair(a, b, seconds, stop));
        judged.samples.a.insert(judged.samples.a.end(), more.a.begin(), more.a.end());
        judged.samples.b.insert(judged.samples.b.end(), more.b.begin(), more.b.end());
        TS_ASSIGN(judged.verdict, judgePaired(judged.samples.a, judged.samples.b));
    } while (judged.verdict.kind == VerdictKind::cannotTell && judged.samples.a.size() < kEnough);
    return judged;
}

Result<PairSteps> measureLayers(const Subject& a, const Subject& b, double seconds, const StopToken& stop) {
    TS_ASSIGN(const auto worker, workerFor(a, b));
    TS_ASSIGN(const MeasuringLock lock, MeasuringLock::open());
    TS_ASSIGN(const MeasuringKey key, lock.acquire(stop));
    return timePairSteps(*worker, {a.folder, a.threads, a.inputs}, {b.folder, b.threads, b.inputs}, seconds, kPatience, stop);
}

Latency latencyOf(const std::vector<double>& seconds, const Subject& subject, double peakGflops) {
    Latency latency;
    latency.runs = seconds.size();
    latency.threads = subject.threads;
    if (const auto quantiles = quantilesOf(seconds)) {
        latency.p5Ms = quantiles->p5 * 1e3;
        latency.medianMs = quantiles->median * 1e3;
        latency.p95Ms = quantiles->p95 * 1e3;
        latency.gflops = speed(subject.module.flops(), quantiles->p5);
        latency.peakFraction = fraction(latency.gflops, peakGflops);
    }
    return latency;
}

Result<BenchResult> bench(const BenchRequest& request) {
    TS_ASSIGN(const Subject subject, openSubject(request.subject, request));
    TS_ASSIGN(const MachineReport machine, machineReport(request.store, false, request.work));
    const double peak = machine.peakGflops(subject.threads);
    BenchResult result;
    result.name = subject.name;
    nameForeign(subject, result);
    if (!request.other.empty()) {
        TS_TRY(compareWith(subject, request, machine, result));
        return result;
    }
    TS_ASSIGN(const ModuleTiming timing, measureOne(subject, request));
    result.latency = latencyOf(timing.samples, subject, peak);
    result.latency.runs = timing.runs;
    result.layers = layersOf(subject.module, timing.steps, peak);
    return result;
}

} // namespace tunesmith
