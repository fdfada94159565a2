// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/measure/guarded_buffer.h"
#include "core/measure/phase_runner.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/workload.h"

namespace tunesmith {

// A workload with inputs drawn from a seed and what the reference engine makes of them: what all candidates of one
// workload are checked against. Weights are drawn around zero, so that a sum that is cut short shows.
class KernelCase {
public:
    static Result<std::shared_ptr<const KernelCase>> make(const Workload& workload, std::uint64_t seed);

    const LoweredWorkload& lowered() const { return lowered_; }
    const std::vector<Tensor>& arguments() const { return arguments_; } // of lowered().arguments, row-major
    const std::vector<Tensor>& expected() const { return expected_; }
    Tensor packedArgument(std::size_t index, WeightTransform transform, const loops::Layout& layout) const; // remembered; for one thread at a time
    // Why `flat`, an output in the workload's layout, is not the expected one; empty when it is.
    std::string outputDifference(std::size_t index, const Tensor& flat) const;

private:
    LoweredWorkload lowered_;
    std::vector<Tensor> arguments_;
    std::vector<Tensor> expected_;
    std::vector<Tensor> expectedPacked_; // in the workload's layouts
    struct Packed {
        WeightTransform transform;
        loops::Layout layout;
        Tensor tensor;
    };
    mutable std::vector<std::vector<Packed>> packed_; // by argument
};

// A candidate linked into this process with its packed arguments. Only for worker processes: the code may do anything.
// In a module other kernels run in between: what this one reads was just written, but its constants, outputs and scratch have left
// the caches that a core has for itself. asInModule: these are there in as many copies as it takes to push each other out, and
// every run takes the next ones. warm: one copy, as kernels of libraries are usually timed.
enum class BenchMemory : std::uint8_t { asInModule, warm };
class BenchKernel {
public:
    static Result<std::unique_ptr<BenchKernel>> load(std::shared_ptr<const KernelCase> kase, const KernelPackage& package,
                                                     BenchMemory memory = BenchMemory::asInModule);

    void run(const PhaseRunner& runner);
    // Runs once on poisoned outputs and compares. Why it is wrong; empty when it is right.
    std::string check(const PhaseRunner& runner);
    bool intact() const; // nothing was written beside the buffers
    std::string outputDifference() const; // of what the last run left

private:
    BenchKernel() = default;
    static void* addBuffer(std::vector<GuardedBuffer>& buffers, const Tensor* content, std::size_t bytes);
    void copyFarBuffers();
    std::shared_ptr<const KernelCase> case_;
    KernelPackage package_;
    std::unique_ptr<LoadedKernel> kernel_;
    std::vector<Tensor> inputs_;         // packed, as they were
    std::vector<GuardedBuffer> buffers_; // arguments, outputs, scratch
    std::vector<GuardedBuffer> copies_;
    std::vector<std::vector<void*>> pointers_; // a set for each copy
    std::size_t next_ = 0;                     // the set of the next run
};

} // namespace tunesmith
