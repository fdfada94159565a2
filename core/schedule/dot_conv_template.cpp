// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/dot_conv_words.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Layout;
using loops::Stage;
using loops::StageSchedule;
using loops::TensorRef;
using loops::Var;

// Convolutions of bytes: lanes are neighbouring pixels of a row, whose words of channels lie side by side, and a word of weights is
// broadcast. A tile of rows x vectors x output channels of int32 sums stays in registers over the whole reduction. Where a channel
// is summed by itself (depthwise), words are of the kernel's rows and are made band by band of the output's rows.
class DotConvTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "conv2d_dot4"; }
    bool matches(const LoweredWorkload& lowered, const Target&) const override { return byteConvolution(lowered).has_value(); }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered, target);
        std::vector<std::int64_t> vectors, rows{1}, channels{1};
        for (const std::int64_t count : {1, 2, 3, 4, 6})
            if (count == 1 || (count - 1) * s.lanes < s.columns)
                vectors.push_back(count);
        for (const std::int64_t count : {2, 3, 4, 7, 8, 14})
            if (s.rows % count == 0 && (count <= 4 || s.single))
                rows.push_back(count);
        if (s.single && s.rows > 1 && rows.back() != s.rows)
            rows.push_back(s.rows);
        for (const std::int64_t count : {2, 3, 4, 6, 8, 12})
            if (s.outputs % count == 0 && !s.single)
                channels.push_back(count);
        return {Knob::ofNumbers("vectors", vectors), Knob::ofNumbers("rows", rows), Knob::ofNumbers("oc_tile", channels),
                Knob::ofNumbers("unroll_kw", s.kernel > 1 && s.kernel <= kLongestUnrolled ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0}),
                Knob::ofNumbers("oc_outer", s.single || s.outputs == 1 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{0, 1})};
    }

    // The sums, the words of a tile's pixels and a word of weights fit the registers; so does what widening needs.
    KnobSpace::Filter filter(const LoweredWorkload& lowered, const Target& target) const override {
        const std::int64_t limit = target.vectorRegisters() - (hasByteDots(target.isa) ? 2 : 6);
        const bool bands = Sizes(lowered, target).single;
        return [limit, bands](const KnobSpace& space, const Config& config) {
            const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
            const std::int64_t pixels = knob(0) * (bands ? 1 : knob(1));
            return pixels == 1 || pixels * knob(2) + pixels <= limit;
        };
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered, target);
        const auto knob = [&](std::size_t i) { return static_cast<double>(space.value(config, i).numbers[0]); };
        const double wanted = std::ceil(static_cast<double>(s.columns) / static_cast<double>(s.lanes));
        const double covered = wanted / (std::ceil(wanted / knob(0)) * knob(0));
        if (s.single) // a band of words stays in the first-level cache
            return covered * std::min(1.0, knob(0) / 4) - std::abs(std::log2(knob(1) * static_cast<double>(s.columns) / kBandPixels)) * 0.05 + 0.01 * knob(3);
        const double pixels = knob(0) * knob(1), sums = pixels * knob(2);
        return covered * std::min(1.0, sums / 12) * (1.2 - 0.5 / pixels - 0.5 / knob(2)) - 0.01 * knob(1) - (knob(3) > 0 ? 0.02 : 0.0) - (knob(4) > 0 ? 0.02 : 0.0);
    }

    void prepare(LoweredWorkload& lowered) const override { makeConvolutionOfWords(lowered); }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target& target) const override {
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const Stage& dots = *stageNamed(lowered.program, DotProgram::kDots);
        const Tiles tiles{std::min<std::int64_t>(target.floatLanes(), dots.axes.back().extent), knob(0), knob(1), knob(2), knob(3) != 0, knob(4) != 0,
                          isOfBands(dots)};
        const TensorRef weights = dots.body->args[1]->tensor, left = dots.body->args[0]->tensor;
        lowered.argumentLayouts[argumentOf(lowered, weights)] = Layout({{0, tiles.channels, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {0, 1, tiles.channels}});
        if (isFlat(dots))
            padPixels(schedule, dots, tiles);
        scheduleSums(schedule, tiles.lanes);
        const OutputLoops out = scheduleOutput(schedule[schedule.program().outputs[0]], tiles);
        scheduleDots(schedule[dots.output], dots, tiles, schedule.program().outputs[0], out.tile);
        if (const Stage* columns = stageNamed(lowered.program, DotProgram::kColumns)) {
            scheduleColumns(schedule[left], rowLength(columns->body->args.back()), target);
            scheduleWordsOf(schedule, columns->body->tensor, tiles, target, out);
        } else {
            scheduleWordsOf(schedule, left, tiles, target, out);
        }
    }

private:
    static constexpr std::int64_t kLongestUnrolled = 7;
    static constexpr double kBandPixels = 2048; // words of a depthwise convolution that are made at a time

    struct Tiles {
        std::int64_t lanes, vectors, rows, channels;
        bool unrollsKernel, channelsOutside, bands;
        std::int64_t width() const { return lanes * vectors; }
    };
    struct OutputLoops {
        Var band, tile; // in which words are made, and in which dot products are
    };

    static bool isFlat(const Stage& dots) { return dots.axes.size() == 3; }
    // Words of rows that one output channel reads and no other.
    static bool isOfBands(const Stage& dots) { return !isFlat(dots) && dots.body->args[0]->args.size() == 5 && loops::usesVar(dots.body->args[0], dots.axes[1].var); }

    struct Sizes {
        std::int64_t lanes, columns, rows, outputs, kernel; // outputs: channels of a group
        bool single;
        Sizes(const LoweredWorkload& lowered, const Target& target) {
            const IntegerProduct conv = *byteConvolution(lowered);
            const Stage& stage = *conv.stage;
            const bool flat = isPointwise(conv) || readsColumns(conv);
            const std::int64_t groups = conv.left.read->tensor->shape[1] / stage.reduceAxes[0].extent;
            single = sumsOneChannel(conv) && groups > 1;
            columns = flat ? stage.axes[2].extent * stage.axes[3].extent : stage.axes[3].extent;
            rows = flat ? 1 : stage.axes[2].extent;
            outputs = stage.axes[1].extent / groups;
            kernel = stage.reduceAxes[2].extent;
            lanes = std::min<std::int64_t>(target.floatLanes(), columns);
        }
    };

    static OutputLoops scheduleOutput(StageSchedule& o, const Tiles& tiles) {
        const Var n = o.axes()[0];
        const auto [channel, channelInner] = o.split(o.axes()[1], tiles.channels);
        const auto [column, columnInner] = o.split(o.axes().back(), tiles.width());
        const auto [vector, lane] = o.split(columnInner, tiles.lanes);
        o.unroll(channelInner);
        o.unroll(vector);
        o.vectorize(lane);
        if (o.axes().size() == 3) {
            o.reorder(tiles.channelsOutside ? std::vector<Var>{channel, n, column, channelInner, vector, lane} : std::vector<Var>{column, n, channel, channelInner, vector, lane});
            o.parallel(tiles.channelsOutside ? channel : column);
            return {n, tiles.channelsOutside ? column : channel};
        }
        const auto [row, rowInner] = o.split(o.axes()[2], tiles.rows);
        if (tiles.bands) {
            o.reorder({n, channel, row, rowInner, column, channelInner, vector, lane});
            o.parallel(o.fuse(n, channel));
            return {row, column};
        }
        o.unroll(rowInner);
        o.reorder(tiles.channelsOutside ? std::vector<Var>{n, channel, row, column, rowInner, channelInner, vector, lane}
                                        : std::vector<Var>{n, row, column, channel, rowInner, channelInner, vector, lane});
        o.parallel(o.fuse(n, tiles.channelsOutside ? channel : row));
        return {row, tiles.channelsOutside ? column : channel};
    }

    static void scheduleDots(StageSchedule& d, const Stage& dots, const Tiles& tiles, const TensorRef& output, const Var& tile) {
        d.computeAt(output, tile);
        const auto [vector, lane] = d.split(d.axes().back(), tiles.lanes);
        std::vector<Var> order{d.axes()[0]};
        order.insert(order.end(), d.reduceAxes().begin(), d.reduceAxes().end());
        order.push_back(d.axes()[1]);
        if (!isFlat(dots))
            order.push_back(d.axes()[2]);
        order.insert(order.end(), {vector, lane});
        d.reorder(order);
        for (std::size_t i = 1; i + 1 < d.axes().size(); ++i)
            d.unroll(d.axes()[i]);
        d.unroll(vector);
        d.vectorize(lane);
        if (tiles.unrollsKernel)
            d.unroll(d.reduceAxes().back());
    }

    // Computes whole vectors of pixels, also at the end. A tile of a pointwise convolution reads all of its words side by side.
    static void padPixels(loops::Schedule& schedule, const Stage& dots, const Tiles& tiles) {
        const TensorRef left = dots.body->args[0]->tensor;
        const std::int64_t width = tiles.width();
        schedule.setLayout(left, left->shape.size() == 3 ? Layout({{0, 1, 0}, {2, width, 0}, {1, 1, 0}, {2, 1, width}})
                                                         : Layout({{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {4, width, 0}, {4, 1, width}}));
        schedule.setLayout(dots.output, Layout({{0, 1, 0}, {1, 1, 0}, {2, tiles.lanes, 0}, {2, 1, tiles.lanes}}));
        auto& d = schedule[dots.output];
        d.roundUp(d.axes()[2], (dots.axes[2].extent + width - 1) / width * width);
    }

    // In pixel % length.
    static std::int64_t rowLength(const Expr& e) {
        if (e->op == loops::Op::mod)
            return loops::constantValue(e->args[1]).value_or(1);
        std::int64_t length = 1;
        for (const Expr& arg : e->args)
            length = std::max(length, rowLength(arg));
        return length;
    }

    // Row by row of the output.
    static void scheduleColumns(StageSchedule& c, std::int64_t width, const Target& target) {
        const auto [row, column] = c.split(c.axes().back(), width);
        const auto [step, lane] = c.split(column, target.floatLanes());
        static_cast<void>(row);
        static_cast<void>(step);
        c.vectorize(lane);
        c.parallel(c.fuse(c.axes()[0], c.axes()[1]));
    }

    // A phase of their own, or band by band where the output's rows are computed.
    static void scheduleWordsOf(loops::Schedule& schedule, const TensorRef& left, const Tiles& tiles, const Target& target, const OutputLoops& out) {
        auto& w = schedule[left];
        const auto [step, lane] = w.split(w.axes().back(), target.floatLanes());
        std::vector<Var> order(w.axes().begin(), w.axes().end() - 1);
        order.push_back(step);
        order.insert(order.end(), w.reduceAxes().begin(), w.reduceAxes().end());
        order.push_back(lane);
        w.reorder(order);
        w.vectorize(lane);
        const bool summed = stageNamed(schedule.program(), DotProgram::kLeftSums) != nullptr;
        if (tiles.bands && !summed)
            w.computeAt(schedule.program().outputs[0], out.band);
        else
            w.parallel(w.fuse(order[0], order[1]));
        const Stage* border = stageNamed(schedule.program(), DotProgram::kBorder);
        if (!border)
            return;
        auto& b = schedule[border->output];
        b.computeAt(left, step);
        std::vector<Var> inner(b.axes().begin(), b.axes().end() - 1);
        inner.insert(inner.end(), b.reduceAxes().begin(), b.reduceAxes().end());
        inner.push_back(b.axes().back());
        b.reorder(inner);
        b.vectorize(b.axes().back());
    }
};

} // namespace

const ScheduleTemplate& dotConvTemplate() {
    static const DotConvTemplate instance;
    return instance;
}

} // namespace tunesmith
