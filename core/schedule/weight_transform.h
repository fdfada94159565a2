// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include "core/loops/layout.h"

namespace tunesmith {

// What a kernel wants done to a constant argument, once, before it is laid out: how algorithms that work on transformed
// weights get them. The numbers travel between processes.
enum class WeightTransform : std::uint8_t {
    none = 0,
    winograd2 = 1,
    winograd4 = 2,
    rowWords = 3,     // byte_words.h: of a matrix, words of four rows
    channelWords = 4, // of convolution weights, words of four input channels
    tapWords = 5,     // of convolution weights, words of four rows of the kernel
    plainWords = 6,   // four neighbouring bytes as they lie in memory
};

// The constant as the kernel reads it: transformed, then packed.
Tensor packConstant(const Tensor& constant, WeightTransform transform, const loops::Layout& layout);

} // namespace tunesmith
