// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/index_form.h"

namespace tunesmith::te {

// A checked statement as a stage, with the ranges that indexRanges() found. `tensors` are what it reads, by name; the stage's
// output is called `name`. Loops have the names of the index variables; those that do not start at 0 are shifted. An error
// where a number does not fit the type that it takes.
Result<loops::Stage> lowerStatement(const std::string& source, const Statement& statement, const Sizes& sizes, const Intervals& ranges,
                                    const std::map<std::string, loops::TensorRef>& tensors, const std::string& name);

} // namespace tunesmith::te
