// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/module/layout_problem.h"
#include "core/optimize/measured_cost.h"

namespace tunesmith::optimize {

struct PlannedLayouts {
    LayoutChoice greedy, best; // the same where nothing beats it
};

// What a draft costs in the best layouts of its values, conversions and all, so that a search chooses among graphs and layouts at once: a merge may
// pay only where what it makes lies otherwise. Times from outside, as for MeasuredCost, of kernels of the greedy choice's layouts and of those
// others that promise to gain (LayoutKnowledge).
class PlannedCost : public MeasuredCost {
public:
    using MeasuredCost::MeasuredCost;

    // The plan for a graph as the compiler has it, all kernels.
    Result<PlannedLayouts> plan(const Graph& prepared);

protected:
    Result<double> ofKernels(const Graph& part) override;
};

} // namespace tunesmith::optimize
