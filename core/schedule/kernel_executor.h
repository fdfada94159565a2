// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/process/worker_client.h"
#include "core/store/rows.h"

namespace tunesmith {

// Time limits and seeds that all executors share; `worker` and the pool of builders are a machine's own.
struct KernelWorkerOptions {
    static WorkerOptions ownKernels() {
        WorkerOptions options;
        options.confinement = Confinement{.foreign = false};
        return options;
    }
    WorkerOptions worker = ownKernels(); // its executable serves kernelVerbs()
    int builders = 2;
    double buildSeconds = 20;   // wall clock limit of one build
    double profileSeconds = 10; // of one profile
    double prepareSeconds = 120; // of the reference result, once per workload
    double measureMs = 20;      // of samples per candidate
    std::uint64_t seed = 0;     // of the inputs that kernels are checked and timed with
    std::uint64_t builderMemory = 0; // bytes of each builder's private data; 0: the worker's own limit
};

// Where candidates are built and measured: in workers of this machine (KernelWorkers), or by the server of another one. The
// requests are those of worker_verbs.h; each call returns once, with one answer that passed checkKernelReply, whatever became of the workers. Builds may be
// asked for from several threads, measurements from one thread at a time.
class KernelExecutor {
public:
    virtual ~KernelExecutor() = default;

    virtual const KernelWorkerOptions& options() const = 0;
    virtual Result<MachineRow> machine() const = 0; // where kernels are measured; the same throughout
    virtual CallReport build(const Message& request, const StopToken& stop) = 0;
    // Alone on that machine. `seconds` is the limit of the measurement itself: what a workload needs once, and waiting for one's
    // turn, come on top.
    virtual CallReport measure(Message request, double seconds, const StopToken& stop) = 0;

    // Until there is something to build and measure on; calls wait themselves. An Error when stopped, or when there never will be.
    virtual Status await(const StopToken& /*stop*/) { return {}; }
    virtual void rest() {} // nothing is called for a while: others may have what it holds
    virtual bool isElsewhere() const { return false; } // what it does loads another machine ...
    virtual double networkMbit() const { return 0; }   // ... and the network, by so many Mbit/s until now

    // Processors of this machine that builds, or measurements, keep to from now on. Executors elsewhere take no notice.
    virtual void keepBuildsTo(const std::vector<int>& /*processors*/) {}
    virtual void keepMeasurementsTo(const std::vector<int>& /*processors*/) {}
};

} // namespace tunesmith
