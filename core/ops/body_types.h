// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith {

// Types of the values that a Loop, a Scan or a SequenceMap hands to its body, on every turn: what a state is at first and what the
// body makes of it, together. Exporters leave these types out or state those of the first turn; runtimes want them right.

// Keeps what two types share: the rank if it is the same, extents that are the same.
TensorType commonType(const TensorType& a, const TensorType& b);
// Whether everything that `general` says holds for `special`, too.
bool covers(const TensorType& general, const TensorType& special);

// The node's operands as the body gets them: which body output is the next turn's value of which body input, and the types
// on the first turn.
struct BodyOperands {
    std::vector<TensorType> types; // of the body's inputs
    std::size_t firstState = 0, states = 0, firstResult = 0; // body input firstState + i is given body output firstResult + i
};
// No value for other operators, and where the operands do not fit.
std::optional<BodyOperands> bodyOperands(const OpInputs& in);

// Whether the types of the body's inputs hold on every turn.
bool isSteady(const OpInputs& in, const Graph& body);

} // namespace tunesmith
