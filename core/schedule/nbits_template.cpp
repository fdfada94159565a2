// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/template.h"

namespace tunesmith {
namespace {

using loops::Axis;
using loops::Expr;
using loops::Indices;
using loops::Layout;
using loops::Op;
using loops::Stage;
using loops::TensorRef;
using loops::Var;

constexpr const char *kPart = "block.sums", *kPanel = "panel", *kProducts = "chunk.sums", *kSums = "sums";

// The stage that ops/contrib/matmul_nbits.h describes, taken apart.
struct PackedProduct {
    const Stage* stage = nullptr;
    Expr left, stored, zero, scale; // of the body left * ((stored - zero) * scale)
    Expr packed;                    // the load of a byte
    int bits = 0;
    std::int64_t n() const { return stage->axes.back().extent; }
};

Expr byteLoad(const Expr& e) {
    if (e->op == Op::load)
        return e->type == DType::u8 && e->args.size() == 3 ? e : Expr();
    return e->args.empty() ? Expr() : byteLoad(e->args[0]);
}

bool isRead(const Expr& e) { return e->op == Op::load || (e->op == Op::cast && e->args[0]->op == Op::load); }

std::optional<PackedProduct> packedProduct(const LoweredWorkload& lowered) {
    PackedProduct p;
    p.stage = onlyReduction(lowered.program);
    if (!p.stage || p.stage->output->name != "matmul_nbits" || p.stage->reduceAxes.size() != 3 || p.stage->guard.valid() || p.stage->output->type != DType::f32)
        return std::nullopt;
    const Expr& body = p.stage->body;
    if (body->op != Op::mul || !isRead(body->args[0]) || body->args[1]->op != Op::mul || body->args[1]->args[0]->op != Op::sub)
        return std::nullopt;
    p.left = body->args[0];
    p.scale = body->args[1]->args[1];
    p.stored = body->args[1]->args[0]->args[0];
    p.zero = body->args[1]->args[0]->args[1];
    p.packed = byteLoad(p.stored);
    const Expr field = p.stored->op == Op::cast ? p.stored->args[0] : Expr();
    if (!p.packed.valid() || !field.valid() || field->op != Op::bitAnd || !loops::constantValue(field->args[1]))
        return std::nullopt;
    p.bits = std::popcount(static_cast<std::uint64_t>(*loops::constantValue(field->args[1])));
    const std::size_t argument = argumentOf(lowered, p.packed->tensor);
    const bool constant = argument < lowered.arguments.size() && lowered.constantArguments[argument];
    return constant && p.packed->tensor->shape[2] % 4 == 0 ? std::optional(p) : std::nullopt;
}

// Products with packed weights (MatMulNBits): lanes are columns. Four bytes are read as a word of each column, whose numbers are
// shifted out in registers. With few rows, which memory bounds, they are multiplied at once, and a block's scale comes last; for
// many rows a panel of columns is unpacked into a local buffer, a chunk of blocks at a time, and used for all of them: a tile of rows
// is summed up in registers over the chunk and added to the sums of the chunks before.
class NBitsTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "matmul_nbits"; }

    bool matches(const LoweredWorkload& lowered, const Target& target) const override {
        const auto product = packedProduct(lowered);
        return product && product->n() >= target.floatLanes() && lowered.outputLayouts[0].isRowMajor() &&
               std::ranges::all_of(lowered.argumentLayouts, [](const Layout& layout) { return layout.isRowMajor(); });
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const PackedProduct product = *packedProduct(lowered);
        std::vector<std::int64_t> vectors, rows;
        for (const std::int64_t count : {1, 2, 3, 4})
            if (count == 1 || count * target.floatLanes() <= product.n())
                vectors.push_back(count);
        const std::int64_t m = rowsOf(*product.stage);
        for (const std::int64_t count : {1, 2, 4, 6, 8, 12})
            if (count <= m && (count == 1 || m > kFewRows))
                rows.push_back(count);
        return {Knob::ofNumbers("n_tile", vectors), Knob::ofNumbers("m_tile", rows)};
    }

