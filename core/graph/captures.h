// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tunesmith {

// Values that the bodies of If, Loop and Scan read by name from the graphs around a node, those of bodies within bodies
// included, each once: they order nodes like inputs do.
std::vector<std::string> capturedNames(const Node& node);

} // namespace tunesmith
