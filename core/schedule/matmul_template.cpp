// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/loops/simplify.h"
#include "core/schedule/autotvm_template.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/next_panel.h"
#include "core/schedule/operand_copy.h"
#include "core/schedule/product_stage.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Layout;
using loops::Op;
using loops::Stage;
using loops::Var;

// Matrix products of any batch: a tile of rows x (vectors of columns) is accumulated in registers over the whole of k.
// Constant right-hand sides are packed into panels as wide as the tile's vectors; others whose columns do not lie side by side are
// turned round into scratch memory first.
// Rows and columns that tiles do not divide end in smaller tiles of their own. Rows are those of the longest leading dimension
// when all of them share the right side, so that 197x1xK is a product of 197 rows.
class MatmulTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "matmul"; }

    bool matches(const LoweredWorkload& lowered, const Target& target) const override {
        const Stage* stage = productStage(lowered);
        if (!stage || !lowered.outputLayouts[0].isRowMajor() || Sizes(*stage, target).n < kFewestColumns)
            return false;
        return isPackable(lowered) || hasColumnsApart(*stage) || isContiguous(*stage);
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(*productStage(lowered), target);
        std::vector<std::int64_t> vectors, depths, rows;
        for (const std::int64_t count : {1, 2, 3, 4, 5, 6, 8})
            if (count == 1 || (count - 1) * s.lanes < s.n)
                vectors.push_back(count);
        for (const std::int64_t count : {1, 2, 4, 8})
            if (count <= s.k)
                depths.push_back(count);
        for (std::int64_t count = 1; count <= (target.vectorRegisters() == 32 ? 14 : 6); ++count)
            if (count <= s.m)
                rows.push_back(count);
        return {Knob::ofNumbers("m_tile", rows),
                Knob::ofNumbers("n_tile", vectors), Knob::ofNumbers("k_unroll", depths),
                Knob::ofNumbers("n_outer", s.m > 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1})};
    }

    // The accumulators, a row of vectors of the right side and the broadcast left one fit the registers.
    KnobSpace::Filter filter(const LoweredWorkload&, const Target& target) const override {
        const std::int64_t limit = target.vectorRegisters() - 2;
        return [limit](const KnobSpace& space, const Config& config) {
            const std::int64_t m = space.value(config, 0).numbers[0], n = space.value(config, 1).numbers[0];
            return m * n + n <= limit;
        };
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(*productStage(lowered), target);
        const auto knob = [&](std::size_t i) { return static_cast<double>(space.value(config, i).numbers[0]); };
        const double width = knob(1) * static_cast<double>(s.lanes);
        const double covered = static_cast<double>(s.n) / (std::ceil(static_cast<double>(s.n) / width) * width);
        const double rows = static_cast<double>(s.m) / (std::ceil(static_cast<double>(s.m) / knob(0)) * knob(0));
        return covered * rows * std::min(1.0, knob(0) * knob(1) / 12) * (1.2 - 0.3 / knob(0) - 0.2 / knob(1)) -
               (knob(2) > 1 ? 0.004 * knob(2) : 0.0) - (knob(3) > 0 ? 0.0 : 0.002);
    }

    void prepare(LoweredWorkload& lowered) const override {
        if (!isPackable(lowered) && !isContiguous(*productStage(lowered)))
            copyRightOperand(lowered.program);
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target& target) const override {
        const bool copied = copiesOperand(lowered.program), packed = !copied && isPackable(lowered);
        const Stage stage = lowered.program.stages[copied ? 1 : 0];
        const Sizes s(stage, target);
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const std::int64_t width = std::min(knob(1) * s.lanes, s.n);
        if (packed)
            packRight(lowered, width);
        if (copied)
            scheduleCopy(schedule, stage, target);
        const auto [copy, product, output] = productParts(schedule);
        auto& o = schedule[output];
        const Var n = o.axes().back(), m = o.axes()[s.rowAxis];
        const auto [nOuter, nInner] = o.split(n, width);
        const auto [mOuter, mInner] = o.split(m, knob(0));
        const auto [vector, lane] = o.split(nInner, s.lanes);
        std::vector<Var> order(o.axes().begin(), o.axes().end() - 1);
        order.erase(order.begin() + static_cast<std::ptrdiff_t>(s.rowAxis));
        const std::size_t batches = order.size();
        const Var first = knob(3) ? nOuter : mOuter, at = knob(3) ? mOuter : nOuter;
        order.insert(order.end(), {first, at, mInner, vector, lane});
        o.reorder(order);
        // A loop with a shorter last tile may not be dealt out together with others: the tail could not be split off.
        const bool even = knob(3) ? s.n % width == 0 : s.m % knob(0) == 0;
        const std::size_t dealt = batches + (even || s.batch == 1 ? 1 : 0);
        Var parallel = order[0];
        for (std::size_t i = 1; i < dealt; ++i)
            parallel = o.fuse(parallel, order[i]);
        o.parallel(parallel);
        o.unroll(mInner);
        o.unroll(vector);
        o.vectorize(lane);
        auto& p = schedule[product];
        p.computeAt(output, at);
        const Var pm = p.axes()[s.rowAxis];
        const auto [pv, pl] = p.split(p.axes().back(), s.lanes);
        const auto [kStep, kUnrolled] = p.split(p.reduceAxes()[0], knob(2));
        p.reorder({kStep, kUnrolled, pm, pv, pl});
        for (const Var& loop : {kUnrolled, pm, pv})
            p.unroll(loop);
        p.vectorize(pl);
        if (packed && knob(3))
            fetchNextPanel(p, kStep, {stage.body->args[1]->tensor, Expr(nOuter), (s.n + width - 1) / width, s.k * width, Expr(mOuter), Expr(kStep),
                                      (s.m + knob(0) - 1) / knob(0), (s.k + knob(2) - 1) / knob(2)});
    }

