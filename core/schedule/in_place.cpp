// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/in_place.h"

#include <algorithm>

namespace tunesmith {

using loops::Expr;
using loops::Op;
using loops::Stage;
using loops::TensorRef;

bool readsInPlace(const Expr& e, const TensorRef& tensor, const Stage& stage) {
    if (e->op == Op::load && e->tensor == tensor)
        for (std::size_t d = 0; d < e->args.size(); ++d) {
            const bool same = e->args[d]->op == Op::var && e->args[d]->var == stage.axes[d].var;
            if (!same && !(stage.axes[d].extent == 1 && loops::isConstant(e->args[d], 0)))
                return false;
        }
    return std::ranges::all_of(e->args, [&](const Expr& arg) { return readsInPlace(arg, tensor, stage); });
}

std::vector<bool> overwritable(const LoweredWorkload& lowered) {
    const auto& program = lowered.program;
    std::vector<bool> result(lowered.arguments.size(), false);
    if (program.outputs.size() != 1 || program.stages.empty())
        return result;
    const Stage& last = program.stages.back();
    if (last.output != program.outputs[0] || last.reduction != loops::Reduction::none || last.guard.valid())
        return result;
    for (std::size_t i = 0; i < result.size(); ++i) {
        const TensorRef& input = program.inputs[i];
        const bool alike = input->shape == last.output->shape && input->type == last.output->type && lowered.argumentLayouts[i] == lowered.outputLayouts[0];
        const auto readsEarlier = [&](const Stage& stage) { return &stage != &last && reads(stage, input); };
        result[i] = alike && readsInPlace(last.body, input, last) && std::ranges::none_of(program.stages, readsEarlier);
    }
    return result;
}

} // namespace tunesmith
