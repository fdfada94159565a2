// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/base/result.h"
#include "core/codegen/kernel.h"

struct TsPool;

namespace tunesmith {

// Runs a kernel as an exported module does: phase after phase, each dealt out by the runtime's own thread pool, so that
// what is measured is what will be. For one thread at a time.
class PhaseRunner {
public:
    static Result<std::unique_ptr<PhaseRunner>> make(int threads); // the calling thread is one of them
    ~PhaseRunner();
    PhaseRunner(const PhaseRunner&) = delete;
    PhaseRunner& operator=(const PhaseRunner&) = delete;

    int threads() const { return threads_; }
    void run(const LoadedKernel& kernel, void** arguments) const;

private:
    PhaseRunner(int threads, TsPool* pool) : threads_(threads), pool_(pool) {}
    int threads_;
    TsPool* pool_; // null with one thread
};

} // namespace tunesmith
