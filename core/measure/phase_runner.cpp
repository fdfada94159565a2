// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/phase_runner.h"

#include <atomic>
#include <cstring>
#include <vector>

#include "core/measure/speed_probe.h"
#include "core/process/core_masks.h"

extern "C" {
#include "core/runtime/thread_pool.h"
}

namespace tunesmith {
namespace {

void probePhase(void**, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
        SpeedProbe::probeWork();
}

// One piece of work per thread: nobody gets a second one before all have their first.
struct Binding {
    std::vector<int> cores;
    std::atomic<int> arrived{0};
};

void bindPhase(void** arguments, std::int64_t begin, std::int64_t end) {
    Binding& binding = *static_cast<Binding*>(arguments[0]);
    for (std::int64_t i = begin; i < end; ++i) {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(binding.cores[static_cast<std::size_t>(i)], &own);
        keepThreadTo(own); // a wish; without it the measurement is only noisier
        ++binding.arrived;
        while (binding.arrived.load() < static_cast<int>(binding.cores.size()))
            sched_yield();
    }
}

} // namespace

PhaseRunner::PhaseRunner(int threads, TsPool* pool) : threads_(threads), pool_(pool) {
    CPU_ZERO(&callersCores_);
    if (sched_getaffinity(0, sizeof callersCores_, &callersCores_) == 0 && pool_ && CPU_COUNT(&callersCores_) == threads_)
        bindThreads();
}

void PhaseRunner::bindThreads() const {
    Binding binding;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &callersCores_))
            binding.cores.push_back(core);
    void* arguments[] = {&binding};
    ts_pool_run(pool_, bindPhase, arguments, threads_);
}

Result<std::unique_ptr<PhaseRunner>> PhaseRunner::make(int threads) {
    TsPool* pool = nullptr;
    int error = 0;
    if (threads > TS_MAX_THREADS)
        return inputError(std::to_string(threads) + " threads are more than the " + std::to_string(int(TS_MAX_THREADS)) +
                          " that a kernel can use");
    if (threads > 1 && !(pool = ts_pool_create(threads, &error)))
        return internalError("cannot start " + std::to_string(threads) + " threads: " + std::strerror(error));
    return std::unique_ptr<PhaseRunner>(new PhaseRunner(threads, pool));
}

PhaseRunner::~PhaseRunner() {
    if (!pool_)
        return;
    ts_pool_destroy(pool_);
    keepThreadTo(callersCores_);
}

void PhaseRunner::run(const LoadedKernel& kernel, void** arguments) const {
    if (!pool_) {
        kernel.run(arguments);
        return;
    }
    for (std::size_t i = 0; i < kernel.phaseCount(); ++i)
        ts_pool_run(pool_, kernel.phase(i), arguments, kernel.extent(i));
}

void PhaseRunner::probe() const {
    constexpr int kPiecesPerThread = 8;
    if (pool_)
        ts_pool_run(pool_, probePhase, nullptr, static_cast<std::int64_t>(threads_) * kPiecesPerThread);
    else
        SpeedProbe::probeWork();
}

} // namespace tunesmith
