// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/tuner.h"
#include "core/workbench/tune.h"

namespace tunesmith {

// Inside core/workbench only: layouts of a whole model by measured costs, after its kernels were tuned in the greedy choice's. Kernels in
// other layouts, and conversions, are measured where an estimate promises most, a few per workload; what was
// measured corrects the estimate, until the best plan consists of nothing but measured kernels. Then the modules of that plan and of
// the greedy choice run in turns. The verdict goes to the store, which is where compiling finds the plan.
struct LayoutStageRequest {
    const Model& model;
    const TuneRequest& request;
    Store& store;
    Target target;
    TuneOptions options; // of the leg: its budget, of which a part is spent again
    RunId run;           // of the leg
    TuneListener& listener;
};
Result<TunedLayouts> planByMeasuring(const LayoutStageRequest& request);

} // namespace tunesmith
