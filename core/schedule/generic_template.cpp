// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/joined_axes.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Layout;
using loops::LinearForm;
using loops::Reduction;
using loops::Stage;
using loops::Var;
using loops::VarRanges;

// Fits everything: each stage is a phase of its own that walks its output in memory order, the innermost contiguous piece
// in vectors. Where all operands lie like the output, the whole tensor is one long loop.
class GenericTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "generic"; }
    bool matches(const LoweredWorkload&, const Target&) const override { return true; }

    std::vector<Knob> knobs(const LoweredWorkload&, const Target& target) const override {
        std::vector<std::int64_t> lanes;
        for (std::int64_t count = 1; count <= 2 * target.floatLanes(); count *= 2)
            if (count != 2)
                lanes.push_back(count);
        return {Knob::ofNumbers("lanes", lanes), Knob::ofNumbers("vectors_per_task", {16, 64, 256, 1024})};
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload&, const Target& target) const override {
        const std::int64_t lanes = space.value(config, 0).numbers[0], task = space.value(config, 1).numbers[0];
        return (lanes == target.floatLanes() ? 1.0 : 0.0) + (task == 256 ? 0.1 : 0.0);
    }

    void prepare(LoweredWorkload& lowered) const override {
        for (Stage& stage : lowered.program.stages)
            while (isOneNumber(stage) && readsRowMajor(lowered, stage.body) && joinLastReduceAxes(stage)) {
            }
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target&) const override {
        const std::int64_t lanes = space.value(config, 0).numbers[0], task = space.value(config, 1).numbers[0];
        for (const Stage& stage : lowered.program.stages) {
            const Layout layout = layoutOf(lowered, stage.output);
            auto& s = schedule[stage.output];
            if (s.axes().empty())
                continue;
            schedule.setLayout(stage.output, layout);
            const auto partial = lanes > 1 && isOneNumber(stage) ? partialOf(lowered, stage, lanes) : std::nullopt;
            if (partial)
                scheduleOneNumber(schedule, stage, *partial);
            else if (isLinear(lowered, stage, layout))
                scheduleLinear(s, lanes, task);
            else
                scheduleByAxes(s, stage, layout, lanes);
        }
    }

