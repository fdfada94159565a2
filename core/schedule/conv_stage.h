// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/workload.h"

namespace tunesmith {

// The convolution of a workload that is nothing but a two-dimensional convolution of float32 and an elementwise epilogue;
// null for anything else. Axes are n, o, oh, ow; reduction axes are channel of the group, kh, kw; the body is x * w.
const loops::Stage* convStage(const LoweredWorkload& lowered);

// Which argument a tensor of the program is; as many as there are arguments if it is none.
std::size_t argumentOf(const LoweredWorkload& lowered, const loops::TensorRef& tensor);

} // namespace tunesmith
