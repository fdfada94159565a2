// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <sched.h>

#include "core/base/result.h"
#include "core/codegen/kernel.h"

struct TsPool;

namespace tunesmith {

// Runs a kernel as an exported module does: phase after phase, each dealt out by the runtime's own thread pool, so that
// what is measured is what will be. A pool as wide as the machine has each thread bound to a core of its own while the
// runner lives: beside other programs, the scheduler else keeps two of them on one core for whole measurements.
// For one thread at a time, the one that made it.
class PhaseRunner {
public:
    static Result<std::unique_ptr<PhaseRunner>> make(int threads); // the calling thread is one of them
    ~PhaseRunner();
    PhaseRunner(const PhaseRunner&) = delete;
    PhaseRunner& operator=(const PhaseRunner&) = delete;

    int threads() const { return threads_; }
    void run(const LoadedKernel& kernel, void** arguments) const;
    void probe() const; // a known amount of work on all threads, for SpeedProbe

private:
    PhaseRunner(int threads, TsPool* pool);
    void bindThreads() const;
    int threads_;
    TsPool* pool_; // null with one thread
    cpu_set_t callersCores_; // before it was bound
};

} // namespace tunesmith