    KnobSpace::Filter filter(const LoweredWorkload&, const Target& target) const override {
        const std::int64_t limit = target.vectorRegisters() - 2;
        return [limit](const KnobSpace& space, const Config& config) {
            const std::int64_t n = space.value(config, 0).numbers[0], m = space.value(config, 1).numbers[0];
            return m * n + n <= limit;
        };
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const PackedProduct product = *packedProduct(lowered);
        const std::int64_t n = space.value(config, 0).numbers[0], m = space.value(config, 1).numbers[0], rows = rowsOf(*product.stage);
        const double columns = covered(product.n(), n * target.floatLanes()), vectors = static_cast<double>(n), height = static_cast<double>(m);
        if (rows <= kFewRows)
            return vectors * columns;
        return columns * covered(std::min(rows, kRowBlock), m) * std::min(1.0, height * vectors / 12) * (1.2 - 0.3 / height - 0.2 / vectors);
    }

    void prepare(LoweredWorkload& lowered) const override {
        const PackedProduct product = *packedProduct(lowered);
        const Stage old = *product.stage;
        std::vector<Stage> stages = rowsOf(old) <= kFewRows ? blockByBlock(lowered, product) : throughPanel(lowered, product);
        stages.back().output = old.output;
        auto& program = lowered.program;
        if (program.stages.size() > 1)
            stages.push_back(program.stages.back());
        program.stages = std::move(stages);
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target& target) const override {
        const Tiles tiles{target.floatLanes(), space.value(config, 0).numbers[0], space.value(config, 1).numbers[0]};
        layOut(lowered, tiles.width());
        const bool fewRows = schedule.program().stages[0].output->name == kPart;
        const TensorRef output = schedule.program().outputs[0], product = schedule.program().stages[fewRows ? 1 : 2].output;
        const TensorRef sums = product == output ? schedule.cacheWrite(output) : product;
        fewRows ? scheduleFewRows(schedule, sums, output, tiles) : scheduleManyRows(schedule, sums, output, tiles);
    }

private:
    static constexpr std::int64_t kFewRows = 8, kRowBlock = 128, kPanelDepth = 256; // rows and numbers along k that are kept at a time

    struct Tiles {
        std::int64_t lanes, vectors, rows;
        std::int64_t width() const { return lanes * vectors; }
    };

    // How much of what tiles compute is wanted.
    static double covered(std::int64_t extent, std::int64_t tile) {
        return static_cast<double>(extent) / static_cast<double>((extent + tile - 1) / tile * tile);
    }

    static std::int64_t rowsOf(const Stage& stage) { return elementCount(stage.output->shape) / stage.axes.back().extent; }

    // The parts of the product at one number of k: which word, and which part of it.
    struct Number {
        Expr left, weight; // the weight without its scale
    };

    static Expr withLast(const Expr& e, const Expr& index) {
        if (e->op != Op::load)
            return loops::rebuild(e, {withLast(e->args[0], index)});
        Indices indices = e->args;
        indices.back() = index;
        return load(e->tensor, indices);
    }

    static Expr moved(const Expr& e, const std::vector<Axis>& from, const Indices& to) {
        return loops::substitute(e, [&](const Var& var) {
            for (std::size_t d = 0; d < from.size(); ++d)
                if (from[d].var == var)
                    return to[d];
            return Expr();
        });
    }

    static TensorRef readWords(LoweredWorkload& lowered, const PackedProduct& p) {
        const Shape& shape = p.packed->tensor->shape;
        const TensorRef words = loops::makeTensor(p.packed->tensor->name, DType::i32, {shape[0], shape[1], shape[2] / 4});
        const std::size_t i = argumentOf(lowered, p.packed->tensor);
        lowered.program.inputs[i] = words;
        lowered.argumentTransforms[i] = WeightTransform::plainWords;
        return words;
    }

    static Number numberAt(const PackedProduct& p, const TensorRef& words, const Indices& axes, const Expr& block, const Expr& word, const Expr& part) {
        const std::int64_t parts = 32 / p.bits;
        const Expr shifted = binary(Op::shiftRight, load(words, {axes.back(), block, word}), cast(DType::i32, part * Expr(std::int64_t{p.bits})));
        const Expr stored = cast(DType::f32, binary(Op::bitAnd, shifted, loops::constantInt(DType::i32, (std::int64_t{1} << p.bits) - 1)));
        const Expr k = (block * Expr(words->shape[2]) + word) * Expr(parts) + part;
        return {moved(withLast(p.left, k), p.stage->axes, axes), stored - ofBlock(p, p.zero, axes, block)};
    }

