// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/plugin/settings.h"
#include "core/search/parameter_space.h"

namespace tunesmith {

// [parameters.NAME] tables: what can be tuned, and what each value looks like in a command.
struct ProgramParameters {
    std::vector<Parameter> parameters;
    std::vector<std::vector<std::string>> texts; // of each parameter's values
};
Result<ProgramParameters> readParameters(Settings& settings);

} // namespace tunesmith