private:
    static constexpr std::int64_t kFewestColumns = 2, kNarrow = 8; // fewer columns than that are computed four at a time

    struct Sizes {
        std::size_t rowAxis;
        std::int64_t m, n, k, lanes, batch = 1; // batch: products of m x n
        Sizes(const Stage& stage, const Target& target) {
            const std::size_t leading = stage.axes.size() - 1;
            rowAxis = leading - 1;
            if (sharesRight(stage))
                for (std::size_t d = 0; d < leading; ++d)
                    if (stage.axes[d].extent > stage.axes[rowAxis].extent)
                        rowAxis = d;
            for (std::size_t d = 0; d < leading; ++d)
                batch *= d == rowAxis ? 1 : stage.axes[d].extent;
            m = stage.axes[rowAxis].extent;
            n = stage.axes.back().extent;
            k = stage.reduceAxes[0].extent;
            lanes = std::min<std::int64_t>(n < kNarrow ? 4 : target.floatLanes(), n);
        }
    };

    // Whether the right side is the same matrix for all leading dimensions of the output.
    static bool sharesRight(const Stage& stage) {
        for (const Expr& index : stage.body->args[1]->args)
            for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d)
                if (loops::usesVar(index, stage.axes[d].var))
                    return false;
        return true;
    }

    static bool isPackable(const LoweredWorkload& lowered) {
        const std::size_t right = argumentOf(lowered, productStage(lowered)->body->args[1]->tensor);
        return right < lowered.constantArguments.size() && lowered.constantArguments[right] &&
               lowered.program.inputs[right]->shape.size() == 2;
    }

    static bool isVar(const Expr& index, const Var& var) { return index->op == Op::var && index->var == var; }

    static bool isContiguous(const Stage& stage) { return isVar(stage.body->args[1]->args.back(), stage.axes.back().var); }

    static std::size_t dimOf(const Expr& read, const Var& var) {
        return static_cast<std::size_t>(std::ranges::find_if(read->args, [&](const Expr& index) { return isVar(index, var); }) - read->args.begin());
    }

    // Whether the right side has a dimension for its columns and one for its rows, so that a copy of it can be turned round.
    static bool hasColumnsApart(const Stage& stage) {
        const Expr& right = stage.body->args[1];
        return dimOf(right, stage.axes.back().var) < right->args.size() && dimOf(right, stage.reduceAxes[0].var) < right->args.size();
    }

    // Squares of the copy are turned round in registers.
    static void scheduleCopy(loops::Schedule& schedule, const Stage& stage, const Target& target) {
        const Expr& right = stage.body->args[1];
        const std::size_t column = dimOf(right, stage.axes.back().var), row = dimOf(right, stage.reduceAxes[0].var);
        std::vector<std::size_t> dims;
        for (std::size_t d = 0; d < right->args.size(); ++d)
            if (d != column && d != row)
                dims.push_back(d);
        auto& s = schedule[right->tensor];
        std::vector<Var> order;
        for (const std::size_t d : dims)
            order.push_back(s.axes()[d]);
        dims.insert(dims.end(), {row, column});
        schedule.setLayout(right->tensor, Layout::permuted(dims));
        const auto [columns, lane] = s.split(s.axes()[column], target.floatLanes());
        const auto [rows, inner] = s.split(s.axes()[row], target.floatLanes());
        const std::size_t matrices = order.size();
        order.insert(order.end(), {columns, rows, inner, lane});
        s.reorder(order);
        Var dealt = order[0];
        for (std::size_t d = 1; d < matrices; ++d)
            dealt = s.fuse(dealt, order[d]);
        s.parallel(dealt);
        s.transpose(inner);
        s.vectorize(lane);
    }

    // Columns in panels: N/width, K, width.
    static void packRight(LoweredWorkload& lowered, std::int64_t width) {
        const Stage& stage = *productStage(lowered);
        const Expr& last = stage.body->args[1]->args[1];
        const std::size_t columns = last->op == Op::var && last->var == stage.axes.back().var ? 1 : 0;
        lowered.argumentLayouts[argumentOf(lowered, stage.body->args[1]->tensor)] =
            Layout({{columns, width, 0}, {1 - columns, 1, 0}, {columns, 1, width}});
    }
};

} // namespace

const ScheduleTemplate& matmulTemplate() {
    static const MatmulTemplate instance;
    return instance;
}

} // namespace tunesmith
