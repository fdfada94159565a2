// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/workload.h"

namespace tunesmith {

// Whether an expression reads a tensor only at the very element that the stage writes.
bool readsInPlace(const loops::Expr& e, const loops::TensorRef& tensor, const loops::Stage& stage);

// For each argument of a workload, whether its output may take the argument's memory: nothing but the last stage reads it, at
// the element that it writes, and both lie alike. Every schedule keeps to that: an element is stored after all that it is made
// of was loaded, and by the same task. So does generated code, which takes the two buffers for different ones: it may change the order of
// a load and a store of different elements only.
std::vector<bool> overwritable(const LoweredWorkload& lowered);

} // namespace tunesmith
