// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/next_panel.h"

namespace tunesmith {

using loops::Expr;

void fetchNextPanel(loops::StageSchedule& stage, const loops::Var& at, const PanelWalk& walk) {
    if (walk.panels < 2 || walk.tiles < 2)
        return;
    const std::int64_t perTile = (walk.floats + walk.tiles - 1) / walk.tiles, perStep = (perTile + walk.steps - 1) / walk.steps;
    stage.prefetch(at, walk.weights,
                   (walk.panel + Expr(1)) * Expr(walk.floats) + walk.tile * Expr(perTile) + walk.step * Expr(perStep));
}

} // namespace tunesmith
