// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/large_outputs.h"

#include <algorithm>

namespace tunesmith {

using loops::Stage;
using loops::TensorRef;

bool outgrowsCaches(const LoweredWorkload& lowered) {
    constexpr std::int64_t kCaches = 32 << 20;
    std::int64_t bytes = 0;
    for (const auto* tensors : {&lowered.program.inputs, &lowered.program.outputs})
        for (const TensorRef& tensor : *tensors)
            bytes += elementCount(tensor->shape) * static_cast<std::int64_t>(byteSize(tensor->type));
    return bytes > kCaches;
}

void streamLargeOutputs(loops::Schedule& schedule, const LoweredWorkload& lowered) {
    if (!outgrowsCaches(lowered))
        return;
    const auto& program = schedule.program();
    for (const TensorRef& output : program.outputs) {
        const bool readAgain = std::ranges::any_of(program.stages, [&](const Stage& stage) { return loops::reads(stage, output); });
        if (!readAgain && program.stageOf(output)->reduction == loops::Reduction::none)
            schedule.stream(output);
    }
}

} // namespace tunesmith