private:
    static Layout layoutOf(const LoweredWorkload& lowered, const loops::TensorRef& tensor) {
        for (std::size_t i = 0; i < lowered.program.inputs.size(); ++i)
            if (lowered.program.inputs[i] == tensor)
                return lowered.argumentLayouts[i];
        for (std::size_t i = 0; i < lowered.program.outputs.size(); ++i)
            if (lowered.program.outputs[i] == tensor)
                return lowered.outputLayouts[i];
        return scratchLayout(lowered, *lowered.program.stageOf(tensor));
    }

    // What lies between stages is kept in blocks of channels where what it is made from is.
    static Layout scratchLayout(const LoweredWorkload& lowered, const Stage& stage) {
        const std::size_t rank = stage.axes.size();
        const std::int64_t block = rank < 2 ? 1 : blockRead(lowered, stage.body, stage.axes[1]);
        return block > 1 ? Layout::blocked(rank, 1, block) : Layout::rowMajor(rank);
    }

    // The block of a value that is read at `channel`, if it divides the channels.
    static std::int64_t blockRead(const LoweredWorkload& lowered, const Expr& e, const loops::Axis& channel) {
        if (e->op == loops::Op::load) {
            if (e->args.size() < 2 || e->args[1]->op != loops::Op::var || e->args[1]->var != channel.var)
                return 1;
            const Layout layout = layoutOf(lowered, e->tensor);
            const auto& last = layout.axes().back();
            return last.dim == 1 && last.extent > 1 && channel.extent % last.extent == 0 ? last.extent : 1;
        }
        std::int64_t block = 1;
        for (const Expr& arg : e->args)
            block = std::max(block, blockRead(lowered, arg, channel));
        return block;
    }

    // Every operand is read at the element that is written, or is one and the same element for all.
    static bool isLinear(const LoweredWorkload& lowered, const Stage& stage, const Layout& layout) {
        return stage.reduction == Reduction::none && layout.isRowMajor() && !stage.guard.valid() &&
               readsLinearly(lowered, stage.body, stage);
    }

    static bool readsLinearly(const LoweredWorkload& lowered, const Expr& e, const Stage& stage) {
        if (e->op == loops::Op::load) {
            VarRanges ranges;
            std::vector<Expr> axes;
            for (const auto& axis : stage.axes) {
                ranges.set(axis.var, {0, axis.extent - 1});
                axes.emplace_back(axis.var);
            }
            const Expr written = Layout::rowMajor(axes.size()).offset(stage.output->shape, axes);
            LinearForm difference = loops::toLinear(layoutOf(lowered, e->tensor).offset(e->tensor->shape, e->args), ranges);
            const bool fixed = difference.isConstant();
            difference.add(loops::toLinear(written, ranges), -1);
            return fixed || difference.isConstant();
        }
        if (e->op == loops::Op::var)
            return false; // would become a division per element
        return std::all_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return readsLinearly(lowered, arg, stage); });
    }

    static void scheduleLinear(loops::StageSchedule& s, std::int64_t lanes, std::int64_t task) {
        Var all = s.axes()[0];
        for (std::size_t d = 1; d < s.axes().size(); ++d)
            all = s.fuse(all, s.axes()[d]);
        const auto [chunk, rest] = s.split(all, lanes * task);
        const auto [vector, lane] = s.split(rest, lanes);
        s.parallel(chunk);
        if (lanes > 1)
            s.vectorize(lane);
    }

    static bool isOneNumber(const Stage& stage) {
        return stage.reduction != Reduction::none && elementCount(stage.output->shape) == 1 && !stage.guard.valid();
    }

    static bool readsRowMajor(const LoweredWorkload& lowered, const Expr& e) {
        return (e->op != loops::Op::load || layoutOf(lowered, e->tensor).isRowMajor()) &&
               std::ranges::all_of(e->args, [&](const Expr& arg) { return readsRowMajor(lowered, arg); });
    }

    // Along which axis of a reduction to one number there are partial results, and how many.
    struct Partial {
        std::size_t axis;
        std::int64_t count;
    };
    static std::optional<Partial> partialOf(const LoweredWorkload& lowered, const Stage& stage, std::int64_t lanes) {
        for (std::size_t k = stage.reduceAxes.size(); k-- > 0;) {
            const loops::Axis& axis = stage.reduceAxes[k];
            const std::int64_t block = neighboursAlong(lowered, stage.body, axis), most = std::min<std::int64_t>(4 * lanes, kFewestPartial);
            if (block >= kFewestPartial)
                return Partial{k, most};
            if (block > 1 && block < axis.extent && axis.extent % block == 0) // of channels
                return Partial{k, block};
        }
        return std::nullopt;
    }

    // How many elements along an axis lie side by side wherever something is read along it.
    static std::int64_t neighboursAlong(const LoweredWorkload& lowered, const Expr& e, const loops::Axis& axis) {
        std::int64_t count = axis.extent;
        for (const Expr& arg : e->args)
            count = std::min(count, neighboursAlong(lowered, arg, axis));
        if (e->op != loops::Op::load)
            return count;
        const Layout layout = layoutOf(lowered, e->tensor);
        const Layout::Axis& last = layout.axes().empty() ? Layout::Axis{0, 1, 0} : layout.axes().back();
        const bool inBlocks = last.extent > 0 && last.divisor == 1 && e->args[last.dim]->op == loops::Op::var && e->args[last.dim]->var == axis.var;
        const auto stride = loops::strideAlong(layout.offset(e->tensor->shape, e->args), axis.var);
        return inBlocks ? std::min(count, last.extent) : stride && (*stride == 0 || *stride == 1) ? count : 0;
    }

    // Vectors of partial results, several at a time because each waits for the one before, and their combination.
    static void scheduleOneNumber(loops::Schedule& schedule, const Stage& stage, const Partial& lanes) {
        const loops::TensorRef partial = schedule.rfactor(stage.output, lanes.axis, lanes.count);
        auto& p = schedule[partial];
        std::vector<Var> order(p.axes().begin(), p.axes().end() - 1);
        order.insert(order.end(), p.reduceAxes().begin(), p.reduceAxes().end());
        order.push_back(p.axes().back());
        p.reorder(order);
        p.vectorize(order.back());
    }

    static constexpr std::int64_t kFewestPartial = 64;

    // Loops follow the physical axes of the output; reductions run just outside the lanes.
    static void scheduleByAxes(loops::StageSchedule& s, const Stage& stage, const Layout& layout, std::int64_t lanes) {
        std::vector<Var> order;
        std::vector<Var> blockOf(stage.axes.size());
        for (const auto& axis : layout.axes()) {
            if (axis.extent) {
                order.push_back(blockOf[axis.dim]);
            } else if (axis.divisor > 1) {
                const auto [outer, inner] = s.split(s.axes()[axis.dim], axis.divisor);
                order.push_back(outer);
                blockOf[axis.dim] = inner;
            } else {
                order.push_back(s.axes()[axis.dim]);
            }
        }
        Var lane = order.back();
        order.pop_back();
        if (!layout.axes().back().extent && lanes > 1) {
            const auto [steps, inner] = s.split(lane, lanes);
            order.push_back(steps);
            lane = inner;
        }
        const std::size_t spatial = order.size();
        order.insert(order.end(), s.reduceAxes().begin(), s.reduceAxes().end());
        order.push_back(lane);
        s.reorder(order);
        if (lanes > 1)
            s.vectorize(lane);
        if (spatial == 0)
            return;
        Var parallel = order[0]; // all but the innermost of the outer loops are dealt out to threads
        for (std::size_t i = 1; i + 1 < spatial; ++i)
            parallel = s.fuse(parallel, order[i]);
        s.parallel(parallel);
    }
};

} // namespace

const ScheduleTemplate& genericTemplate() {
    static const GenericTemplate instance;
    return instance;
}

} // namespace tunesmith
