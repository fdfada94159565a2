// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tunesmith::autotvm {

// A loop nest as far as AutoTVM's features see it: perfectly nested, with affine accesses.

enum class LoopKind { // in the order of AutoTVM's one-hot
    blockX,
    blockY,
    blockZ,
    threadX,
    threadY,
    threadZ,
    unrolled,
    vectorized,
    parallel,
    serial,
    virtualThread,
};
inline constexpr int kLoopKinds = 11;

struct Loop {
    std::string name;
    std::int64_t extent = 1;
    LoopKind kind = LoopKind::serial;
};

struct BufferAccess {
    std::string name;                  // of the access, e.g. "A_0"; unique
    std::vector<std::int64_t> strides; // elements that a step of each loop moves, 0: the loop does not matter
    std::vector<std::int64_t> mods =
        {}; // of each loop, where its index is taken modulo a number; empty: nowhere
};

struct LoopNest {
    std::vector<Loop> loops; // from the outermost in
    std::vector<BufferAccess> accesses;
    int additions = 0, multiplications = 0, divisions = 0; // of floats, in the innermost body

    Status check() const; // extents of at least 1, a stride for each loop, different names
};

} // namespace tunesmith::autotvm
