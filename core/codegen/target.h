// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// The instruction set that kernels are generated for. Deliberately coarse (the x86-64 levels, and whether there are dot products of
// bytes, vpdpbusd), so that a tuned module runs on every machine of its level and `create` can tell.
enum class Isa { avx2, avx2Vnni, avx512, avx512Vnni };
inline bool isWide(Isa isa) { return isa == Isa::avx512 || isa == Isa::avx512Vnni; }
inline bool hasByteDots(Isa isa) { return isa == Isa::avx2Vnni || isa == Isa::avx512Vnni; }
inline Isa levelOf(Isa isa) { return isWide(isa) ? Isa::avx512 : Isa::avx2; } // without dot products of bytes
bool covers(Isa own, Isa wanted);                                            // whether one runs kernels of the other

struct Target {
    Isa isa = Isa::avx2;
    std::string tuneCpu; // LLVM's name of the processor to schedule for; empty: generic
    int threads = 1;

    int vectorBytes() const { return isWide(isa) ? 64 : 32; }
    int floatLanes() const { return vectorBytes() / 4; }
    int vectorRegisters() const { return isWide(isa) ? 32 : 16; }
    std::string key() const; // "cpu-avx512-t2", by the level: what records are stored under, besides the machine
};

const char* isaName(Isa isa);         // "avx2", "avx2-vnni", "avx512", "avx512-vnni"
Result<Isa> isaFromName(const std::string& name);
Result<Target> hostTarget(int threads); // an error on processors without AVX2 and FMA
bool hostSupports(Isa isa);
std::string hostCpuName();            // as LLVM names it: "znver4"

} // namespace tunesmith
