// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/executors/remote_executor.h"
#include "core/schedule/tuner.h"
#include "core/workbench/tune.h"

namespace tunesmith {

// Inside core/workbench only: one leg of a tuning, which is one run in the store.
struct TuneLegPlan {
    TuneLeg leg;
    TuneBudget budget; // of this leg; not empty
    std::string strategy;
    SpaceKind space = SpaceKind::tunesmith;
    std::uint64_t seed = 1;
    std::vector<int> followedBy; // thread counts of the legs that come after it
    RunId follows; // the run of the leg before; none for the first
    std::optional<RunId> resume;
    std::vector<std::shared_ptr<RemoteExecutor>> devices; // of one kind; none: this machine
    RemoteExecutor* device() const { return devices.empty() ? nullptr : devices.front().get(); }
};

KernelWorkerOptions workerLimits(const TuneRequest& request, std::uint64_t seed, int cores); // cores: of the machine

Result<TunedRun> tuneLeg(const Model& model, const TuneRequest& request, Store& store, const TuneLegPlan& plan,
                         TuneListener& listener);

} // namespace tunesmith
