// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/measure_module.h"

namespace tunesmith {

// Inside core/workbench only: modules of one model that keep their values in different layouts, in turns.
struct LayoutContest {
    bool agree = false;  // both compute the same; every kernel was checked, what they amount to is here
    bool faster = false; // b is, certainly
    double aMs = 0, bMs = 0;
};
Result<LayoutContest> contestLayouts(const Subject& a, const Subject& b, double seconds, const StopToken& stop);

} // namespace tunesmith
