// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith {

// About how many steps of arithmetic the reference kernel of a node takes on inputs of static shapes: what its operator says, else what
// the loops of its tensor expression visit. An operator that computes each element by itself counts as none, for
// the bytes of its tensors bound it. Folding and shape inference leave nodes of too many steps to the run.
double nodeSteps(const OpInputs& in);

// Where each element of a result may read each element of the inputs.
double pairSteps(const OpInputs& in);
double readElements(const OpInputs& in);   // of all inputs together
double resultElements(const OpInputs& in); // of all results together; 0 where the shape rule refuses

} // namespace tunesmith
