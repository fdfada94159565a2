// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith::ops {

// A known choice becomes the branch that is taken, an open one both branches and a choice of results; loops whose turns are
// known become their turns one after the other.
Status expandIf(ExpandContext& context);
Status expandLoop(ExpandContext& context);
Status expandScan(ExpandContext& context); // since opset 9

// Whether the condition that the body of a Loop yields is true whenever it is entered: a constant, or what it was given.
bool goesOn(const Graph& body);
bool hasBody(const Node& node); // If, Loop, Scan and what else has a graph as attribute

} // namespace tunesmith::ops
