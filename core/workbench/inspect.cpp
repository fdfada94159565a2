// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/inspect.h"

#include <algorithm>

#include "core/codegen/listing.h"
#include "core/measure/machine.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/records.h"
#include "core/workbench/open_store.h"
#include "core/workbench/plan_model.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

bool answersTo(const ModelWorkload& entry, const std::string& asked) {
    const auto begins = [&](const std::string& name) { return !asked.empty() && name.starts_with(asked); };
    return begins(entry.workload.name) || std::ranges::any_of(entry.nodes, begins);
}

// A key says which space is meant; otherwise `space` does.
Result<Workload> findWorkload(const std::vector<ModelWorkload>& workloads, const Model& model, const std::string& asked, SpaceKind space) {
    for (const ModelWorkload& entry : workloads)
        for (const SpaceKindEntry& kind : spaceKindTable())
            if (Workload there = inSpace(entry.workload, kind.kind); there.key == asked)
                return there;
    const auto found = std::ranges::find_if(workloads, [&](const auto& entry) { return answersTo(entry, asked); });
    if (found == workloads.end())
        return inputError("'" + model.name() + "' has no workload '" + asked + "'; the command tasks lists them");
    return inSpace(found->workload, space);
}

// What a plan of the store makes of the model comes first: that is what is compiled.
Result<std::vector<ModelWorkload>> allWorkloads(const Model& model, const InspectRequest& request, const Target& target) {
    TS_ASSIGN(std::vector<ModelWorkload> all, workloadsOf(model, target, SpaceKind::tunesmith));
    TS_ASSIGN(const std::optional<std::string> path, existingStore(request.store));
    if (request.untuned || !path)
        return all;
    TS_ASSIGN(const auto store, openStore(*path, StoreMode::readOnly));
    TS_ASSIGN(std::vector<ModelWorkload> planned, plannedWorkloadsOf(model, target, *store, SpaceKind::tunesmith));
    std::ranges::move(all, std::back_inserter(planned));
    return planned;
}

std::string layoutsText(const Workload& workload) {
    std::string text;
    for (std::size_t i = 0; i < workload.inputLayouts.size(); ++i)
        if (!workload.constantInputs[i])
            text += (text.empty() ? "" : ", ") + workload.inputLayouts[i].text();
    text += " ->";
    for (const loops::Layout& layout : workload.outputLayouts)
        text += " " + layout.text();
    return text;
}

struct Choice {
    Config config;
    std::optional<double> recordMs;
};

Result<Choice> chooseConfig(const InspectRequest& request, const Workload& workload, const ScheduleSpace& space, const Target& target) {
    if (!request.config.empty()) {
        TS_ASSIGN(const Config config, Config::parse(request.config));
        if (const Status valid = space.space().validate(config); !valid.ok())
            return valid.error().within("config '" + request.config + "' of '" + workload.name + "'");
        return Choice{config, {}};
    }
    if (!request.untuned) {
        TS_ASSIGN(const std::string path, storePath(request.store));
        std::error_code error;
        if (std::filesystem::exists(path, error)) {
            TS_ASSIGN(const auto store, openStore(path, StoreMode::readOnly));
            TS_ASSIGN(const MachineRow machine, thisMachine());
            TS_ASSIGN(const auto best, bestConfig(*store, workload.key, target, machine.key));
            if (best && space.space().validate(best->config).ok())
                return Choice{best->config, best->ms};
        }
    }
    return Choice{space.defaultConfig(), {}};
}

// In a worker process, like every candidate.
Result<Message> buildWithText(const Workload& workload, const Target& target, const Config& config, const StopToken& stop) {
    constexpr std::chrono::seconds kLimit{120};
    TS_ASSIGN(const auto worker, startWorker());
    Message request = workloadRequest("build_kernel", workload.key, workload.serialize(), target);
    request.body["config"] = config.text();
    request.body["text"] = true;
    const CallReport report = worker->exchange(request, kLimit, stop);
    if (!report.replied())
        return report.error.within("kernel '" + workload.name + "'");
    if (report.reply.blobs.size() != 4)
        return internalError("kernel '" + workload.name + "': the worker sent no listings");
    return report.reply;
}

} // namespace

Result<KernelInspection> inspectKernel(const Model& model, const InspectRequest& request) {
    TS_ASSIGN(const Target target, hostTarget(request.threads > 0 ? request.threads : coreCount()));
    TS_ASSIGN(const SpaceKind kind, spaceKindFromName(request.space));
    TS_ASSIGN(const std::vector<ModelWorkload> workloads, allWorkloads(model, request, target));
    TS_ASSIGN(const Workload workload, findWorkload(workloads, model, request.workload, kind));
    TS_ASSIGN(const ScheduleSpace space, ScheduleSpace::make(workload, target));
    TS_ASSIGN(const Choice choice, chooseConfig(request, workload, space, target));
    request.work.report("building " + workload.name);
    TS_ASSIGN(const Message built, buildWithText(workload, target, choice.config, request.work.stop));
    KernelInspection made;
    made.key = workload.key;
    made.name = workload.name;
    made.config = choice.config.text();
    made.schedule = space.space().describe(choice.config);
    made.recordMs = choice.recordMs;
    made.layouts = layoutsText(workload);
    made.loops = blobText(built.blobs[1]);
    made.llvmIr = blobText(built.blobs[2]);
    made.assembly = blobText(built.blobs[3]);
    if (const auto loop = hottestLoop(made.assembly))
        made.hotLoop = HotLoop{loop->firstLine, loop->lines, loop->instructions, loop->multiplyAdds, loop->stackVectors};
    return made;
}

} // namespace tunesmith
