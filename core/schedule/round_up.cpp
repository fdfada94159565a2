// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/round_up.h"

#include <algorithm>

#include "core/schedule/conv_stage.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Op;
using loops::TensorRef;
using loops::Var;

// A dimension of a tensor that is indexed by the channel and nothing else.
struct ByChannel {
    TensorRef tensor;
    std::size_t dim;
};

// False when the channel is used in any other way.
bool collect(const Expr& e, const Var& channel, std::vector<ByChannel>& found) {
    if (e->op == Op::var)
        return e->var != channel;
    for (std::size_t i = 0; i < e->args.size(); ++i) {
        const Expr& arg = e->args[i];
        if (e->op == Op::load && arg->op == Op::var && arg->var == channel)
            found.push_back({e->tensor, i});
        else if (!collect(arg, channel, found))
            return false;
    }
    return true;
}

bool makeRoom(LoweredWorkload& lowered, const ByChannel& use, std::int64_t extent, std::int64_t block) {
    const std::size_t i = argumentOf(lowered, use.tensor);
    if (i == lowered.arguments.size())
        return true; // a stage, rounded up as well
    loops::Layout& layout = lowered.argumentLayouts[i];
    if (layout.room(use.tensor->shape, use.dim) >= extent)
        return true;
    if (!lowered.constantArguments[i] || !layout.isRowMajor())
        return false;
    layout = loops::Layout::blocked(use.tensor->shape.size(), use.dim, block);
    return true;
}

} // namespace

void roundUpChannels(loops::Schedule& schedule, LoweredWorkload& lowered, std::int64_t block) {
    const auto& stages = schedule.program().stages;
    const std::int64_t channels = stages.back().output->shape[1], extent = (channels + block - 1) / block * block;
    std::vector<ByChannel> uses;
    bool fits = extent != channels && lowered.outputLayouts[0].room(stages.back().output->shape, 1) >= extent;
    for (const loops::Stage& stage : stages)
        fits = fits && collect(stage.body, stage.axes[1].var, uses) && (!stage.guard.valid() || collect(stage.guard, stage.axes[1].var, uses));
    LoweredWorkload roomy = lowered;
    fits = fits && std::ranges::all_of(uses, [&](const ByChannel& use) { return makeRoom(roomy, use, extent, block); });
    if (!fits)
        return;
    lowered = std::move(roomy);
    for (const loops::Stage& stage : stages)
        schedule[stage.output].roundUp(stage.axes[1].var, extent);
}

} // namespace tunesmith
