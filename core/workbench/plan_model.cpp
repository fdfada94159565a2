// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/plan_model.h"

#include <set>

#include "core/base/hash.h"
#include "core/check/random_inputs.h"
#include "core/measure/machine.h"
#include "core/module/build.h"
#include "core/module/index_limits.h"
#include "core/schedule/records.h"
#include "core/workbench/layout_records.h"
#include "core/workbench/open_store.h"
#include "core/workbench/read_inputs.h"
#include "core/workbench/version.h"

namespace tunesmith {
namespace {

using nlohmann::json;

// The store's records for a target, and which of them were used.
class RecordFinder {
public:
    static Result<RecordFinder> open(const std::string& store, const Target& target, bool otherSpaces) {
        RecordFinder finder(target);
        finder.otherSpaces_ = otherSpaces;
        TS_ASSIGN(const std::optional<std::string> path, existingStore(store));
        if (!path)
            return finder; // nothing was tuned yet
        TS_ASSIGN(finder.store_, Store::open(*path, StoreMode::readOnly));
        TS_ASSIGN(const MachineRow machine, thisMachine());
        finder.machine_ = machine.key;
        return finder;
    }

    std::optional<ChosenConfig> operator()(const Workload& workload) {
        if (!store_)
            return std::nullopt;
        const auto known = otherSpaces_ ? bestOfSpaces(*store_, workload, target_, machine_)
                                        : bestConfig(*store_, workload.key, target_, machine_);
        if (!known.ok() || !*known)
            return std::nullopt;
        const SpaceKind space = otherSpaces_ ? (*known)->space : workload.space;
        remember((*known)->record, space);
        return ChosenConfig{(*known)->config, (*known)->ms, space};
    }

    Result<std::optional<LayoutPlan>> layouts(const Graph& prepared) const {
        return store_ ? storedLayouts(*store_, prepared, target_, machine_) : std::optional<LayoutPlan>();
    }

    const json& used() const { return used_; }
    std::size_t foreign() const { return foreign_; }

private:
    explicit RecordFinder(Target target) : target_(std::move(target)) {}

    void remember(const Record& record, SpaceKind space) {
        used_[record.workload.key] = {{"name", record.workload.name},
                                      {"space", spaceKindName(space)},
                                      {"config", record.trial.config},
                                      {"p5_ms", record.trial.p5Ms.value_or(0)},
                                      {"target", record.targetKey},
                                      {"machine", record.machineKey},
                                      {"trial", record.trial.id.value()},
                                      {"run", record.trial.run.value()}};
        if (record.machineKey != machine_) { // its schedule is a good guess here, its time says nothing
            used_[record.workload.key]["remeasure"] = true;
            ++foreign_;
        }
    }

