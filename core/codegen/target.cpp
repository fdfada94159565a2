// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/target.h"

namespace tunesmith {

namespace {

constexpr Isa kEvery[] = {Isa::avx2, Isa::avx2Vnni, Isa::avx512, Isa::avx512Vnni};

} // namespace

std::string Target::key() const { return std::string("cpu-") + isaName(levelOf(isa)) + "-t" + std::to_string(threads); }

const char* isaName(Isa isa) {
    switch (isa) {
    case Isa::avx2Vnni: return "avx2-vnni";
    case Isa::avx512: return "avx512";
    case Isa::avx512Vnni: return "avx512-vnni";
    default: return "avx2";
    }
}

Result<Isa> isaFromName(const std::string& name) {
    for (const Isa isa : kEvery)
        if (name == isaName(isa))
            return isa;
    return inputError("instruction set '" + name + "' is not known; use avx2, avx2-vnni, avx512 or avx512-vnni");
}

// The dot products of AVX2 and of AVX-512 are encoded in two ways, and a processor may know only one of them.
bool covers(Isa own, Isa wanted) {
    return own == wanted || (!hasByteDots(wanted) && (isWide(own) || !isWide(wanted)));
}

Result<Target> hostTarget(int threads) {
    Target target;
    target.threads = threads;
    target.tuneCpu = hostCpuName();
    if (!hostSupports(Isa::avx2))
        return unsupportedError("this processor (" + target.tuneCpu + ") has no AVX2 and FMA, which compiled kernels need");
    for (const Isa isa : kEvery)
        if (hostSupports(isa) && (isWide(isa) || !isWide(target.isa)))
            target.isa = isa;
    return target;
}

} // namespace tunesmith
