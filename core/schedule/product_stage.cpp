// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/product_stage.h"

#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/template.h"

namespace tunesmith {

using loops::Op;
using loops::Stage;

const Stage* productStage(const LoweredWorkload& lowered) {
    const Stage* stage = onlyReduction(lowered.program);
    const bool sum = stage && stage->reduction == loops::Reduction::sum && stage->reduceAxes.size() == 1 && !stage->guard.valid() &&
                     stage->output->type == DType::f32 && stage->axes.size() >= 2 && stage->body->op == Op::mul;
    if (!sum)
        return nullptr;
    for (const loops::Expr& side : stage->body->args) {
        const auto isPlain = [](const loops::Expr& index) { return index->op == Op::var || index->op == Op::constant; };
        if (side->op != Op::load || !std::ranges::all_of(side->args, isPlain) || !loops::usesVar(side, stage->reduceAxes[0].var))
            return nullptr;
    }
    const loops::Var& column = stage->axes.back().var;
    const bool byColumn = !loops::usesVar(stage->body->args[0], column) && loops::usesVar(stage->body->args[1], column);
    return byColumn ? stage : nullptr;
}

} // namespace tunesmith
