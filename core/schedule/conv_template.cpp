// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <numeric>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/next_panel.h"
#include "core/schedule/layouts.h"
#include "core/schedule/round_up.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Layout;
using loops::Stage;
using loops::Var;

// Direct convolution on NCHW[x]c (NeoCPU, ATC'19; oneDNN): a tile of ow x (oc blocks) accumulators stays in registers over the
// whole reduction; weights stream as OIHW[i]i[o]o; inputs are broadcast from memory. Knobs: width of the tile, number of
// output-channel blocks in it, rows per task, how far the input-channel loop is unrolled, whether the kernel's columns are
// unrolled, and which of rows and channels runs outermost.
class ConvTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "conv2d_nchwc"; }

    bool matches(const LoweredWorkload& lowered, const Target&) const override {
        const Stage* conv = convStage(lowered);
        if (!conv)
            return false;
        const std::size_t weights = argumentOf(lowered, conv->body->args[1]->tensor);
        const std::int64_t block = channelBlock(lowered.outputLayouts[0]);
        const Expr& channel = conv->body->args[0]->args[1];
        const bool depthwise = channel->op == loops::Op::var && channel->var == conv->axes[1].var;
        return block > 1 && !depthwise && weights < lowered.arguments.size() && lowered.constantArguments[weights] &&
               groupsAlign(*conv, block);
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered);
        std::vector<std::int64_t> blocks, rows{1};
        for (const std::int64_t count : {1, 2, 3, 4, 6})
            if (s.blocksPerGroup % count == 0)
                blocks.push_back(count);
        for (const std::int64_t count : {2, 4, 7, 8, 14})
            if (s.oh % count == 0 && s.oh > count)
                rows.push_back(count);
        std::vector<std::int64_t> unrolls{1};
        for (const std::int64_t count : {2, 4})
            if (s.inBlock % count == 0)
                unrolls.push_back(count);
        return {Knob::ofNumbers("ow_tile", tileCandidates(s.ow, registers(target))), Knob::ofNumbers("oc_tile", blocks),
                Knob::ofNumbers("rows", rows), Knob::ofNumbers("ic_unroll", unrolls),
                Knob::ofNumbers("unroll_kw", s.kw > 1 && s.kw <= kLongestUnrolled ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0}),
                Knob::ofNumbers("oc_outer", s.blocks > 1 && s.oh > 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1})};
    }

    // Accumulators, a vector of weights per block and the broadcast input fit the register file.
    KnobSpace::Filter filter(const LoweredWorkload&, const Target& target) const override {
        const std::int64_t limit = registers(target);
        return [limit](const KnobSpace& space, const Config& config) {
            const std::int64_t ow = space.value(config, 0).numbers[0], oc = space.value(config, 1).numbers[0];
            return ow * oc + oc <= limit + 2;
        };
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered);
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const std::int64_t ow = knob(0), oc = knob(1);
        const double accumulators = static_cast<double>(ow * oc);
        const double loadsPerFma = 1.0 / static_cast<double>(ow) + 1.0 / static_cast<double>(oc);
        const double covered = static_cast<double>(s.ow) / static_cast<double>((s.ow + ow - 1) / ow * ow);
        double score = covered * std::min(1.0, accumulators / (isWide(target.isa) ? 12.0 : 10.0)) * (1.2 - 0.5 * loadsPerFma);
        score -= knob(2) > 1 ? 0.01 * static_cast<double>(knob(2)) : 0.0;
        score -= 0.002 * static_cast<double>(knob(3)) + (knob(4) ? 0.02 : 0.0) + (knob(5) ? 0.0 : 0.003);
        return score;
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target&) const override {
        const Sizes s(lowered);
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const std::size_t weights = argumentOf(lowered, convStage(lowered)->body->args[1]->tensor);
        lowered.argumentLayouts[weights] = Layout::weights(4, s.inBlock, s.block);
        const auto [conv, output] = anchorStages(schedule);
        roundUpChannels(schedule, lowered, s.block);
        schedule.setLayout(conv, Layout::blocked(4, 1, s.block));
        const OutputLoops out = scheduleOutput(schedule[output], s, knob(0), knob(1), knob(2), knob(5) != 0);
        auto& c = schedule[conv];
        c.computeAt(output, out.tile);
        const auto [ocBlock, lane] = c.split(c.axes()[1], s.block);
        const auto [icBlock, icIn] = c.split(c.reduceAxes()[0], s.inBlock);
        const auto [icStep, icUnrolled] = c.split(icIn, knob(3));
        const Var kh = c.reduceAxes()[1], kw = c.reduceAxes()[2], ow = c.axes()[3];
        c.reorder({c.axes()[0], c.axes()[2], icBlock, kh, kw, icStep, icUnrolled, ow, ocBlock, lane});
        for (const Var& loop : {icUnrolled, ow, ocBlock})
            c.unroll(loop);
        if (knob(4))
            c.unroll(kw);
        c.vectorize(lane);
        if (knob(5)) // else all panels are read again for each row
            fetchWeights(c, *convStage(lowered), s, {knob(0), knob(1), knob(3)}, out, {icBlock, kh, kw, icStep});
        if (s.strewn)
            fetchNextTile(c, convStage(lowered)->body->args[0]->tensor, s, {knob(0), knob(1), knob(3)}, out, icBlock, icStep);
    }

