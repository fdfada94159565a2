// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "core/process/measuring_lock.h"
#include "core/process/worker_pool.h"
#include "core/schedule/kernel_executor.h"

namespace tunesmith {

// The processes of this machine in which candidates are built and measured, shared by all workloads of a run.
class KernelWorkers : public KernelExecutor {
public:
    static Result<std::unique_ptr<KernelWorkers>> start(KernelWorkerOptions options);

    const KernelWorkerOptions& options() const override { return options_; }
    Result<MachineRow> machine() const override;
    CallReport build(const Message& request, const StopToken& stop) override;
    // Under the machine's measuring lock. The reference result is made first, with a time limit of its own.
    CallReport measure(Message request, double seconds, const StopToken& stop) override;
    void keepBuildsTo(const std::vector<int>& processors) override;
    void keepMeasurementsTo(const std::vector<int>& processors) override { measureOn_ = processors; }
    double probeMs() const { return probeMs_; } // best of SpeedProbe so far, for the next measurement

private:
    KernelWorkers(KernelWorkerOptions options, MeasuringLock lock) : options_(std::move(options)), lock_(std::move(lock)) {}
    CallReport prepare(const Message& request, const StopToken& stop);

    KernelWorkerOptions options_;
    MeasuringLock lock_;
    std::unique_ptr<WorkerPool> builders_;
    std::unique_ptr<WorkerClient> profiler_;
    std::string prepared_; // workload for which the profiler has a reference result ...
    int preparedBy_ = -1;  // ... if it is still this process
    double probeMs_ = 0;
    std::mutex mutex_; // guards buildOn_
    std::vector<int> buildOn_, measureOn_; // processors; none: all
};

} // namespace tunesmith
