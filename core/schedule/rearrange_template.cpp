// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <optional>

#include "core/loops/simplify.h"
#include "core/schedule/large_outputs.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Layout;
using loops::LinearForm;
using loops::Op;
using loops::Stage;
using loops::Var;
using loops::VarRanges;

// What only moves values to other places: transpositions and changes of layout, with whatever is done to each value on the way. Where
// operand and result have different innermost dimensions, squares of both are transposed in registers, so that every cache line is
// read and written whole.
class RearrangeTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "rearrange"; }

    bool matches(const LoweredWorkload& lowered, const Target&) const override { return movedOperand(lowered).has_value(); }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        std::vector<std::int64_t> tiles{4, 8};
        if (target.floatLanes() > 8 || outgrowsCaches(lowered)) // lines that are streamed are to be written whole
            tiles.push_back(16);
        return {Knob::ofNumbers("tile", tiles), Knob::ofNumbers("as_read", {0, 1})};
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload&, const Target&) const override {
        return static_cast<double>(space.value(config, 0).numbers[0] + space.value(config, 1).numbers[0]);
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target&) const override {
        const Operand operand = *movedOperand(lowered);
        const Stage& stage = lowered.program.stages[0];
        Loops nest(schedule[stage.output], stage, lowered.outputLayouts[0], operand, space.value(config, 0).numbers[0]);
        nest.arrange(space.value(config, 1).numbers[0] != 0);
        if (outgrowsCaches(lowered))
            nest.fetchNextSquares();
    }

