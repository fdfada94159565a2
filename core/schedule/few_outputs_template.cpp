// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/layouts.h"
#include "core/schedule/operand_copy.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Stage;
using loops::StageSchedule;
using loops::TensorRef;
using loops::Var;

// Convolutions to so few channels that these are no lanes: the last ones of networks that make pictures and masks. The columns of a row
// are the lanes, weights are broadcast. What some rows (of a wide map a part of them) read is copied into a local buffer first, with zeros
// around it and row by row, however the input lies. Knobs: rows and columns for one copy, rows and vectors of a row in registers, how far the
// channel loop is unrolled.
class FewOutputsTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "conv2d_few"; }

    bool matches(const LoweredWorkload& lowered, const Target&) const override {
        const Stage* conv = convStage(lowered);
        if (!conv || !lowered.outputLayouts[0].isRowMajor() || conv->output->shape[1] > kMostOutputs)
            return false;
        const Expr &x = conv->body->args[0], &w = conv->body->args[1];
        const std::size_t weights = argumentOf(lowered, w->tensor);
        const std::size_t input = argumentOf(lowered, x->tensor);
        if (input >= lowered.arguments.size() || (lowered.argumentLayouts[input].isRowMajor() && Sizes(lowered).taps == 1))
            return false; // single pixels of rows are one long row
        return weights < lowered.arguments.size() && lowered.constantArguments[weights] &&
               loops::strideAlong(x->args[3], conv->axes[3].var) == 1 && conv->output->shape[3] >= kFewestColumns;
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered);
        const std::int64_t lanes = target.floatLanes();
        std::vector<std::int64_t> rows, columns, tileRows, vectors, unrolls;
        for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 14, 16})
            if (s.oh % count == 0)
                rows.push_back(count);
        for (std::int64_t count = lanes; count < s.ow; count *= 2)
            columns.push_back(count);
        columns.push_back(s.ow);
        for (const std::int64_t count : {1, 2, 4})
            if (s.oh % count == 0)
                tileRows.push_back(count);
        for (const std::int64_t count : {1, 2, 3, 4, 6, 8})
            if (count == 1 || (count - 1) * lanes < s.ow)
                vectors.push_back(count);
        for (const std::int64_t count : {1, 2, 4})
            if (s.channels % count == 0)
                unrolls.push_back(count);
        return {Knob::ofNumbers("rows", rows), Knob::ofNumbers("columns", columns), Knob::ofNumbers("tile_rows", tileRows), Knob::ofNumbers("vectors", vectors),
                Knob::ofNumbers("ic_unroll", unrolls)};
    }

    // The accumulators and a vector for each of them fit the registers, the copy the stack and the cache.
    KnobSpace::Filter filter(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered);
        return [s, limit = target.vectorRegisters() - 2](const KnobSpace& space, const Config& config) {
            const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
            return knob(0) % knob(2) == 0 && (s.outputs * knob(2) + 1) * knob(3) <= limit && s.copyBytes(knob(0), knob(1)) <= kLocalBytes;
        };
    }

    // Multiplications and additions, and what it takes to copy the input, for each of its values.
    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered);
        const auto knob = [&](std::size_t i) { return static_cast<double>(space.value(config, i).numbers[0]); };
        const double lanes = target.floatLanes(), tile = knob(3) * lanes, columns = std::min(knob(1), static_cast<double>(s.ow));
        const double covered = columns / (std::ceil(columns / tile) * tile);
        const double products = static_cast<double>(s.outputs * s.taps) / (covered * std::min(1.0, static_cast<double>(s.outputs) * knob(2) * knob(3) / 8));
        const double copied = static_cast<double>(s.copyBytes(space.value(config, 0).numbers[0], space.value(config, 1).numbers[0])) /
                              (static_cast<double>(s.inputs) * sizeof(float) * knob(0) * columns);
        const double tasks = static_cast<double>(s.images * s.oh) / knob(0);
        return -(products + kCopyCost * copied) * (1 + 0.01 * knob(4)) * (tasks < 2 * target.threads && target.threads > 1 ? 2 : 1);
    }

    void prepare(LoweredWorkload& lowered) const override { copyLeftOperand(lowered.program, 2); }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target& target) const override {
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const std::int64_t lanes = target.floatLanes(), tile = knob(3) * lanes;
        const TensorRef copy = schedule.program().stages[0].output, input = schedule.program().stages[0].body->tensor;
        const TensorRef output = schedule.program().outputs[0];
        TensorRef sums = schedule.program().stages[1].output;
        if (sums == output)
            sums = schedule.cacheWrite(output);
        auto& o = schedule[output];
        const auto [rows, row] = o.split(o.axes()[2], knob(0));
        const auto [rowSteps, tileRow] = o.split(row, knob(2));
        const auto [parts, part] = o.split(o.axes()[3], knob(1));
        const auto [tiles, columns] = o.split(part, tile);
        const auto [vector, lane] = o.split(columns, lanes);
        o.reorder({o.axes()[0], rows, parts, rowSteps, tiles, o.axes()[1], tileRow, vector, lane});
        o.parallel(o.fuse(o.axes()[0], rows));
        for (const Var& loop : {o.axes()[1], tileRow, vector})
            o.unroll(loop);
        o.vectorize(lane);
        const std::int64_t windowColumns = schedule.program().stages[1].reduceAxes[2].extent;
        scheduleSums(schedule[sums], output, tiles, lanes, knob(4), windowColumns <= kLongestUnrolled);
        schedule[copy].computeAt(output, parts);
        scheduleCopy(schedule[copy], channelBlock(lowered.argumentLayouts[argumentOf(lowered, input)]), lanes);
    }

