// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tasks.h"

#include "core/measure/machine.h"
#include "core/workbench/plan_model.h"

namespace tunesmith {

Result<std::vector<TuningTask>> tuningTasks(const Model& model, int threads) {
    TS_ASSIGN(const Target target, hostTarget(threads > 0 ? threads : coreCount()));
    TS_ASSIGN(const std::vector<ModelWorkload> workloads, workloadsOf(model, target));
    return describeTasks(workloads, target);
}

Result<std::vector<TuningTask>> describeTasks(const std::vector<ModelWorkload>& workloads, const Target& target) {
    std::vector<TuningTask> tasks;
    for (const ModelWorkload& entry : workloads) {
        const Workload& workload = entry.workload;
        TS_ASSIGN(const ScheduleSpace space, ScheduleSpace::make(workload, target));
        tasks.push_back({workload.key, workload.name, workload.op, workload.shapeText(), entry.count(),
                         space.space().size().value_or(0), space.space().name(), workload.flops,
                         workload.bytes(), entry.nodes});
    }
    return tasks;
}

} // namespace tunesmith
