// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tasks.h"

#include "core/measure/machine.h"
#include "core/workbench/plan_model.h"

namespace tunesmith {

Result<std::vector<TuningTask>> tuningTasks(const Model& model, int threads, const std::string& space) {
    TS_ASSIGN(const SpaceKind kind, spaceKindFromName(space));
    TS_ASSIGN(const Target target, hostTarget(threads > 0 ? threads : coreCount()));
    TS_ASSIGN(const std::vector<ModelWorkload> workloads, workloadsOf(model, target, kind));
    return describeTasks(workloads, target);
}

Result<std::vector<TuningTask>> describeTasks(const std::vector<ModelWorkload>& workloads, const Target& target) {
    std::vector<TuningTask> tasks;
    for (const ModelWorkload& entry : workloads) {
        const Workload& workload = entry.workload;
        TS_ASSIGN(const ScheduleSpace schedules, ScheduleSpace::make(workload, target));
        tasks.push_back({workload.key, workload.name, workload.op, workload.shapeText(), entry.count(),
                         schedules.space().size().value_or(0), schedules.space().name(), workload.flops,
                         workload.bytes(), entry.nodes, spaceKindName(workload.space)});
    }
    return tasks;
}

} // namespace tunesmith
