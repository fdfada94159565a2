// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/schedule.h"

namespace tunesmith {

// Weights lie in panels, one after the other, each of which is read once for every tile of the output before the next one's turn.
// A model's weights do not fit its caches, so the first tile of each panel would wait for memory: while a panel is worked on,
// the next one is fetched into the second-level cache, evenly over all tiles and steps.
struct PanelWalk {
    loops::TensorRef weights;
    loops::Expr panel;                // which one, in terms of loops and axes, as are the others
    std::int64_t panels = 1, floats = 0; // how many, and how large one is
    loops::Expr tile, step;           // of the walk over this panel; a step is an iteration of the loop `at`
    std::int64_t tiles = 1, steps = 1;
};

// Nothing where no panel follows or each is read only once, as a stream.
void fetchNextPanel(loops::StageSchedule& stage, const loops::Var& at, const PanelWalk& walk);

} // namespace tunesmith
