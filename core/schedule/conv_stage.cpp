// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/conv_stage.h"

#include <algorithm>

#include "core/schedule/template.h"

namespace tunesmith {

using loops::Op;
using loops::Stage;

const Stage* convStage(const LoweredWorkload& lowered) {
    const Stage* stage = onlyReduction(lowered.program);
    const bool fits = stage && stage->reduction == loops::Reduction::sum && stage->axes.size() == 4 && stage->reduceAxes.size() == 3 &&
                      stage->output->type == DType::f32 && stage->body->op == Op::mul && stage->body->args[0]->op == Op::load &&
                      stage->body->args[1]->op == Op::load && stage->output->name.starts_with("conv") &&
                      stage->body->args[1]->tensor->shape.size() == 4;
    return fits ? stage : nullptr;
}

std::size_t argumentOf(const LoweredWorkload& lowered, const loops::TensorRef& tensor) {
    const auto& inputs = lowered.program.inputs;
    return static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), tensor) - inputs.begin());
}

} // namespace tunesmith
