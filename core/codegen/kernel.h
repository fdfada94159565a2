// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/codegen/target.h"
#include "core/loops/stmt.h"

namespace tunesmith {

// One function of a kernel: runs iterations [begin, end) of the phase's parallel loop on flat buffers (inputs, outputs,
// scratch, in the order of the loop nest's arguments). Different ranges may run on different threads at once.
using PhaseFunction = void (*)(void** arguments, std::int64_t begin, std::int64_t end);

// Machine code of a loop nest as a relocatable ELF object. Phase i is the symbol NAME_i.
struct KernelObject {
    std::string name;
    std::vector<std::int64_t> phaseExtents;
    std::vector<std::int64_t> scratchBytes; // of each scratch argument
    std::vector<std::byte> object;
};

struct CompileOptions {
    std::string name = "kernel"; // symbol prefix, a C identifier
    bool wantText = false;       // also keep LLVM IR and assembly for people
};

struct CompiledKernel {
    KernelObject kernel;
    std::string llvmIr, assembly; // filled when wanted
};

Result<CompiledKernel> compileKernel(const loops::LoopNest& nest, const Target& target, const CompileOptions& options);

// A kernel linked into this process (through ORC). Only for processes that may crash: the worker, tests.
class LoadedKernel {
public:
    static Result<std::unique_ptr<LoadedKernel>> load(const KernelObject& kernel);
    virtual ~LoadedKernel() = default;
    virtual PhaseFunction phase(std::size_t index) const = 0;
    virtual std::size_t phaseCount() const = 0;
    virtual std::int64_t extent(std::size_t index) const = 0;
    // All phases on the calling thread.
    void run(void** arguments) const {
        for (std::size_t i = 0; i < phaseCount(); ++i)
            phase(i)(arguments, 0, extent(i));
    }
};

} // namespace tunesmith
