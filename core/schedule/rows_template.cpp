// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/schedule/joined_axes.h"
#include "core/schedule/large_outputs.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Reduction;
using loops::Stage;
using loops::TensorRef;
using loops::Var;

// What normalises or reduces along the innermost dimension, or several up to it: softmax, layer normalisation, means of maps. One row after the other is
// finished in local buffers; reductions are split over vector lanes.
class RowsTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "rows"; }

    bool matches(const LoweredWorkload& lowered, const Target&) const override {
        const auto& program = lowered.program;
        if (program.outputs.size() != 1 || !lowered.outputLayouts[0].isRowMajor())
            return false;
        const Stage& last = program.stages.back();
        bool reduces = false;
        for (const Stage& stage : program.stages) {
            if (stage.axes.size() != last.axes.size() || stage.axes.size() < 2 || !sharesRows(stage, last))
                return false;
            if (stage.reduction == Reduction::none)
                continue;
            reduces = true;
            if (stage.axes.back().extent != 1 || stage.guard.valid() || (stage.reduceAxes.size() != 1 && !readsRows(lowered)))
                return false;
        }
        return reduces && last.output == program.outputs[0] && allRead(program);
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Shape& shape = lowered.program.outputs[0]->shape;
        const std::int64_t length = rowLength(lowered), rows = shape[rowDim(shape)];
        std::vector<std::int64_t> lanes{1}, together{1};
        for (std::int64_t count = 4; count <= 2 * target.floatLanes() && count <= length; count *= 2)
            lanes.push_back(count);
        for (std::int64_t count = 2; count <= 4 && rows % count == 0; count *= 2)
            together.push_back(count);
        return {Knob::ofNumbers("lanes", lanes), Knob::ofNumbers("rows", together)};
    }

    // A row ends with waiting for its last sum: others are computed meanwhile, unless they would be further streams from memory.
    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const auto lanes = static_cast<double>(space.value(config, 0).numbers[0]), rows = static_cast<double>(space.value(config, 1).numbers[0]);
        const bool writesRows = lowered.program.outputs[0]->shape.back() > 1;
        const double most = target.floatLanes() * (writesRows && target.vectorRegisters() > 16 ? 2 : 1);
        const double together = (rowLength(lowered) <= 256 ? 2 : 1) * (outgrowsCaches(lowered) ? 1 : 2);
        return (lanes <= most ? lanes : 0.5 * lanes) + 0.1 * (rows <= together ? rows : together - rows);
    }

    // A map's rows are one long row: vectors do not end where they do.
    void prepare(LoweredWorkload& lowered) const override {
        for (Stage& stage : lowered.program.stages)
            while (joinLastReduceAxes(stage)) {
            }
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target&) const override {
        const std::int64_t lanes = space.value(config, 0).numbers[0];
        TensorRef output = schedule.program().outputs[0];
        if (schedule.program().stageOf(output)->reduction != Reduction::none)
            schedule.cacheWrite(output);
        std::vector<TensorRef> reductions;
        for (const Stage& stage : schedule.program().stages)
            if (stage.reduction != Reduction::none && stage.reduceAxes.back().extent >= lanes && lanes > 1)
                reductions.push_back(stage.output);
        for (const TensorRef& tensor : reductions) {
            const TensorRef partial = schedule.rfactor(tensor, schedule.program().stageOf(tensor)->reduceAxes.size() - 1, lanes);
            auto& p = schedule[partial];
            std::vector<Var> order = p.reduceAxes();
            order.push_back(p.axes().back());
            p.reorder(order);
            p.vectorize(p.axes().back());
            schedule[tensor].vectorize(schedule[tensor].reduceAxes()[0]);
        }
        auto& o = schedule[output];
        const std::size_t rows = rowDim(output->shape);
        const Var row = o.split(o.axes()[rows], space.value(config, 1).numbers[0]).second;
        const Var group = fuseAllBut(o, row, o.axes().size() - 1);
        o.parallel(group);
        vectorizeRow(o, lanes);
        besides(o, row);
        for (const Stage& stage : schedule.program().stages) {
            if (stage.output == output)
                continue;
            auto& s = schedule[stage.output];
            s.computeAt(output, group);
            const Var step = stage.reduction == Reduction::none ? vectorizeRow(s, lanes) : nullptr;
            besides(s, s.axes()[rows]);
            if (step && stage.output->shape == output->shape && outgrowsCaches(lowered))
                fetchNextRows(s, step, lanes, lowered.program);
        }
    }

