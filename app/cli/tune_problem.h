// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/cli/command.h"
#include "core/workbench/tune.h"

namespace tunesmith::cli {

// The part of the command tune that takes a problem file (FILE.toml) instead of a model.
bool isProblemFile(const std::string& path);
void refuseOptionsOfModels(const CLI::App& command); // wrong usage if one is given that means nothing for a problem
Result<int> tuneProblemFile(Session& session, const CLI::App& command, const std::string& file, const TuneRequest& request);

} // namespace tunesmith::cli
