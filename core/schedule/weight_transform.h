// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include "core/loops/layout.h"

namespace tunesmith {

// What a kernel wants done to a constant argument, once, before it is laid out: how algorithms that work on transformed
// weights get them. The numbers travel between processes.
enum class WeightTransform : std::uint8_t { none = 0, winograd2 = 1, winograd4 = 2 };

// The constant as the kernel reads it: transformed, then packed.
Tensor packConstant(const Tensor& constant, WeightTransform transform, const loops::Layout& layout);

} // namespace tunesmith
