// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/stop_token.h"
#include "core/process/message.h"
#include "core/process/worker_client.h"
#include "core/store/rows.h"

namespace tunesmith {

// What this computer can do at most, measured: the lines of a roofline, and what `peak_fraction` is a fraction of.
struct ThreadCeilings {
    int threads = 1;
    double fmaGflops = 0; // FP32 fused multiply-adds on registers, two operations each
    double memoryGbs = 0; // STREAM triad (McCalpin) on arrays far larger than the caches, 24 bytes per element
};

struct MachineCeilings {
    std::string cpu; // "Intel(R) Xeon(R) ... @ 2.50GHz"
    std::string isa; // "avx512"
    std::vector<ThreadCeilings> threads; // for 1, 2, ... threads

    const ThreadCeilings* of(int threadCount) const; // the nearest count that was measured; null when empty
    nlohmann::json toJson() const;                   // {cpu, isa, threads: [{threads, fma_gflops, memory_gbs}]}
    static Result<MachineCeilings> fromJson(const nlohmann::json& json);
};

// How this computer is named in the store; without ceilings, measuring them takes seconds.
Result<MachineRow> thisMachine();
std::vector<int> processors(); // that this thread may use, as the kernel numbers them
int coreCount();               // how many these are

// In this process, the calling thread being one of them. About a second per thread count.
Result<ThreadCeilings> measureThreads(int threads);

// The verb "measure_machine" {"threads": N} of a worker, and the call for 1 ... coreCount() threads.
Result<Message> measureMachineVerb(const Message& request);
Result<MachineCeilings> measureMachine(WorkerClient& worker, const StopToken& stop = {});

} // namespace tunesmith
