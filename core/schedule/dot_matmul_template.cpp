// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/integer_product.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Indices;
using loops::Layout;
using loops::Op;
using loops::Stage;
using loops::TensorRef;
using loops::Var;

// Products of matrices of bytes: a tile of rows x (vectors of columns) of int32 sums stays in registers over the whole of k, four
// of which are multiplied and added at a time. The right side is kept in panels of words as wide as the tile: a constant is packed
// so, anything else by a phase in front. The left side is read as words where its rows are whole words, and else copied.
class DotMatmulTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "matmul_dot4"; }

    bool matches(const LoweredWorkload& lowered, const Target&) const override {
        const auto product = integerProduct(lowered.program);
        if (!product || product->stage->reduceAxes.size() != 1 || product->stage->guard.valid() || product->stage->axes.size() < 2 || !lowered.outputLayouts[0].isRowMajor())
            return false;
        const Var &k = product->stage->reduceAxes[0].var, &n = product->stage->axes.back().var;
        const Expr &left = product->left.read, &right = product->right.read;
        const bool plain = isPlain(left) && isPlain(right) && right->args.size() >= 2 && product->stage->axes.back().extent >= kFewestColumns;
        return plain && isVar(left->args.back(), k) && isVar(right->args.back(), n) && isVar(right->args[right->args.size() - 2], k) && !loops::usesVar(left, n) &&
               isRowMajor(lowered, left->tensor) && isRowMajor(lowered, right->tensor);
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered, target);
        std::vector<std::int64_t> vectors, depths, rows;
        for (const std::int64_t count : {1, 2, 3, 4, 6})
            if (count == 1 || (count - 1) * s.lanes < s.n)
                vectors.push_back(count);
        for (const std::int64_t count : {1, 2, 4})
            if (count <= s.words)
                depths.push_back(count);
        for (std::int64_t count = 1; count <= (target.vectorRegisters() == 32 ? 12 : 6); ++count)
            if (count <= s.m)
                rows.push_back(count);
        return {Knob::ofNumbers("m_tile", rows), Knob::ofNumbers("n_tile", vectors), Knob::ofNumbers("k_unroll", depths),
                Knob::ofNumbers("n_outer", s.m > 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1})};
    }

    // The sums, a row of vectors of the right side and a word of the left one fit the registers; so does what widening needs.
    KnobSpace::Filter filter(const LoweredWorkload&, const Target& target) const override {
        const std::int64_t limit = target.vectorRegisters() - (hasByteDots(target.isa) ? 2 : 6);
        return [limit](const KnobSpace& space, const Config& config) {
            const std::int64_t m = space.value(config, 0).numbers[0], n = space.value(config, 1).numbers[0];
            return m * n + n <= limit;
        };
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered, target);
        const auto knob = [&](std::size_t i) { return static_cast<double>(space.value(config, i).numbers[0]); };
        const double width = knob(1) * static_cast<double>(s.lanes);
        const double covered = static_cast<double>(s.n) / (std::ceil(static_cast<double>(s.n) / width) * width);
        const double rows = static_cast<double>(s.m) / (std::ceil(static_cast<double>(s.m) / knob(0)) * knob(0));
        return covered * rows * std::min(1.0, knob(0) * knob(1) / 12) * (1.2 - 0.3 / knob(0) - 0.2 / knob(1)) - (knob(2) > 1 ? 0.004 * knob(2) : 0.0) -
               (knob(3) > 0 ? 0.0 : 0.002);
    }

    void prepare(LoweredWorkload& lowered) const override {
        const IntegerProduct product = *integerProduct(lowered.program);
        DotProgram made(lowered, product);
        const std::int64_t k = product.stage->reduceAxes[0].extent;
        made.reduced = {{loops::makeVar("kw"), wordsFor(k)}};
        made.count = k;
        readLeft(made, product, lowered);
        readRight(made, product, lowered);
        made.finish();
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target& target) const override {
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const Stage& dots = *stageNamed(lowered.program, DotProgram::kDots);
        const Tiles tiles{rowAxisOf(dots, dots.body->args[1]), std::min<std::int64_t>(target.floatLanes(), dots.axes.back().extent), knob(0), knob(1), knob(2), knob(3) != 0};
        const std::int64_t width = std::min(tiles.vectors * tiles.lanes, dots.axes.back().extent);
        const TensorRef right = dots.body->args[1]->tensor;
        const Layout panels = panelsOf(right->shape.size(), width);
        if (const std::size_t argument = argumentOf(lowered, right); argument < lowered.arguments.size())
            lowered.argumentLayouts[argument] = panels;
        else
            schedule.setLayout(right, panels);
        for (const char* name : {DotProgram::kLeft, DotProgram::kRight})
            if (const Stage* words = stageNamed(lowered.program, name))
                scheduleWords(schedule, words->output, tiles.lanes);
        scheduleSums(schedule, target.floatLanes());
        scheduleTiles(schedule, dots, tiles, width);
    }

