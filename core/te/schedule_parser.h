// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/term_parser.h"

namespace tunesmith::te {

// Reads a schedule from behind the word `schedule` to its closing bracket. Says nothing about what names mean.
Result<ScheduleText> parseSchedule(Tokens& tokens);

// Words with which the items of a schedule begin or go on: no knob and no loop is called so.
bool isScheduleWord(const std::string& name);

} // namespace tunesmith::te
