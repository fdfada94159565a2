// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/ast.h"

namespace tunesmith::te {

// The text of what was parsed: parsing it again gives the same tree. No more brackets than the operators need. A schedule's knobs
// come first, then what is required of them, its loops, and how they run.
std::string toText(const Term& term);
std::string toText(const Statement& statement);
std::string toText(const ScheduleText& schedule);
std::string toText(const Definition& definition);

} // namespace tunesmith::te
