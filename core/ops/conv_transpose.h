// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/window.h"

namespace tunesmith::ops {

// The windows of a ConvTranspose of [N, C, spatial...] as those of the convolution whose input is its output: pads are resolved.
Result<WindowGeometry> transposedConvGeometry(const Node& node, const Shape& x, const Shape& w);

} // namespace tunesmith::ops