private:
    static constexpr std::int64_t kMostOutputs = 8, kFewestColumns = 4, kLongestUnrolled = 5, kLocalBytes = 128 * 1024;
    static constexpr double kCopyCost = 3; // against a multiplication and addition

    struct Sizes {
        std::int64_t images, outputs, inputs, channels, oh, ow, taps, down, spanRows, spanColumns;
        explicit Sizes(const LoweredWorkload& lowered) {
            const Stage& conv = *convStage(lowered);
            const Expr& x = conv.body->args[0];
            images = conv.output->shape[0], outputs = conv.output->shape[1], oh = conv.output->shape[2], ow = conv.output->shape[3];
            inputs = x->tensor->shape[1], channels = conv.reduceAxes[0].extent; // all, and those that an output reads
            taps = conv.reduceAxes[1].extent * conv.reduceAxes[2].extent;
            down = loops::strideAlong(x->args[2], conv.axes[2].var).value_or(1);
            spanRows = (conv.reduceAxes[1].extent - 1) * loops::strideAlong(x->args[2], conv.reduceAxes[1].var).value_or(1);
            spanColumns = (conv.reduceAxes[2].extent - 1) * loops::strideAlong(x->args[3], conv.reduceAxes[2].var).value_or(1);
        }

        std::int64_t copyBytes(std::int64_t rows, std::int64_t columns) const {
            return inputs * ((rows - 1) * down + 1 + spanRows) * (std::min(columns, ow) + spanColumns) * static_cast<std::int64_t>(sizeof(float));
        }
    };

    static void scheduleSums(StageSchedule& s, const TensorRef& output, const Var& tiles, std::int64_t lanes, std::int64_t unroll, bool unrollsColumns) {
        s.computeAt(output, tiles);
        const auto [vector, lane] = s.split(s.axes()[3], lanes);
        const auto [channel, unrolled] = s.split(s.reduceAxes()[0], unroll);
        s.reorder({s.axes()[0], channel, s.reduceAxes()[1], s.reduceAxes()[2], unrolled, s.axes()[1], s.axes()[2], vector, lane});
        for (const Var& loop : {unrolled, s.axes()[1], s.axes()[2], vector})
            s.unroll(loop);
        if (unrollsColumns)
            s.unroll(s.reduceAxes()[2]);
        s.vectorize(lane);
    }

    // By rows; channels that lie side by side are turned round in registers.
    static void scheduleCopy(StageSchedule& s, std::int64_t block, std::int64_t lanes) {
        const auto [steps, lane] = s.split(s.axes()[3], lanes);
        const auto [channels, channel] = s.split(s.axes()[1], block);
        s.reorder({s.axes()[0], channels, s.axes()[2], steps, s.reduceAxes()[0], channel, lane});
        if (block > 1)
            s.transpose(channel);
        s.vectorize(lane);
    }
};

} // namespace

const ScheduleTemplate& fewOutputsTemplate() {
    static const FewOutputsTemplate instance;
    return instance;
}

} // namespace tunesmith
