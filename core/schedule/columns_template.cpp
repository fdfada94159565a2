// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Op;
using loops::Stage;
using loops::Var;

// What reduces along outer dimensions and keeps the innermost one: means over tokens or images, sums of columns. Some hundred columns
// are summed up at once in the first-level cache, so that rows are read as they lie.
class ColumnsTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "columns"; }

    bool matches(const LoweredWorkload& lowered, const Target& target) const override {
        const Stage* stage = onlyReduction(lowered.program);
        if (!stage || stage->axes.empty() || stage->axes.back().extent < target.floatLanes() || stage->guard.valid())
            return false;
        const auto isPlain = [](const loops::Layout& layout) { return layout.isRowMajor(); };
        return std::ranges::all_of(lowered.argumentLayouts, isPlain) && isPlain(lowered.outputLayouts[0]) && readsColumns(stage->body, *stage);
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        std::vector<std::int64_t> columns;
        for (std::int64_t count = target.floatLanes(); count <= 2048; count *= 4)
            if (columns.empty() || count / 4 < columnsOf(lowered))
                columns.push_back(count);
        return {Knob::ofNumbers("columns", columns), Knob::ofNumbers("rows", {1, 2, 4, 8})};
    }

    // As wide as leaves some columns to each thread.
    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const std::int64_t columns = space.value(config, 0).numbers[0], rows = space.value(config, 1).numbers[0];
        const std::int64_t tasks = elementCount(lowered.program.outputs[0]->shape) / std::min(columns, columnsOf(lowered));
        return std::min(1.0, static_cast<double>(tasks) / target.threads) + 0.01 * static_cast<double>(std::min(columns, columnsOf(lowered))) /
               static_cast<double>(columnsOf(lowered)) + 0.001 / static_cast<double>(rows);
    }

    void apply(loops::Schedule& schedule, LoweredWorkload&, const KnobSpace& space, const Config& config, const Target& target) const override {
        const auto [anchor, output] = anchorStages(schedule);
        auto& o = schedule[output];
        const auto [chunk, column] = o.split(o.axes().back(), space.value(config, 0).numbers[0]);
        Var task = o.loops()[0];
        for (const std::vector<Var> loops = o.loops(); const Var& next : loops)
            if (next != task && next != column)
                task = o.fuse(task, next);
        o.parallel(task);
        o.vectorize(o.split(column, target.floatLanes()).second);
        auto& s = schedule[anchor];
        s.computeAt(output, task);
        const auto [steps, four] = s.split(s.axes().back(), 4 * target.floatLanes());
        const auto [vector, lane] = s.split(four, target.floatLanes());
        const auto [passes, row] = s.split(s.reduceAxes().back(), space.value(config, 1).numbers[0]);
        std::vector<Var> order(s.reduceAxes().begin(), s.reduceAxes().end() - 1);
        order.insert(order.end(), {passes, steps, row, vector, lane});
        s.reorder(order);
        s.unroll(row);
        s.unroll(vector);
        s.vectorize(lane);
    }

private:
    static std::int64_t columnsOf(const LoweredWorkload& lowered) { return lowered.program.outputs[0]->shape.back(); }

    // Every operand is read along the columns or is the same for all of them; one at least is read along them.
    static bool readsColumns(const Expr& e, const Stage& stage) {
        bool some = false;
        return alongColumns(e, stage.axes.back().var, some) && some;
    }

    static bool alongColumns(const Expr& e, const Var& column, bool& some) {
        if (e->op != Op::load)
            return std::ranges::all_of(e->args, [&](const Expr& arg) { return alongColumns(arg, column, some); });
        if (e->args.empty())
            return true;
        const bool along = e->args.back()->op == Op::var && e->args.back()->var == column;
        some = some || along;
        const std::size_t others = e->args.size() - (along ? 1 : 0);
        return std::none_of(e->args.begin(), e->args.begin() + static_cast<std::ptrdiff_t>(others), [&](const Expr& index) { return loops::usesVar(index, column); });
    }
};

} // namespace

const ScheduleTemplate& columnsTemplate() {
    static const ColumnsTemplate instance;
    return instance;
}

} // namespace tunesmith
