// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/module/plan.h"

namespace tunesmith {

// A plan that can run: indices exist, buffers lie within their memory and are aligned, constants fit, names
// are distinct. What is wrong is a bug of whoever made the plan, told as an internal error.
Status checkPlan(const ModulePlan& plan);

bool hasNodes(const ModulePlan& plan); // steps that are no kernels

// The plan as the tables of runtime/plan_tables.h: a relocatable object that defines `tunesmith_module`.
Result<std::vector<std::byte>> planObject(const ModulePlan& plan, const std::string& version,
                                          std::uint64_t weightHash);

} // namespace tunesmith
