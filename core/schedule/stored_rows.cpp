// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/stored_rows.h"

#include <algorithm>

#include "core/measure/machine.h"

namespace tunesmith {

Result<TargetId> storedTarget(Store& store, const Target& target) {
    TS_ASSIGN(const MachineRow machine, thisMachine());
    return storedTarget(store, target, machine);
}

Result<TargetId> storedTarget(Store& store, const Target& target, const MachineRow& machine) {
    TS_ASSIGN(const auto machines, store.machines());
    const auto known = std::ranges::find(machines, machine.key, &MachineRow::key);
    MachineId id;
    if (known != machines.end()) {
        id = known->id; // adding it again would forget its ceilings
    } else {
        TS_ASSIGN(id, store.addMachine(machine));
    }
    return store.addTarget({{}, target.key(), id});
}

WorkloadRow rowOf(const Workload& workload, const std::string& serialized) {
    return {workload.key,
            workload.name,
            workload.op,
            workload.shapeText(),
            {serialized.begin(), serialized.end()},
            static_cast<double>(workload.flops)};
}

} // namespace tunesmith
