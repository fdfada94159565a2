// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/schedule.h"
#include "core/te/loop_plan.h"

namespace tunesmith::te {

// Shapes the loops of a program whose first stage is the planned statement's. A reduction is added up in a block that its reader
// (an elementwise stage of the same shape, or a copy) takes over; lanes are combined before. Whatever else the program
// makes has plain loops.
void applyPlan(const LoopPlan& plan, loops::Schedule& schedule);

// Whether the loops that came of it can be compiled in bearable time and run on a thread's stack; the Error says what to do.
Status checkNest(const loops::LoopNest& nest);

} // namespace tunesmith::te