private:
    // What is moved: for each dimension of the tensor the axis of the stage that runs along it, if any.
    struct Operand {
        Expr load;
        Layout layout;
        std::vector<std::optional<std::size_t>> axes;
    };

    static std::optional<Operand> movedOperand(const LoweredWorkload& lowered) {
        const auto& program = lowered.program;
        if (program.stages.size() != 1 || program.stages[0].reduction != loops::Reduction::none || program.stages[0].guard.valid())
            return {};
        const Stage& stage = program.stages[0];
        const Expr load = largestLoad(stage.body);
        if (!load.valid() || elementCount(load->tensor->shape) * 2 < elementCount(stage.output->shape) || guardsReads(stage.body))
            return {};
        const auto argument = std::ranges::find(program.inputs, load->tensor);
        if (argument == program.inputs.end())
            return {};
        Operand operand{load, lowered.argumentLayouts[static_cast<std::size_t>(argument - program.inputs.begin())], {}};
        for (const Expr& index : load->args) {
            const auto axis = std::ranges::find_if(stage.axes, [&](const loops::Axis& a) { return index->op == Op::var && index->var == a.var; });
            if (axis == stage.axes.end() && index->op != Op::constant)
                return {};
            operand.axes.push_back(axis == stage.axes.end() ? std::nullopt : std::optional(static_cast<std::size_t>(axis - stage.axes.begin())));
        }
        const Layout& written = lowered.outputLayouts[0];
        const bool moves = isSimple(operand.layout) && isSimple(written) && !sameOrder(stage, load, operand.layout, written);
        return moves ? std::optional(operand) : std::nullopt;
    }

    static Expr largestLoad(const Expr& e) {
        Expr largest;
        if (e->op == Op::load)
            return e;
        for (const Expr& arg : e->args)
            if (const Expr found = largestLoad(arg);
                found.valid() && (!largest.valid() || elementCount(found->tensor->shape) > elementCount(largest->tensor->shape)))
                largest = found;
        return largest;
    }

    static bool guardsReads(const Expr& e) { return (e->op == Op::select && !e->isFree) || std::ranges::any_of(e->args, guardsReads); }

    static bool sameOrder(const Stage& stage, const Expr& load, const Layout& from, const Layout& to) {
        VarRanges ranges;
        std::vector<Expr> indices;
        for (const auto& axis : stage.axes) {
            ranges.set(axis.var, {0, axis.extent - 1});
            indices.emplace_back(axis.var);
        }
        LinearForm difference = loops::toLinear(from.offset(load->tensor->shape, load->args), ranges);
        difference.add(loops::toLinear(to.offset(stage.output->shape, indices), ranges), -1);
        return difference.isConstant();
    }

    // Only the dimension that lies innermost is in blocks.
    static bool isSimple(const Layout& layout) {
        return !layout.axes().empty() && std::ranges::all_of(layout.axes(), [&](const Layout::Axis& piece) {
            return piece.dim == layout.axes().back().dim || (piece.divisor == 1 && piece.extent == 0);
        });
    }

    // The loops of the stage: those around the squares, and the rows and lanes of a square.
    class Loops {
    public:
        Loops(loops::StageSchedule& s, const Stage& stage, const Layout& layout, const Operand& operand, std::int64_t tile)
            : s_(s), stage_(stage), operand_(operand), tile_(tile), lane_(layout.axes().back().dim) {
            const auto innermost = operand.axes[operand.layout.axes().back().dim];
            if (innermost && *innermost != lane_)
                row_ = *innermost;
            for (std::size_t d = 0; d < stage.axes.size(); ++d)
                dims_.push_back({s.axes()[d], stage.axes[d].extent});
            for (std::size_t i = 0; i < layout.axes().size(); ++i)
                if (i + 1 < layout.axes().size() && staysTogether(layout.axes()[i], layout.axes()[i + 1]))
                    join(dims_[layout.axes()[i].dim], dims_[layout.axes()[i + 1].dim]);
                else
                    addPiece(layout.axes()[i]);
        }

        void arrange(bool asRead) {
            if (asRead)
                std::ranges::stable_sort(outer_, std::less(), &Outer::read);
            std::ranges::stable_partition(outer_, [](const Outer& loop) { return loop.extent > 1; });
            std::vector<Var> order;
            for (const Outer& loop : outer_)
                order.push_back(loop.var);
            for (const Var& inner : {rows_, lanes_})
                if (inner)
                    order.push_back(inner);
            s_.reorder(order);
            deal();
            if (rows_)
                s_.transpose(rows_);
            s_.vectorize(lanes_);
        }

        // The processor does not see coming where the next rows of squares begin. Where they lie further apart than the second-level cache is
        // large, it sees streams that run beside each other.
        void fetchNextSquares() {
            constexpr std::int64_t kFloatsAhead = 128 << 10;
            const Expr offset = operand_.layout.offset(operand_.load->tensor->shape, operand_.load->args);
            const auto apart = loops::strideAlong(offset, stage_.axes[lane_].var);
            if (!rows_ || outer_.size() < 2 || !apart || *apart * tile_ > kFloatsAhead)
                return;
            for (std::int64_t next = tile_; next < 2 * tile_; ++next)
                s_.prefetch(outer_.back().var, operand_.load->tensor, offset + Expr(next * *apart));
        }

    private:
        struct Dim { // of the result, with those before it that lie beside it on both sides
            Var loop;
            std::int64_t extent;
        };
        struct Outer {
            Var var;
            std::int64_t extent;
            bool even;        // all its iterations are alike
            std::size_t read; // its place in the operand
        };

        bool staysTogether(const Layout::Axis& piece, const Layout::Axis& next) const {
            const auto isWhole = [](const Layout::Axis& p) { return p.divisor == 1 && p.extent == 0; };
            if (!isWhole(piece) || !isWhole(next) || piece.dim + 1 != next.dim)
                return false;
            const auto& read = operand_.layout.axes();
            const auto reads = [&](const Layout::Axis& p, std::size_t dim) { return isWhole(p) && operand_.axes[p.dim] == dim; };
            for (std::size_t i = 0; i + 1 < read.size(); ++i)
                if (reads(read[i], piece.dim) && reads(read[i + 1], next.dim))
                    return operand_.load->tensor->shape[read[i + 1].dim] == stage_.axes[next.dim].extent;
            return false;
        }

        void join(const Dim& outer, Dim& inner) { inner = {s_.fuse(outer.loop, inner.loop), outer.extent * inner.extent}; }

        void addPiece(const Layout::Axis& piece) {
            const auto& [axis, all] = dims_[piece.dim];
            const std::int64_t block = operand_.layout.axes().back().extent;
            if (piece.extent)
                lanes_ = tiled(block_, std::min(all, piece.extent), piece.dim);
            else if (piece.divisor > 1)
                block_ = inBlocks(axis, all, piece.divisor, piece.dim);
            else if (piece.dim == lane_)
                lanes_ = tiled(axis, all, piece.dim);
            else if (piece.dim == row_ && block)
                rows_ = tiled(inBlocks(axis, all, block, piece.dim), std::min(all, block), piece.dim);
            else if (piece.dim == row_)
                rows_ = tiled(axis, all, piece.dim);
            else
                outer_.push_back({axis, all, true, readPlace(piece.dim, false)});
        }

        Var inBlocks(const Var& axis, std::int64_t extent, std::int64_t block, std::size_t dim) {
            const auto [outer, inner] = s_.split(axis, block);
            outer_.push_back({outer, (extent + block - 1) / block, extent % block == 0, readPlace(dim, false)});
            return inner;
        }

        Var tiled(const Var& loop, std::int64_t extent, std::size_t dim) {
            if (extent <= tile_)
                return loop;
            const auto [steps, inner] = s_.split(loop, tile_);
            outer_.push_back({steps, (extent + tile_ - 1) / tile_, extent % tile_ == 0, readPlace(dim, true)});
            return inner;
        }

        std::size_t readPlace(std::size_t dim, bool inner) const {
            const auto& pieces = operand_.layout.axes();
            std::size_t place = 0; // what the operand does not have comes first
            for (std::size_t i = 0; i < pieces.size(); ++i)
                if (operand_.axes[pieces[i].dim] == dim) {
                    place = i + 1;
                    if (!inner)
                        break;
                }
            return place;
        }

        // The outermost loops are dealt out to threads. One with a shorter last tile cannot share a loop with others: the tail could not
        // be split off.
        void deal() {
            constexpr std::int64_t kTasks = 64;
            if (outer_.empty())
                return;
            Var parallel = outer_[0].var;
            std::int64_t tasks = outer_[0].extent;
            for (std::size_t i = 1; i + 1 < outer_.size() && tasks < kTasks && outer_[i - 1].even && outer_[i].even; ++i) {
                parallel = s_.fuse(parallel, outer_[i].var);
                tasks *= outer_[i].extent;
            }
            s_.parallel(parallel);
        }

        loops::StageSchedule& s_;
        const Stage& stage_;
        const Operand& operand_;
        std::int64_t tile_;
        std::size_t lane_;
        std::optional<std::size_t> row_;
        Var block_, rows_, lanes_;
        std::vector<Dim> dims_;
        std::vector<Outer> outer_;
    };
};

} // namespace

const ScheduleTemplate& rearrangeTemplate() {
    static const RearrangeTemplate instance;
    return instance;
}

} // namespace tunesmith