    Target target_;
    std::shared_ptr<Store> store_;
    std::string machine_;
    bool otherSpaces_ = false;
    json used_ = json::object();
    std::size_t foreign_ = 0;
};

json describeGraph(const Model& model) {
    json bounds = json::array();
    std::ranges::transform(inputBounds(model.graph()), std::back_inserter(bounds), boundsToJson);
    return {{"name", model.name()},
            {"hash", model.hash()},
            {"nodes", model.info().nodes},
            {"operators", model.info().ops},
            {"input_bounds", std::move(bounds)}};
}

std::size_t tunedKernels(const ModulePlan& plan) {
    std::set<std::size_t> tuned;
    for (const PlanStep& step : plan.steps)
        if (step.expectedMs > 0)
            tuned.insert(step.kernel);
    return tuned.size();
}

Result<std::size_t> layoutDifferences(const Graph& prepared, const BuildOptions& options) {
    if (!options.layouts)
        return std::size_t(0);
    const std::vector<KernelGroup> groups = groupNodes(prepared);
    return differencesOf(chooseLayouts(prepared, groups, options.target), *options.layouts);
}

std::vector<ModelWorkload> allInSpace(std::vector<ModelWorkload> workloads, SpaceKind space) {
    for (ModelWorkload& entry : workloads)
        entry.workload = inSpace(std::move(entry.workload), space);
    return workloads;
}

} // namespace

Status requireComputable(const Model& model) {
    if (model.info().unsupported.empty())
        return {};
    return unsupportedError(model.name() + ": " + missingText(model.info().unsupported));
}

Result<std::optional<SpaceKind>> askedSpace(const std::string& name) {
    if (name.empty())
        return std::optional<SpaceKind>();
    TS_ASSIGN(const SpaceKind kind, spaceKindFromName(name));
    return std::optional(kind);
}

Result<std::vector<ModelWorkload>> workloadsOf(const Model& model, const Target& target, SpaceKind space) {
    TS_TRY(requireComputable(model));
    if (!model.info().openDimensions.empty())
        return inputError(model.name() + ": dimension '" + model.info().openDimensions.front() +
                          "' is open; give it a value with --dims");
    auto prepared = prepareGraph(model.graph());
    if (!prepared.ok())
        return prepared.error().within(model.name());
    auto workloads = modelWorkloads(*prepared, target);
    if (!workloads.ok())
        return workloads.error().within(model.name());
    return allInSpace(std::move(*workloads), space);
}

Result<std::vector<ModelWorkload>> plannedWorkloadsOf(const Model& model, const Target& target, const Store& store, SpaceKind space) {
    TS_ASSIGN(const Graph prepared, prepareGraph(model.graph()));
    TS_ASSIGN(const MachineRow machine, thisMachine());
    TS_ASSIGN(const std::optional<LayoutPlan> plan, storedLayouts(store, prepared, target, machine.key));
    if (!plan)
        return std::vector<ModelWorkload>();
    TS_ASSIGN(std::vector<ModelWorkload> workloads, modelWorkloads(prepared, target, plan));
    return allInSpace(std::move(workloads), space);
}

Result<PlannedModel> planModel(const Model& model, const PlanRequest& request) {
    TS_TRY(requireComputable(model));
    TS_ASSIGN(PlannedModel planned, planGraph(model.graph(), model.name(), request));
    planned.graph = describeGraph(model);
    return planned;
}

Result<PlannedModel> planGraph(const Graph& graph, const std::string& name, const PlanRequest& request) {
    const Work& work = request.work;
    work.report("preparing " + name);
    BuildOptions options;
    TS_ASSIGN(options.target, hostTarget(request.threads > 0 ? request.threads : coreCount()));
    auto prepared = prepareGraph(graph);
    if (!prepared.ok())
        return prepared.error().within(name);
    if (work.stop.stopRequested())
        return cancelledError();
    options.space = request.space.value_or(SpaceKind::tunesmith);
    std::optional<RecordFinder> records;
    if (!request.untuned) {
        TS_ASSIGN(records, RecordFinder::open(request.store, options.target, !request.space));
        options.chooseConfig = [&](const Workload& workload) { return (*records)(workload); };
        TS_ASSIGN(options.layouts, records->layouts(*prepared));
    }
    options.compileThreads = request.builders > 0 ? request.builders : coreCount();
    options.stop = work.stop;
    options.progress = [&](std::size_t done, std::size_t total) {
        work.report("compiling kernels", total ? static_cast<double>(done) / static_cast<double>(total) : -1,
                    std::to_string(done) + " of " + std::to_string(total));
    };
    if (request.layouts)
        options.layouts = request.layouts;
    PlannedModel planned;
    TS_ASSIGN(planned.layouts, layoutDifferences(*prepared, options));
    auto plan = buildModule(*prepared, options);
    if (!plan.ok())
        return plan.error().isCancelled() ? plan.error() : plan.error().within(name);
    planned.plan = std::move(plan).value();
    const std::vector<IndexRange> limits = indexLimits(graph);
    for (std::size_t i = 0; i < planned.plan.inputs.size(); ++i)
        planned.plan.inputs[i].indices = limits.at(i);
    planned.prepared = std::move(prepared).value();
    planned.plan.name = name;
    planned.graph = {{"name", name}, {"hash", hexHash(graph.hash())}, {"nodes", graph.nodeCount()}};
    planned.records = records ? records->used() : json::object();
    planned.foreign = records ? records->foreign() : 0;
    planned.tuned = tunedKernels(planned.plan);
    return planned;
}

Result<ExportSummary> exportPlanned(const PlannedModel& planned, const std::filesystem::path& folder, ExportChoice choice) {
    TS_ASSIGN(const MachineRow machine, thisMachine());
    ExportInfo info;
    info.graph = planned.graph;
    info.records = planned.records;
    info.machine = {
        {"key", machine.key}, {"cpu", machine.cpu}, {"isa", machine.isa}, {"cores", machine.cores}};
    info.check = std::move(choice.check);
    info.prefix = std::move(choice.prefix);
    info.probes = choice.probes;
    info.version = "tunesmith " + versionText();
    return exportModule(planned.plan, folder, info);
}

} // namespace tunesmith
