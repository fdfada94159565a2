// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/schedule/kernel_workers.h"
#include "core/schedule/schedule_problem.h"
#include "core/store/store.h"
#include "core/workbench/stage_turns.h"
#include "core/workbench/work.h"

namespace tunesmith {

// Inside core/workbench only: what kernels take. The store's record of a workload where it has one of this machine, else the untuned kernel is built and timed, and
// kept as a trial of a run of kind "optimize". Workers start with the first kernel that has to be timed. For one thread.
class KernelTimes {
public:
    struct Setup {
        std::string store; // empty: the default one
        Target target;
        ModelId model; // may be none
        std::uint64_t seed = 0;
        StageTurns& turns; // outlives this
        Work work;
    };
    static Result<std::unique_ptr<KernelTimes>> open(Setup setup);
    ~KernelTimes(); // ends the run

    std::optional<double> ms(const Workload& workload); // nothing where its kernel cannot be built or run, or after a stop
    bool gaveUp() const { return gaveUp_; }             // a time is missing because of a stop
    std::size_t measured() const { return measured_; }
    std::size_t fromStore() const { return fromStore_; }

private:
    KernelTimes(Setup setup, std::shared_ptr<Store> store, std::string machine) : setup_(std::move(setup)), store_(std::move(store)), machine_(std::move(machine)) {}
    Result<double> measure(const Workload& workload);
    Result<Trial> profile(ScheduleProblem& problem);
    Status begin();

    Setup setup_;
    std::shared_ptr<Store> store_;
    std::string machine_;
    std::unique_ptr<KernelWorkers> workers_;
    RunId run_;
    std::size_t measured_ = 0, fromStore_ = 0;
    bool gaveUp_ = false;
};

} // namespace tunesmith