private:
    static constexpr std::int64_t kFewestColumns = 8;

    struct Tiles {
        std::size_t rowAxis;
        std::int64_t lanes, rows, vectors, depth;
        bool columnsOutside;
    };

    struct Sizes {
        std::int64_t m, n, words, lanes;
        Sizes(const LoweredWorkload& lowered, const Target& target) {
            const IntegerProduct product = *integerProduct(lowered.program);
            const Stage& stage = *product.stage;
            m = stage.axes[rowAxisOf(stage, product.right.read)].extent;
            n = stage.axes.back().extent;
            words = wordsFor(stage.reduceAxes[0].extent);
            lanes = std::min<std::int64_t>(target.floatLanes(), n);
        }
    };

    static bool isVar(const Expr& e, const Var& var) { return e->op == Op::var && e->var == var; }
    static bool isPlain(const Expr& read) {
        return std::ranges::all_of(read->args, [](const Expr& index) { return index->op == Op::var || index->op == Op::constant; });
    }
    static bool isRowMajor(const LoweredWorkload& lowered, const TensorRef& tensor) { return lowered.argumentLayouts[argumentOf(lowered, tensor)].isRowMajor(); }

    // The longest leading dimension where all of them share the right side, or else the last one.
    static std::size_t rowAxisOf(const Stage& stage, const Expr& right) {
        const std::size_t leading = stage.axes.size() - 1;
        std::size_t row = leading - 1;
        for (std::size_t d = 0; d < leading; ++d)
            if (loops::usesVar(right, stage.axes[d].var))
                return row;
        for (std::size_t d = 0; d < leading; ++d)
            if (stage.axes[d].extent > stage.axes[row].extent)
                row = d;
        return row;
    }

    // The words at an operand's own indices, the summed one left out.
    static Expr wordAt(const TensorRef& words, const Expr& read, std::size_t summed, const Expr& at) {
        Indices indices = read->args;
        indices[summed] = at;
        return load(words, indices);
    }

    static void readLeft(DotProgram& made, const IntegerProduct& product, const LoweredWorkload& lowered) {
        const Expr& read = product.left.read;
        const TensorRef tensor = read->tensor;
        const std::size_t last = tensor->shape.size() - 1;
        const std::int64_t k = tensor->shape[last];
        const bool constant = lowered.constantArguments[argumentOf(lowered, tensor)];
        Shape shape = tensor->shape;
        shape[last] = wordsFor(k);
        TensorRef words = loops::makeTensor(tensor->name, DType::i32, shape);
        const bool whole = k % kBytesInWord == 0 && !constant && !made.readsElsewhere(tensor);
        if (whole)
            made.replaceArgument(tensor, words, WeightTransform::none, Layout::rowMajor(last + 1));
        if (!whole || tensor->type != DType::u8) {
            made.wordStages.push_back(loops::compute(DotProgram::kLeft, DType::i32, shape, [&](const Indices& i) {
                return whole ? inForm(tensor->type, Sign::none, load(words, i)) : wordOf(tensor->type, Sign::none, [&](std::int64_t place) { return byteAt(tensor, Sign::none, i, last, place); });
            }));
            words = made.wordStages.back().output;
        }
        made.left = wordAt(words, read, last, Expr(made.reduced[0].var));
    }

    static void readRight(DotProgram& made, const IntegerProduct& product, const LoweredWorkload& lowered) {
        const Expr& read = product.right.read;
        const TensorRef tensor = read->tensor;
        const std::size_t row = tensor->shape.size() - 2;
        const std::int64_t k = tensor->shape[row];
        const bool packed = row == 0 && lowered.constantArguments[argumentOf(lowered, tensor)] && !made.readsElsewhere(tensor);
        if (packed) {
            const TensorRef words = loops::makeTensor(tensor->name, DType::i32, signedWordsShape(tensor->shape, 0));
            made.replaceArgument(tensor, words, WeightTransform::rowWords, Layout::rowMajor(2));
            made.right = wordAt(words, read, row, Expr(made.reduced[0].var));
            made.rightSum = wordAt(words, read, row, Expr(wordsFor(k)));
            return;
        }
        Shape shape = tensor->shape;
        shape[row] = wordsFor(k);
        made.wordStages.push_back(loops::compute(DotProgram::kRight, DType::i32, shape, [&](const Indices& i) {
            return wordOf(tensor->type, Sign::negative, [&](std::int64_t place) { return byteAt(tensor, Sign::negative, i, row, place); });
        }));
        made.right = wordAt(made.wordStages.back().output, read, row, Expr(made.reduced[0].var));
    }

    // A byte of the word at `i`; beyond the dimension none is read.
    static Expr byteAt(const TensorRef& tensor, Sign wanted, const Indices& i, std::size_t dim, std::int64_t place) {
        const std::int64_t extent = tensor->shape[dim];
        Indices at = i;
        at[dim] = i[dim] * Expr(kBytesInWord) + Expr(place);
        const Expr byte = load(tensor, at);
        return extent % kBytesInWord == 0 || place < extent % kBytesInWord ? byte : select(at[dim] < Expr(extent), byte, byteBeyond(tensor->type, wanted));
    }

    // Columns in panels: batches, N/width, K, width.
    static Layout panelsOf(std::size_t rank, std::int64_t width) {
        std::vector<Layout::Axis> axes;
        for (std::size_t d = 0; d + 2 < rank; ++d)
            axes.push_back({d, 1, 0});
        axes.insert(axes.end(), {{rank - 1, width, 0}, {rank - 2, 1, 0}, {rank - 1, 1, width}});
        return Layout(std::move(axes));
    }

    static void scheduleTiles(loops::Schedule& schedule, const Stage& dots, const Tiles& tiles, std::int64_t width) {
        const TensorRef output = schedule.program().outputs[0];
        auto& o = schedule[output];
        const Var n = o.axes().back(), m = o.axes()[tiles.rowAxis];
        const std::int64_t rows = dots.axes[tiles.rowAxis].extent, columns = dots.axes.back().extent;
        const auto [nOuter, nInner] = o.split(n, width);
        const auto [mOuter, mInner] = o.split(m, tiles.rows);
        const auto [vector, lane] = o.split(nInner, tiles.lanes);
        std::vector<Var> order(o.axes().begin(), o.axes().end() - 1);
        order.erase(order.begin() + static_cast<std::ptrdiff_t>(tiles.rowAxis));
        const std::size_t batches = order.size();
        const Var first = tiles.columnsOutside ? nOuter : mOuter, at = tiles.columnsOutside ? mOuter : nOuter;
        order.insert(order.end(), {first, at, mInner, vector, lane});
        o.reorder(order);
        // A loop with a shorter last tile may not be dealt out together with others: the tail could not be split off.
        const bool even = tiles.columnsOutside ? columns % width == 0 : rows % tiles.rows == 0;
        const std::size_t dealt = batches + (even || batches == 0 ? 1 : 0);
        Var parallel = order[0];
        for (std::size_t i = 1; i < dealt; ++i)
            parallel = o.fuse(parallel, order[i]);
        o.parallel(parallel);
        o.unroll(mInner);
        o.unroll(vector);
        o.vectorize(lane);
        auto& d = schedule[dots.output];
        d.computeAt(output, at);
        const Var row = d.axes()[tiles.rowAxis];
        const auto [panel, column] = d.split(d.axes().back(), tiles.lanes);
        const auto [step, unrolled] = d.split(d.reduceAxes()[0], tiles.depth);
        d.reorder({step, unrolled, row, panel, column});
        for (const Var& loop : {unrolled, row, panel})
            d.unroll(loop);
        d.vectorize(column);
    }
};

} // namespace

const ScheduleTemplate& dotMatmulTemplate() {
    static const DotMatmulTemplate instance;
    return instance;
}

} // namespace tunesmith
