// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/program.h"

namespace tunesmith {

// Where a schedule wants an operand of the product in a form that it does not have, a stage in front of it makes a copy: a
// phase of its own, in scratch memory, laid out by the schedule. The product (a sum of left * right) must be the first stage.

// The left operand with zeros around it in every dimension from `first` on in which reads leave it; then nothing is tested
// for. Returns whether there was anything to do.
bool padLeftOperand(loops::Program& program, std::size_t first);
void copyLeftOperand(loops::Program& program, std::size_t first); // the same, also where nothing leaves it
void copyRightOperand(loops::Program& program);
bool copiesOperand(const loops::Program& program); // whether the first stage is such a copy; the product is then the second

} // namespace tunesmith
