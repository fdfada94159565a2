// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/schedule/autotvm_product.h"
#include "core/schedule/operand_copy.h"

namespace tunesmith {
namespace {

using loops::Layout;
using loops::StageSchedule;
using loops::TensorRef;
using loops::Var;

// dense_nopack.x86 and batch_matmul.x86: rows of the left side times rows of the right one, as many elements of k at a time as
// tile_k says; these partial sums are added up at the end.
class DotProducts : public AutotvmTemplate {
public:
    void prepare(LoweredWorkload& lowered) const override {
        const AutotvmProduct product(lowered);
        if (!product.rightIsConstant && product.depthDim + 1 != product.rightRank)
            copyRightOperand(lowered.program); // k must be innermost, which in TVM a transposition would have seen to
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config,
               const Target& target) const override {
        const AutotvmProduct product(schedule.program(), lowered);
        const Tiles tiles(KnobReader(space, config), target);
        const ProductParts parts = productParts(schedule);
        const Layout rows = rowsOf(product);
        if (parts.copy) {
            schedule.setLayout(parts.copy, rows);
            scheduleTransposition(schedule[parts.copy], product, target);
        } else if (product.rightIsConstant) {
            lowered.argumentLayouts[product.rightArgument] = rows;
        }
        const TensorRef partial = schedule.rfactor(parts.sums, 0, tiles.depth);
        const Var at = scheduleOutput(schedule[parts.output], product, tiles);
        schedule[partial].computeAt(parts.output, at);
        schedule[parts.sums].computeAt(parts.output, at);
        schedulePartial(schedule[partial], product, tiles);
        scheduleSums(schedule[parts.sums], product, tiles);
    }

protected:
    struct Tiles {
        std::int64_t rows, columns, depth, fewRows, fewColumns, lanes, vector; // few: what local memory holds of a tile
        Tiles(const KnobReader& knob, const Target& target)
            : rows(knob.inner("tile_y")), columns(knob.inner("tile_x")), depth(std::min(knob.inner("tile_k"), kMostLocalFloats)),
              fewRows(rows), fewColumns(columns), lanes(std::min<std::int64_t>(depth, target.floatLanes())), vector(target.floatLanes()) {
            fewColumns = std::clamp<std::int64_t>(kMostLocalFloats / depth, 1, columns);
            fewRows = std::clamp<std::int64_t>(kMostLocalFloats / (depth * fewColumns), 1, rows);
        }
        std::int64_t vectors() const { return (depth + lanes - 1) / lanes; }
    };

private:
    virtual void schedulePartial(StageSchedule& partial, const AutotvmProduct& product, const Tiles& tiles) const = 0;

    static Layout rowsOf(const AutotvmProduct& product) {
        std::vector<std::size_t> order;
        for (std::size_t d = 0; d < product.rightRank; ++d)
            if (d != product.depthDim)
                order.push_back(d);
        order.push_back(product.depthDim);
        return Layout::permuted(order);
    }

    static void scheduleTransposition(StageSchedule& copy, const AutotvmProduct& product, const Target& target) {
        std::vector<Var> order;
        for (std::size_t d = 0; d < product.rightRank; ++d)
            if (d != product.depthDim)
                order.push_back(copy.axes()[d]);
        const std::size_t outer = order.size();
        const auto [steps, lane] = copy.split(copy.axes()[product.depthDim], std::min<std::int64_t>(product.k, target.floatLanes()));
        order.insert(order.end(), {steps, lane});
        copy.reorder(order);
        Var task = order[0];
        for (std::size_t i = 1; i < outer; ++i)
            task = copy.fuse(task, order[i]);
        copy.parallel(task);
        copy.vectorize(lane);
    }

