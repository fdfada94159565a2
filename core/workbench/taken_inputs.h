// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/workbench/read_inputs.h"

namespace tunesmith {

// Inside core/workbench only. Inputs that a model takes, and what the reference engine makes of them.
struct TakenInputs {
    std::vector<Tensor> inputs, outputs;
};

// Draws as readInputs() does. Where the reference engine refuses what was drawn (an index, an axis or a shape that is computed from integers), draws
// integers below 2, and then zeros. An Error says what was refused, and to give inputs.
Result<TakenInputs> drawTakenInputs(const Graph& graph, const InputChoice& choice, const StopToken& stop);

} // namespace tunesmith
