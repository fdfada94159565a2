// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor.h"
#include "core/loops/program.h"

namespace tunesmith::loops {

// Runs a tensor expression element by element on real tensors: the slow oracle that lowerings and schedules are compared
// with in tests. Floats are computed in double and rounded when stored, and before floor, ceil and round, which must jump
// where compiled code does. Reports reads outside a tensor as an error.
Result<std::vector<Tensor>> evaluate(const Program& program, const std::vector<Tensor>& inputs);

} // namespace tunesmith::loops
