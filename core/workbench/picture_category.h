// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/node.h"
#include "core/workbench/picture.h"

namespace tunesmith {

// Inside core/workbench only: the colour of a node, by its operator's name. Fused and quantised operators have the category of the
// operator that they do most of their work for: FusedConv and QLinearConv that of Conv.
PictureNode::Category categoryOf(const Node& node);

} // namespace tunesmith
