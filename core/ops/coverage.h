// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/ops/operator.h"

namespace tunesmith {

struct UncoveredNode {
    std::string node;
    std::string op; // with its domain, where that is not the default one
    std::string reason;
};

// What a model is made of and what Tunesmith can do with it, nodes of bodies included.
struct Coverage {
    std::vector<UncoveredNode> notComputed; // no engine can run these
    std::vector<UncoveredNode> notCompiled; // these run in the runtime or not at all, but not as compiled loops
    std::map<std::string, std::int64_t> operators; // how often each occurs
    std::int64_t parameters = 0;                   // elements of constants but int64, bool and text: those steer
    std::int64_t parameterBytes = 0;
    std::int64_t flops = 0;                        // of all nodes whose shapes are known
    bool flopsComplete = true;                     // false: some nodes have unknown shapes
};

// Of a graph whose shapes were inferred. `parameters` counts what the file holds: ask before folding.
Coverage coverage(const Graph& graph);

} // namespace tunesmith
