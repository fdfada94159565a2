// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/integer_product.h"

namespace tunesmith {

// A two-dimensional convolution of bytes with constant weights whose result and operands lie in rows.
std::optional<IntegerProduct> byteConvolution(const LoweredWorkload& lowered);
// Whether a group has one input channel: words are then of neighbouring rows of the kernel instead of channels.
bool sumsOneChannel(const IntegerProduct& conv);
// Whether each output pixel reads the input pixel at the same place and no other.
bool isPointwise(const IntegerProduct& conv);

// Whether its pixels are better one dimension though they read neighbours: rows fill their last vector badly, as those of 7 and 20 pixels do, and a copy of
// the words for each place of the kernel is small.
bool readsColumns(const IntegerProduct& conv);

// Rewrites it as dot products of words. The input is copied into words with its zero point around it, so that nothing is tested
// for later. Of a pointwise convolution and of one that reads columns, the pixels of a map become one dimension.
void makeConvolutionOfWords(LoweredWorkload& lowered);

} // namespace tunesmith
