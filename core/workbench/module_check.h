// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <nlohmann/json.hpp>

#include "core/workbench/compile.h"
#include "core/workbench/plan_model.h"

namespace tunesmith {

// Inside core/workbench only: whether a module may be written. Every kernel is judged alone, on what the reference hands it
// (step_check.h); the whole on one draw of inputs where that agrees, else on several, and by what nudges of them do to the
// reference (check/sensitivity.h). An Error says what was found, and how to accept it all the same.
Result<ModuleCheck> checkModule(const Model& model, const PlannedModel& planned, const std::filesystem::path& folder, const CompileRequest& request);

nlohmann::json toJson(const ModuleCheck& check); // as module.json has it

} // namespace tunesmith
