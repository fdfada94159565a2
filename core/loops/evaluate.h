// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor.h"
#include "core/loops/program.h"

namespace tunesmith::loops {

// Runs a tensor expression element by element on real tensors: the oracle that lowerings and schedules are compared with in
// tests, and the reference kernel of text tensor expressions (scalar.h: some 20 ns for a product that is added up). Floats are
// computed in double and rounded when stored, and before floor, ceil and round, which must jump where compiled code does. Reports
// reads outside a tensor as an error.
Result<std::vector<Tensor>> evaluate(const Program& program, const std::vector<Tensor>& inputs);

} // namespace tunesmith::loops
