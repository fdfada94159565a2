// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/large_outputs.h"
#include "core/schedule/layouts.h"
#include "core/schedule/round_up.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Layout;
using loops::Op;
using loops::Stage;
using loops::Var;

// What slides a window over each channel on its own: depthwise convolution and pooling on NCHW[x]c. Channels are the lanes,
// a tile of a row is kept in registers, the window is unrolled. Memory-bound, so few knobs.
class WindowTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "window_nchwc"; }

    bool matches(const LoweredWorkload& lowered, const Target&) const override {
        const Stage* stage = onlyReduction(lowered.program);
        if (!stage || stage->axes.size() != 4 || stage->output->type != DType::f32 || channelBlock(lowered.outputLayouts[0]) == 1)
            return false;
        const std::size_t axes = stage->reduceAxes.size();
        const bool pool = axes == 2, depthwise = axes == 3 && stage->reduceAxes[0].extent == 1;
        return (pool || depthwise) && readsOwnChannel(stage->body, stage->axes[1].var);
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Stage& stage = *onlyReduction(lowered.program);
        const std::int64_t kh = stage.reduceAxes[stage.reduceAxes.size() - 2].extent, kw = stage.reduceAxes.back().extent;
        const std::int64_t registers = target.vectorRegisters() == 32 ? 28 : 12;
        std::vector<std::int64_t> rows{1};
        for (const std::int64_t count : {2, 4, 7})
            if (stage.axes[2].extent % count == 0 && stage.axes[2].extent > count)
                rows.push_back(count);
        const auto flag = [](bool useful) { return useful ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0}; };
        return {Knob::ofNumbers("ow_tile", tileCandidates(stage.axes[3].extent, registers)), Knob::ofNumbers("rows", rows),
                Knob::ofNumbers("unroll_kh", flag(kh > 1 && kh * kw <= 25)), Knob::ofNumbers("unroll_kw", flag(kw > 1 && kw <= 9))};
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const std::int64_t ow = onlyReduction(lowered.program)->axes[3].extent, tile = space.value(config, 0).numbers[0];
        const double covered = static_cast<double>(ow) / static_cast<double>((ow + tile - 1) / tile * tile);
        const std::int64_t roomy = target.vectorRegisters() == 32 ? 7 : 4; // inputs are kept between neighbouring taps, too
        return covered * std::min(1.0, static_cast<double>(tile) / static_cast<double>(roomy)) - (tile > 2 * roomy ? 0.05 : 0.0) -
               (tile > roomy && target.vectorRegisters() < 32 ? 0.2 : 0.0) -
               0.01 * static_cast<double>(space.value(config, 1).numbers[0]) - (space.value(config, 2).numbers[0] ? 0.02 : 0.0) +
               (space.value(config, 3).numbers[0] ? 0.02 : 0.0);
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target&) const override {
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const std::int64_t block = channelBlock(lowered.outputLayouts[0]);
        packWeights(lowered, block);
        const auto [anchor, output] = anchorStages(schedule);
        roundUpChannels(schedule, lowered, block);
        schedule.setLayout(anchor, Layout::blocked(4, 1, block));
        auto& o = schedule[output];
        const auto [channels, lane] = o.split(o.axes()[1], block);
        const auto [rows, row] = o.split(o.axes()[2], knob(1));
        const auto [ow, owInner] = o.split(o.axes()[3], knob(0));
        o.reorder({o.axes()[0], channels, rows, row, ow, owInner, lane});
        o.parallel(o.fuse(o.fuse(o.axes()[0], channels), rows));
        o.unroll(owInner);
        o.vectorize(lane);
        auto& w = schedule[anchor];
        w.computeAt(output, ow);
        const auto [one, innerLane] = w.split(w.axes()[1], block);
        std::vector<Var> order{w.axes()[0], one, w.axes()[2]};
        order.insert(order.end(), w.reduceAxes().begin(), w.reduceAxes().end());
        order.insert(order.end(), {w.axes()[3], innerLane});
        w.reorder(order);
        const Var kh = w.reduceAxes()[w.reduceAxes().size() - 2], kw = w.reduceAxes().back();
        if (knob(2))
            w.unroll(kh);
        if (knob(3))
            w.unroll(kw);
        w.unroll(w.axes()[3]);
        w.vectorize(innerLane);
        if (outgrowsCaches(lowered))
            fetchNextRows(w, lowered, knob(1), knob(0));
    }

private:
    static bool readsOwnChannel(const Expr& e, const Var& channel) {
        if (e->op == Op::load)
            return e->args.size() == 4 && std::any_of(e->args.begin(), e->args.begin() + 2, [&](const Expr& index) {
                       return index->op == Op::var && index->var == channel;
                   });
        return !e->args.empty() && std::all_of(e->args.begin(), e->args.end(), [&](const Expr& arg) {
            return arg->op == Op::constant || readsOwnChannel(arg, channel);
        });
    }

    // What the next rows of windows read beyond those of this tile, `rows` by `columns` of them.
    static void fetchNextRows(loops::StageSchedule& w, const LoweredWorkload& lowered, std::int64_t rows, std::int64_t columns) {
        const Stage& stage = *onlyReduction(lowered.program);
        const auto input = std::ranges::find(lowered.program.inputs, stage.body->tensor);
        if (stage.body->op != Op::load || input == lowered.program.inputs.end())
            return;
        const auto& args = stage.body->args;
        const Expr place = lowered.argumentLayouts[static_cast<std::size_t>(input - lowered.program.inputs.begin())].offset((*input)->shape, args);
        const auto down = loops::strideAlong(args[2], stage.axes[2].var), right = loops::strideAlong(args[3], stage.axes[3].var);
        const auto row = loops::strideAlong(place, stage.reduceAxes[0].var), column = loops::strideAlong(place, stage.reduceAxes[1].var);
        if (!down || !right || !row || !column)
            return;
        const std::int64_t first = rows * *down + std::max<std::int64_t>(0, stage.reduceAxes[0].extent - *down);
        for (std::int64_t i = 0; i < rows * *down; ++i)
            for (std::int64_t j = 0; j < columns * *right; ++j)
                w.prefetch(w.axes()[0], *input, place + Expr((first + i) * *row + j * *column));
    }

    static void packWeights(LoweredWorkload& lowered, std::int64_t block) {
        const Stage& stage = *onlyReduction(lowered.program);
        if (stage.reduceAxes.size() != 3)
            return;
        for (std::size_t i = 0; i < lowered.program.inputs.size(); ++i)
            if (lowered.constantArguments[i] && lowered.program.inputs[i]->shape.size() == 4)
                lowered.argumentLayouts[i] = Layout::weights(4, 1, block);
    }
};

} // namespace

const ScheduleTemplate& windowTemplate() {
    static const WindowTemplate instance;
    return instance;
}

} // namespace tunesmith
