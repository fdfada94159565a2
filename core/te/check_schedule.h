// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/te/ast.h"

namespace tunesmith::te {

enum class Meaning : std::uint8_t { none, size, other }; // of a name in a definition, outside of its statements

// Says of every name in the schedule of a checked statement what it is (a knob, a size, a loop) and adds the sizes that it uses to
// those of the statement. An error names a place: names that nobody knows or that mean something already, loops that are
// taken after they were split or fused, an order that leaves loops out, and knobs that nothing depends on.
Status checkSchedule(const std::string& source, Statement& statement, const std::function<Meaning(const std::string&)>& meaningOf);

} // namespace tunesmith::te
