// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/schedule/template.h"

namespace tunesmith {
namespace {

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
        const std::int64_t length = rowLength(lowered);
        std::vector<std::int64_t> lanes{1};
        for (std::int64_t count = 4; count <= 2 * target.floatLanes() && count <= length; count *= 2)
            lanes.push_back(count);
        return {Knob::ofNumbers("lanes", lanes)};
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload&, const Target& target) const override {
        const std::int64_t lanes = space.value(config, 0).numbers[0];
        return lanes <= target.floatLanes() ? static_cast<double>(lanes) : 0.5 * static_cast<double>(lanes);
    }

    void apply(loops::Schedule& schedule, LoweredWorkload&, const KnobSpace& space, const Config& config, const Target&) const override {
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
        }
        auto& o = schedule[output];
        const Var row = fuseRows(o);
        vectorizeRow(o, lanes);
        for (const Stage& stage : schedule.program().stages) {
            if (stage.output == output)
                continue;
            auto& s = schedule[stage.output];
            s.computeAt(output, row);
            if (stage.reduction == Reduction::none)
                vectorizeRow(s, lanes);
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

    static bool readsTensor(const loops::Expr& e, const TensorRef& tensor) {
        return (e->op == loops::Op::load && e->tensor == tensor) ||
               std::any_of(e->args.begin(), e->args.end(), [&](const loops::Expr& arg) { return readsTensor(arg, tensor); });
    }

    static bool allRead(const loops::Program& program) {
        return std::all_of(program.stages.begin(), program.stages.end(), [&](const Stage& stage) {
            return stage.output == program.outputs[0] || std::any_of(program.stages.begin(), program.stages.end(), [&](const Stage& reader) {
                       return readsTensor(reader.body, stage.output);
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

    static Var fuseRows(loops::StageSchedule& o) {
        Var row = o.axes()[0];
        for (std::size_t d = 1; d + 1 < o.axes().size(); ++d)
            row = o.fuse(row, o.axes()[d]);
        o.parallel(row);
        return row;
    }

    static void vectorizeRow(loops::StageSchedule& s, std::int64_t lanes) {
        if (lanes > 1 && s.axes().size() > 1)
            s.vectorize(s.split(s.axes().back(), lanes).second);
    }
};

} // namespace

const ScheduleTemplate& rowsTemplate() {
    static const RowsTemplate instance;
    return instance;
}

} // namespace tunesmith
