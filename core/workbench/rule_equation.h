// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/substitution/rule.h"
#include "core/workbench/rules.h"

namespace tunesmith {

// Inside core/workbench only.
RuleEquation equationOf(const substitution::Rule& rule);

} // namespace tunesmith