private:
    struct OutputLoops {
        Var panel, row, tile; // of output channels, of the output, of columns in a row
    };
    struct Tiles {
        std::int64_t columns, blocks, unroll;
    };

    struct Sizes {
        std::int64_t block, inBlock, blocks, blocksPerGroup, oh, ow, kw;
        bool strewn; // a tile reads its input, and no other tile does, from more places than a machine follows
        explicit Sizes(const LoweredWorkload& lowered) {
            const Stage& conv = *convStage(lowered);
            block = channelBlock(lowered.outputLayouts[0]);
            const std::int64_t inPerGroup = conv.reduceAxes[0].extent;
            const std::int64_t layoutBlock = channelBlock(lowered.argumentLayouts[argumentOf(lowered, conv.body->args[0]->tensor)]);
            inBlock = layoutBlock > 1 ? std::gcd(layoutBlock, inPerGroup) : inPerGroup <= 16 ? inPerGroup : 1;
            const Shape& out = conv.output->shape;
            blocks = (out[1] + block - 1) / block;
            blocksPerGroup = (outputsPerGroup(conv) + block - 1) / block;
            oh = out[2];
            ow = out[3];
            kw = conv.reduceAxes[2].extent;
            const Shape& in = conv.body->args[0]->tensor->shape;
            const bool onlyOnce = conv.reduceAxes[1].extent * kw == 1 && in[1] == inPerGroup && in[2] == oh && in[3] == ow;
            strewn = onlyOnce && inBlock == layoutBlock && inPerGroup > kStreams * inBlock;
        }
    };

    static constexpr std::int64_t kLongestUnrolled = 16; // a spectrum's window of 512, written out, takes seconds to compile and gains nothing
    static constexpr std::int64_t kStreams = 8; // that a core fetches ahead by itself, or nearly so

    static std::int64_t registers(const Target& target) { return target.vectorRegisters() == 32 ? 29 : 13; }

    // With groups, the input channel is (oc / perGroup) * inPerGroup + r: find perGroup by where it steps.
    static std::int64_t outputsPerGroup(const Stage& conv) {
        const std::int64_t inputs = conv.body->args[0]->tensor->shape[1];
        return conv.output->shape[1] / std::max<std::int64_t>(1, inputs / conv.reduceAxes[0].extent);
    }

    static bool groupsAlign(const Stage& conv, std::int64_t block) {
        return outputsPerGroup(conv) % block == 0 || outputsPerGroup(conv) == conv.output->shape[1];
    }

    // `order`: the loops of the reduction, outermost first.
    static void fetchWeights(loops::StageSchedule& conv, const Stage& stage, const Sizes& s, const Tiles& tiles, const OutputLoops& out,
                             const std::array<Var, 4>& order) {
        const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
        const std::int64_t channels = stage.reduceAxes[0].extent, kh = stage.reduceAxes[1].extent;
        const std::int64_t columns = up(s.ow, tiles.columns), steps = up(s.inBlock, tiles.unroll);
        const auto& [icBlock, row, column, icStep] = order;
        const Expr step = ((Expr(icBlock) * Expr(kh) + Expr(row)) * Expr(s.kw) + Expr(column)) * Expr(steps) + Expr(icStep);
        fetchNextPanel(conv, icStep, {stage.body->args[1]->tensor, Expr(out.panel), up(s.blocks, tiles.blocks),
                                      tiles.blocks * s.block * channels * kh * s.kw, Expr(out.row) * Expr(columns) + Expr(out.tile), step,
                                      s.oh * columns, channels / s.inBlock * kh * s.kw * steps});
    }

    // A tile reads a piece of each block of channels. While it is worked on, the next tile's pieces are fetched: 256 channels of
    // 56x56 to 64 run at 97 % of a Zen 4 core's arithmetic instead of 70 to 88.
    static void fetchNextTile(loops::StageSchedule& conv, const loops::TensorRef& input, const Sizes& s, const Tiles& tiles, const OutputLoops& out,
                              const Var& icBlock, const Var& icStep) {
        const std::int64_t steps = s.inBlock / tiles.unroll, perStep = (tiles.columns + steps - 1) / steps;
        const Expr image = Expr(conv.axes()[0]) * Expr((input->shape[1] + s.inBlock - 1) / s.inBlock) + Expr(icBlock);
        const Expr column = (image * Expr(s.oh) + Expr(out.row)) * Expr(s.ow) + (Expr(out.tile) + Expr(1)) * Expr(tiles.columns);
        for (std::int64_t i = 0; i < perStep; ++i)
            conv.prefetch(icStep, input, (column + Expr(icStep) * Expr(perStep) + Expr(i)) * Expr(s.inBlock));
    }

    static OutputLoops scheduleOutput(loops::StageSchedule& o, const Sizes& s, std::int64_t owTile, std::int64_t ocTile, std::int64_t rows, bool ocOuter) {
        const Var n = o.axes()[0], oh = o.axes()[2];
        const auto [ocBlock, lane] = o.split(o.axes()[1], s.block);
        const auto [oc, ocInner] = o.split(ocBlock, ocTile);
        const auto [ohOuter, ohInner] = o.split(oh, rows);
        const auto [ow, owInner] = o.split(o.axes()[3], owTile);
        const Var first = ocOuter ? oc : ohOuter, second = ocOuter ? ohOuter : oc;
        o.reorder({n, first, second, ohInner, ow, owInner, ocInner, lane});
        o.parallel(o.fuse(o.fuse(n, first), second));
        o.unroll(owInner);
        o.unroll(ocInner);
        o.vectorize(lane);
        return {oc, oh, ow};
    }
};

} // namespace

const ScheduleTemplate& convTemplate() {
    static const ConvTemplate instance;
    return instance;
}

} // namespace tunesmith
