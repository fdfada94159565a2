// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/phase_runner.h"

#include <cstring>

extern "C" {
#include "core/runtime/thread_pool.h"
}

namespace tunesmith {

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
    if (pool_)
        ts_pool_destroy(pool_);
}

void PhaseRunner::run(const LoadedKernel& kernel, void** arguments) const {
    if (!pool_) {
        kernel.run(arguments);
        return;
    }
    for (std::size_t i = 0; i < kernel.phaseCount(); ++i)
        ts_pool_run(pool_, kernel.phase(i), arguments, kernel.extent(i));
}

} // namespace tunesmith