    // Returns the loop at which a tile, or what local memory holds of it, is computed.
    static Var scheduleOutput(StageSchedule& o, const AutotvmProduct& product, const Tiles& tiles) {
        const auto [top, below] = o.split(o.axes()[product.rowAxis], tiles.rows);
        const auto [middle, row] = o.split(below, tiles.fewRows);
        const auto [side, across] = o.split(o.axes().back(), tiles.columns);
        const auto [next, column] = o.split(across, tiles.fewColumns);
        const std::int64_t lanes = std::min(tiles.fewColumns, tiles.vector);
        const auto [vectors, lane] = o.split(column, lanes);
        std::vector<Var> order = product.otherAxes(o);
        order.insert(order.end(), {top, side, middle, next, row, vectors, lane});
        o.reorder(order);
        Var task = order[0];
        for (std::size_t i = 1; i < order.size() - 5; ++i)
            task = o.fuse(task, order[i]);
        o.parallel(task);
        if (lanes > 1)
            o.vectorize(lane);
        Unroller(o).over(vectors, (tiles.fewColumns + lanes - 1) / lanes).over(row, tiles.fewRows);
        return next;
    }

    static void scheduleSums(StageSchedule& s, const AutotvmProduct& product, const Tiles& tiles) {
        Unroller(s).over(s.reduceAxes()[0], tiles.depth).over(s.axes().back(), tiles.fewColumns).over(s.axes()[product.rowAxis], tiles.fewRows);
    }
};

class DenseNoPack final : public DotProducts {
public:
    const char* name() const override { return "dense_nopack.x86"; }
    bool matches(const LoweredWorkload& lowered, const Target&) const override { return AutotvmProduct::isDense(lowered); }
    autotvm::Task task(const Workload&, const LoweredWorkload& lowered) const override { return AutotvmProduct(lowered).denseTask(name()); }

    // TVM packs from 16 rows on.
    double standing(const LoweredWorkload& lowered, const Target&) const override { return AutotvmProduct(lowered).m < 16 ? 1.1 : 0.9; }

    Config guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target& target) const override {
        const AutotvmProduct product(lowered);
        return configWith(space, {{"tile_y", {product.m}}, {"tile_x", {1}}, {"tile_k", {largestDivisor(product.k, 2 * target.floatLanes())}}});
    }

private:
    void schedulePartial(StageSchedule& p, const AutotvmProduct& product, const Tiles& tiles) const override {
        const Var row = p.axes()[product.rowAxis], column = p.axes()[product.rank - 1];
        const auto [vectors, lane] = p.split(p.axes().back(), tiles.lanes);
        p.reorder({p.reduceAxes()[0], row, column, vectors, lane});
        if (tiles.lanes > 1)
            p.vectorize(lane);
        Unroller(p).over(vectors, tiles.vectors()).over(column, tiles.fewColumns).over(row, tiles.fewRows);
    }
};

class BatchMatmul final : public DotProducts {
public:
    const char* name() const override { return "batch_matmul.x86"; }
    bool matches(const LoweredWorkload& lowered, const Target&) const override { return AutotvmProduct::isBatch(lowered); }
    autotvm::Task task(const Workload&, const LoweredWorkload& lowered) const override { return AutotvmProduct(lowered).batchTask(name()); }

    Config guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target&) const override {
        const AutotvmProduct product(lowered);
        const auto powerOfTwo = [](std::int64_t extent) { return extent % 8 == 0 ? 8 : extent % 4 == 0 ? 4 : extent % 2 == 0 ? 2 : 1; };
        return configWith(space, {{"tile_y", {powerOfTwo(product.m)}}, {"tile_x", {powerOfTwo(product.n)}}, {"tile_k", {largestDivisor(product.k, 16)}}});
    }

private:
    static constexpr std::int64_t kFewSteps = 16; // so many products are written out, more stay loops

    void schedulePartial(StageSchedule& p, const AutotvmProduct& product, const Tiles& tiles) const override {
        const Var row = p.axes()[product.rowAxis], column = p.axes()[product.rank - 1];
        const auto [vectors, lane] = p.split(p.axes().back(), tiles.lanes);
        p.reorder({row, column, p.reduceAxes()[0], vectors, lane});
        if (tiles.lanes > 1)
            p.vectorize(lane);
        Unroller body(p);
        body.over(vectors, tiles.vectors());
        if (tiles.fewRows * tiles.fewColumns <= kFewSteps)
            body.over(column, tiles.fewColumns).over(row, tiles.fewRows);
    }
};

} // namespace

const AutotvmTemplate& autotvmNoPackTemplate() {
    static const DenseNoPack instance;
    return instance;
}

const AutotvmTemplate& autotvmBatchTemplate() {
    static const BatchMatmul instance;
    return instance;
}

} // namespace tunesmith
