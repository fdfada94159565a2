// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor.h"
#include "core/loops/stmt.h"

namespace tunesmith::loops {

// Runs a loop nest as it stands, one statement after the other: says for tests whether a schedule computes what its program says,
// without compiling anything. Iterations of parallel loops run backwards, and what nobody wrote yet is not a number (an odd number
// where there is none), so that a nest that counts on either is found out. The arguments' layouts are row-major; reads and writes
// outside of a buffer are errors.
Result<std::vector<Tensor>> evaluate(const LoopNest& nest, const std::vector<Tensor>& inputs);

} // namespace tunesmith::loops
