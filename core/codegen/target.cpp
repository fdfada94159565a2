// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/target.h"

namespace tunesmith {

std::string Target::key() const { return std::string("cpu-") + isaName(isa) + "-t" + std::to_string(threads); }

const char* isaName(Isa isa) { return isa == Isa::avx512 ? "avx512" : "avx2"; }

Result<Isa> isaFromName(const std::string& name) {
    if (name == "avx2")
        return Isa::avx2;
    if (name == "avx512")
        return Isa::avx512;
    return inputError("instruction set '" + name + "' is not known; use avx2 or avx512");
}

Result<Target> hostTarget(int threads) {
    Target target;
    target.threads = threads;
    target.tuneCpu = hostCpuName();
    if (hostSupports(Isa::avx512))
        target.isa = Isa::avx512;
    else if (!hostSupports(Isa::avx2))
        return unsupportedError("this processor (" + target.tuneCpu + ") has no AVX2 and FMA, which compiled kernels need");
    return target;
}

} // namespace tunesmith