    // A zero point or scale.
    static Expr ofBlock(const PackedProduct& p, const Expr& e, const Indices& axes, const Expr& block) {
        return moved(moved(e, p.stage->axes, axes), {p.stage->reduceAxes[0]}, {block});
    }

    static std::vector<Stage> blockByBlock(LoweredWorkload& lowered, const PackedProduct& p) {
        const TensorRef words = readWords(lowered, p);
        Shape shape = p.stage->output->shape;
        const std::int64_t blocks = words->shape[1];
        shape.push_back(blocks);
        Stage part = loops::reduce(kPart, DType::f32, shape, loops::Reduction::sum, {words->shape[2], 32 / p.bits}, [&](const Indices& o, const Indices& r) {
            const Number number = numberAt(p, words, {o.begin(), o.end() - 1}, o.back(), r[0], r[1]);
            return loops::ReductionBody{number.left * number.weight, {}};
        });
        Stage sums = loops::reduce(kSums, DType::f32, p.stage->output->shape, loops::Reduction::sum, {blocks}, [&](const Indices& o, const Indices& r) {
            Indices at = o;
            at.push_back(r[0]);
            return loops::ReductionBody{load(part.output, at) * ofBlock(p, p.scale, o, r[0]), {}};
        });
        return {std::move(part), std::move(sums)};
    }

    static std::vector<Stage> throughPanel(LoweredWorkload& lowered, const PackedProduct& p) {
        const TensorRef words = readWords(lowered, p);
        const Shape extents{words->shape[1], words->shape[2], 32 / p.bits};
        Stage panel = loops::compute(kPanel, DType::f32, {extents[0], extents[1], extents[2], p.n()}, [&](const Indices& i) {
            Indices axes(p.stage->axes.size(), Expr(0));
            axes.back() = i[3];
            return numberAt(p, words, axes, i[0], i[1], i[2]).weight * ofBlock(p, p.scale, axes, i[0]);
        });
        const std::int64_t perChunk = blocksInChunk(extents), chunks = (extents[0] + perChunk - 1) / perChunk;
        Shape shape = p.stage->output->shape;
        shape.insert(shape.begin(), chunks);
        Stage products = loops::reduce(kProducts, DType::f32, shape, loops::Reduction::sum, {perChunk, extents[1], extents[2]}, [&](const Indices& o, const Indices& r) {
            const Expr block = o[0] * Expr(perChunk) + r[0];
            const Expr left = numberAt(p, words, {o.begin() + 1, o.end()}, block, r[1], r[2]).left;
            return loops::ReductionBody{left * load(panel.output, {block, r[1], r[2], o.back()}), extents[0] % perChunk == 0 ? Expr() : block < Expr(extents[0])};
        });
        Stage sums = loops::reduce(kSums, DType::f32, p.stage->output->shape, loops::Reduction::sum, {chunks}, [&](const Indices& o, const Indices& r) {
            Indices at = o;
            at.insert(at.begin(), r[0]);
            return loops::ReductionBody{load(products.output, at), {}};
        });
        return {std::move(panel), std::move(products), std::move(sums)};
    }

    static std::int64_t blocksInChunk(const Shape& extents) { return std::clamp<std::int64_t>(kPanelDepth / (extents[1] * extents[2]), 1, extents[0]); }