private:
    static bool readsRows(const LoweredWorkload& lowered) {
        return std::ranges::all_of(lowered.argumentLayouts, [](const loops::Layout& layout) { return layout.isRowMajor(); });
    }

    static bool sharesRows(const Stage& stage, const Stage& last) {
        for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d)
            if (stage.axes[d].extent != last.axes[d].extent)
                return false;
        return true;
    }

    static bool allRead(const loops::Program& program) {
        return std::all_of(program.stages.begin(), program.stages.end(), [&](const Stage& stage) {
            return stage.output == program.outputs[0] || std::any_of(program.stages.begin(), program.stages.end(), [&](const Stage& reader) {
                       return loops::reads(reader.body, stage.output);
                   });
        });
    }

    static std::int64_t rowLength(const LoweredWorkload& lowered) {
        std::int64_t length = lowered.program.outputs[0]->shape.back();
        for (const Stage& stage : lowered.program.stages)
            for (const auto& axis : stage.reduceAxes)
                length = std::max(length, axis.extent);
        return length;
    }

    // The dimension along which there are several rows.
    static std::size_t rowDim(const Shape& shape) {
        std::size_t dim = shape.size() - 2;
        while (dim > 0 && shape[dim] == 1)
            --dim;
        return dim;
    }

    // The first loops, without one of them, which comes after them.
    static Var fuseAllBut(loops::StageSchedule& s, const Var& row, std::size_t count) {
        std::vector<Var> order(s.loops().begin(), s.loops().begin() + static_cast<std::ptrdiff_t>(count) + 1);
        std::erase(order, row);
        order.push_back(row);
        s.reorder(order);
        Var all = order[0];
        for (std::size_t i = 1; i < count; ++i)
            all = s.fuse(all, order[i]);
        return all;
    }

    // Several rows side by side: their loop comes last but for the lanes and is written out.
    static void besides(loops::StageSchedule& s, const Var& rows) {
        std::vector<Var> order(std::ranges::find(s.loops(), rows) + 1, s.loops().end());
        if (order.empty())
            return;
        order.insert(order.end() - (order.size() > 1 ? 1 : 0), rows);
        s.reorder(order);
        s.unroll(rows);
    }

    // Returns the loop over the row's vectors, if any.
    static Var vectorizeRow(loops::StageSchedule& s, std::int64_t lanes) {
        if (lanes == 1 || s.axes().size() < 2)
            return nullptr;
        const auto [step, lane] = s.split(s.axes().back(), lanes);
        s.vectorize(lane);
        return step;
    }

    // While a row is computed, the processor sees no reads to guess the next ones from.
    static void fetchNextRows(loops::StageSchedule& s, const Var& step, std::int64_t lanes, const loops::Program& program) {
        constexpr std::int64_t kFloatsAhead = 1024;
        const Shape& shape = program.outputs[0]->shape;
        const std::int64_t rows = (kFloatsAhead + shape.back() - 1) / shape.back();
        const std::int64_t linesAtOnce = rows > 1 ? 2 : 1; // within the next few rows the processor fetches a line's neighbour by itself
        const Expr place = loops::Layout::rowMajor(shape.size()).offset(shape, {s.axes().begin(), s.axes().end()});
        for (const TensorRef& input : program.inputs)
            if (input->shape == shape)
                for (std::int64_t line = 0; line < lanes; line += linesAtOnce * kLineFloats)
                    s.prefetch(step, input, place + Expr(rows * shape.back() + line), 1);
    }
};

} // namespace

const ScheduleTemplate& rowsTemplate() {
    static const RowsTemplate instance;
    return instance;
}

} // namespace tunesmith
