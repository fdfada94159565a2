// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/autotvm_product.h"
#include "core/schedule/operand_copy.h"

namespace tunesmith {
namespace {

using loops::Layout;
using loops::StageSchedule;
using loops::TensorRef;
using loops::Var;

// dense_pack.x86: columns of the right side in panels, a tile of rows x one panel accumulated over the whole of k; three
// levels of tiles, of which the outermost are dealt out to threads.
class DensePack final : public AutotvmTemplate {
public:
    const char* name() const override { return "dense_pack.x86"; }
    bool matches(const LoweredWorkload& lowered, const Target&) const override { return AutotvmProduct::isDense(lowered); }
    autotvm::Task task(const Workload&, const LoweredWorkload& lowered) const override { return AutotvmProduct(lowered).denseTask(name()); }

    // AutoTVM's, for tasks of which it has no record.
    Config guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target& target) const override {
        const AutotvmProduct product(lowered);
        const std::int64_t columns = largestDivisor(product.n, 2 * target.floatLanes());
        std::int64_t rows = 8;
        while (product.m % rows != 0)
            rows /= 2;
        return configWith(space, {{"tile_y", {middle(product.m / rows), rows}}, {"tile_x", {middle(product.n / columns), columns}},
                                  {"tile_k", {1}}, {"tile_inner", {rows}}});
    }

    void prepare(LoweredWorkload& lowered) const override {
        if (!AutotvmProduct(lowered).rightIsConstant)
            copyRightOperand(lowered.program);
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config,
               const Target& target) const override {
        const AutotvmProduct product(schedule.program(), lowered);
        const Tiles tiles(KnobReader(space, config), product, target);
        const ProductParts parts = productParts(schedule);
        const Layout panels = panelsOf(product, tiles.columns);
        if (parts.copy) {
            schedule.setLayout(parts.copy, panels);
            schedulePacking(schedule[parts.copy], product, tiles);
        } else {
            lowered.argumentLayouts[product.rightArgument] = panels;
        }
        auto& sums = schedule[parts.sums];
        sums.computeAt(parts.output, scheduleOutput(schedule[parts.output], product, tiles));
        scheduleSums(sums, product, tiles);
    }

private:
    struct Tiles {
        std::int64_t rows, rowTiles, columns, columnTiles, depth, inner, lanes;
        Tiles(const KnobReader& knob, const AutotvmProduct& product, const Target& target)
            : rows(knob.inner("tile_y")), rowTiles(rows * knob["tile_y"][1]), columns(knob.inner("tile_x")),
              columnTiles(columns * knob["tile_x"][1]), depth(knob.inner("tile_k")), inner(knob.inner("tile_inner")),
              lanes(std::min<std::int64_t>(columns, target.floatLanes())) {
            rows = std::min(rows, std::max<std::int64_t>(1, kMostLocalFloats / std::min(columns, product.n)));
        }
        std::int64_t vectors() const { return (columns + lanes - 1) / lanes; }
    };

    // At most four of what is left are not taken by the middle level, unless they cannot be halved.
    static std::int64_t middle(std::int64_t tiles) {
        std::int64_t factor = 1;
        while (tiles / factor > 4 && tiles / factor % 2 == 0)
            factor *= 2;
        return factor;
    }

    static Layout panelsOf(const AutotvmProduct& product, std::int64_t width) {
        if (width == 1)
            return Layout::permuted({product.columnDim, product.depthDim});
        return Layout({{product.columnDim, width, 0}, {product.depthDim, 1, 0}, {product.columnDim, 1, width}});
    }

    static void schedulePacking(StageSchedule& copy, const AutotvmProduct& product, const Tiles& tiles) {
        const auto [panel, column] = copy.split(copy.axes()[product.columnDim], tiles.columns);
        const auto [vectors, lane] = copy.split(column, tiles.lanes);
        copy.reorder({panel, copy.axes()[product.depthDim], vectors, lane});
        copy.parallel(panel);
        copy.vectorize(lane);
    }

    // Returns the loop over the innermost tiles.
    static Var scheduleOutput(StageSchedule& o, const AutotvmProduct& product, const Tiles& tiles) {
        const auto [top, rest] = o.split(o.axes()[product.rowAxis], tiles.rowTiles);
        const auto [middle, row] = o.split(rest, tiles.rows);
        const auto [side, across] = o.split(o.axes().back(), tiles.columnTiles);
        const auto [next, column] = o.split(across, tiles.columns);
        const auto [vectors, lane] = o.split(column, tiles.lanes);
        std::vector<Var> order = product.otherAxes(o);
        order.insert(order.end(), {side, top, middle, next, row, vectors, lane});
        o.reorder(order);
        Var task = order[0];
        for (std::size_t i = 1; i < order.size() - 5; ++i)
            task = o.fuse(task, order[i]);
        o.parallel(task);
        if (tiles.lanes > 1)
            o.vectorize(lane);
        Unroller(o).over(vectors, tiles.vectors()).over(row, tiles.rows);
        return next;
    }

    static void scheduleSums(StageSchedule& s, const AutotvmProduct& product, const Tiles& tiles) {
        const auto [vectors, lane] = s.split(s.axes().back(), tiles.lanes);
        const auto [deep, depth] = s.split(s.reduceAxes()[0], tiles.depth);
        if (tiles.lanes > 1)
            s.vectorize(lane);
        Unroller body(s);
        body.over(vectors, tiles.vectors());
        if (tiles.inner > 1) {
            const std::int64_t inner = std::min(tiles.inner, tiles.rows);
            const auto [rows, row] = s.split(s.axes()[product.rowAxis], inner);
            s.reorder({deep, rows, depth, row, vectors, lane});
            body.over(row, inner).over(depth, tiles.depth).over(rows, (tiles.rows + inner - 1) / inner);
        } else {
            const Var row = s.axes()[product.rowAxis];
            s.reorder({deep, depth, row, vectors, lane});
            body.over(row, tiles.rows).over(depth, tiles.depth);
        }
    }
};

} // namespace

const AutotvmTemplate& autotvmPackTemplate() {
    static const DensePack instance;
    return instance;
}

} // namespace tunesmith