    // Lays words out in panels of columns, and scales and zero points with neighbouring columns side by side. Larger ranks are the
    // epilogue's.
    static void layOut(LoweredWorkload& lowered, std::int64_t width) {
        const auto& inputs = lowered.program.inputs;
        std::int64_t columns = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (lowered.argumentTransforms[i] == WeightTransform::plainWords) {
                lowered.argumentLayouts[i] = Layout({{0, width, 0}, {1, 1, 0}, {2, 1, 0}, {0, 1, width}});
                columns = inputs[i]->shape[0];
            }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const Shape& shape = inputs[i]->shape;
            const bool constant = lowered.constantArguments[i] && lowered.argumentTransforms[i] == WeightTransform::none;
            if (!constant || shape.size() > 2 || elementCount(shape) <= columns || shape[0] % columns != 0)
                continue;
            const std::int64_t perColumn = shape[0] / columns;
            lowered.argumentLayouts[i] = shape.size() == 2 ? Layout::permuted({1, 0}) : Layout({{0, 1, perColumn}, {0, perColumn, 0}});
        }
    }

    static void scheduleFewRows(loops::Schedule& schedule, const TensorRef& sums, const TensorRef& output, const Tiles& tiles) {
        const TensorRef part = schedule.program().stages[0].output;
        const Var tile = scheduleOutput(schedule[output], tiles, 0);
        auto& s = schedule[sums];
        s.computeAt(output, tile);
        const Var block = s.reduceAxes()[0];
        orderInside(s, {block}, tiles.lanes, s.axes().size());
        auto& p = schedule[part];
        p.computeAt(sums, block);
        const Var whole = p.axes().back(); // one block
        orderInside(p, {whole, p.reduceAxes()[0], p.reduceAxes()[1]}, tiles.lanes, p.axes().size() - 1);
        p.unroll(p.reduceAxes()[1]);
    }

    // Loops `first`, then all rows and vectors of columns written out.
    static void orderInside(loops::StageSchedule& s, std::vector<Var> first, std::int64_t lanes, std::size_t rank) {
        for (std::size_t d = 0; d + 1 < rank; ++d) {
            first.push_back(s.axes()[d]);
            s.unroll(s.axes()[d]);
        }
        const auto [vector, lane] = s.split(s.axes()[rank - 1], lanes);
        first.insert(first.end(), {vector, lane});
        s.reorder(first);
        s.unroll(vector);
        s.vectorize(lane);
    }

    // Columns outside, then blocks of `rows` of the row dimension where there are many.
    static Var scheduleOutput(loops::StageSchedule& o, const Tiles& tiles, std::int64_t rows) {
        std::vector<Var> leading(o.axes().begin(), o.axes().end() - 1), order;
        const auto [panel, inner] = o.split(o.axes().back(), tiles.width());
        const auto [vector, lane] = o.split(inner, tiles.lanes);
        Var tile = panel;
        order = {panel};
        if (rows > 0 && !leading.empty()) {
            const auto [block, row] = o.split(leading.back(), rows);
            leading.back() = block;
            order.insert(order.end(), leading.begin(), leading.end());
            order.push_back(row);
            tile = block;
        } else {
            order.insert(order.end(), leading.begin(), leading.end());
        }
        order.insert(order.end(), {vector, lane});
        o.reorder(order);
        o.parallel(panel);
        o.unroll(vector);
        o.vectorize(lane);
        return tile;
    }

    static void scheduleManyRows(loops::Schedule& schedule, const TensorRef& sums, const TensorRef& output, const Tiles& tiles) {
        const TensorRef panel = schedule.program().stages[0].output, products = schedule.program().stages[1].output;
        const Var tile = scheduleOutput(schedule[output], tiles, kRowBlock);
        auto& s = schedule[sums];
        s.computeAt(output, tile);
        const std::size_t rank = s.axes().size();
        const Var chunk = s.reduceAxes()[0];
        const auto [rowTile, row] = s.split(s.axes()[rank - 2], tiles.rows);
        std::vector<Var> outside{chunk};
        outside.insert(outside.end(), s.axes().begin(), s.axes().end() - 2);
        outside.push_back(rowTile);
        orderTile(s, outside, row, tiles.lanes);
        auto& t = schedule[products];
        t.computeAt(sums, rowTile);
        orderTile(t, t.reduceAxes(), t.axes()[rank - 1], tiles.lanes);
        t.unroll(t.reduceAxes().back());
        auto& p = schedule[panel];
        p.computeAt(sums, chunk);
        const auto [columns, column] = p.split(p.axes()[3], tiles.lanes);
        p.reorder({p.axes()[0], p.axes()[1], columns, p.axes()[2], column});
        p.unroll(p.axes()[2]);
        p.vectorize(column);
    }

    // Loops in `order`, then rows and vectors of columns written out.
    static void orderTile(loops::StageSchedule& s, std::vector<Var> order, const Var& row, std::int64_t lanes) {
        const auto [vector, lane] = s.split(s.axes().back(), lanes);
        order.insert(order.end(), {row, vector, lane});
        s.reorder(order);
        s.unroll(row);
        s.unroll(vector);
        s.vectorize(lane);
    }
};

} // namespace

const ScheduleTemplate& nbitsTemplate() {
    static const NBitsTemplate instance;
    return instance;
}

} // namespace tunesmith
