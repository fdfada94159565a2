// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace tunesmith {

// Models that need no download: recipes of well-known architectures with random weights from a seed (He et
// al., 2015), opset 13, structured as their usual exporters write them before any folding.
struct Sample {
    std::string name;
    std::string description;
};

const std::vector<Sample>& sampleModels();
Result<Graph> buildSample(const std::string& name,
                          std::uint64_t seed = 0); // an unknown name: the error lists the known

} // namespace tunesmith
