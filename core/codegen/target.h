// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// The instruction set that kernels are generated for. Deliberately coarse (the x86-64 levels), so that a tuned module runs
// on every machine of its level and `create` can tell.
enum class Isa { avx2, avx512 };

struct Target {
    Isa isa = Isa::avx2;
    std::string tuneCpu; // LLVM's name of the processor to schedule for; empty: generic
    int threads = 1;

    int vectorBytes() const { return isa == Isa::avx512 ? 64 : 32; }
    int floatLanes() const { return vectorBytes() / 4; }
    int vectorRegisters() const { return isa == Isa::avx512 ? 32 : 16; }
    std::string key() const; // "cpu-avx512-t2": what records are stored under, besides the machine
};

const char* isaName(Isa isa);         // "avx2", "avx512"
Result<Isa> isaFromName(const std::string& name);
Result<Target> hostTarget(int threads); // an error on processors without AVX2 and FMA
bool hostSupports(Isa isa);
std::string hostCpuName();            // as LLVM names it: "znver4"

} // namespace tunesmith
