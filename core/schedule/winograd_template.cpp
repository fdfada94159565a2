// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/schedule/conv_stage.h"
#include "core/schedule/layouts.h"
#include "core/schedule/next_panel.h"
#include "core/schedule/template.h"
#include "core/schedule/winograd.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Layout;
using loops::StageSchedule;
using loops::TensorRef;
using loops::Var;

// Winograd's convolution on NCHW[x]c. One phase transforms the input; a second one takes a few rows of tiles and a few blocks
// of output channels at a time, multiplies the points into a small local buffer that stays in the cache, and transforms it
// back right away, epilogue included; a row that is too wide for the buffer in even parts. Knobs: rows of tiles, how many tiles
// of a row and how many blocks of channels the registers hold, how far the channel loop is unrolled, whether rows are dealt out
// to threads, too.
class WinogradTemplate final : public KnobTemplate {
public:
    explicit WinogradTemplate(std::int64_t m) : m_(m), name_("winograd" + std::to_string(m)) {}

    const char* name() const override { return name_.c_str(); }

    bool matches(const LoweredWorkload& lowered, const Target&) const override {
        const loops::Stage* conv = convStage(lowered);
        const auto form = conv ? WinogradConv::of(*conv) : std::nullopt;
        if (!form)
            return false;
        const std::size_t x = argumentOf(lowered, form->x), w = argumentOf(lowered, form->w);
        if (x >= lowered.arguments.size() || w >= lowered.arguments.size() || !lowered.constantArguments[w])
            return false;
        const std::int64_t block = channelBlock(lowered.outputLayouts[0]), inBlock = channelBlock(lowered.argumentLayouts[x]);
        const Shape& out = conv->output->shape;
        const bool blocked = block > 1 && inBlock > 1 && form->x->shape[1] % inBlock == 0;
        return blocked && out[1] % block == 0 && out[2] >= m_ && out[3] >= m_;
    }

    double standing(const LoweredWorkload& lowered, const Target&) const override {
        const Shape& out = convStage(lowered)->output->shape;
        const std::int64_t inputs = convStage(lowered)->reduceAxes[0].extent, tiles = (out[2] / m_) * (out[3] / m_);
        const std::int64_t points = (m_ + 2) * (m_ + 2) * tiles * inputs * static_cast<std::int64_t>(sizeof(float));
        const bool promising = std::min(out[1], inputs) >= kChannels && tiles >= kTiles && points <= kPointBytes;
        return promising ? 1.0 + 0.1 * static_cast<double>(m_) : 0.5;
    }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered, m_);
        std::vector<std::int64_t> rows, blocks;
        for (const std::int64_t count : {1, 2, 3, 4, 7})
            if (count <= s.tileRows)
                rows.push_back(count);
        for (const std::int64_t count : {1, 2, 3, 4, 6})
            if (s.blocks % count == 0)
                blocks.push_back(count);
        return {Knob::ofNumbers("tile_rows", rows), Knob::ofNumbers("tiles", tileCandidates(s.tileColumns, registers(target))),
                Knob::ofNumbers("oc_tile", blocks), Knob::ofNumbers("ic_unroll", {1, 2, 4}),
                Knob::ofNumbers("spread_rows", s.tileRows > 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0})};
    }

    // The accumulators fit the registers, and what is multiplied at a time the stack and the cache.
    KnobSpace::Filter filter(const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered, m_);
        const std::int64_t limit = registers(target) + 2;
        return [limit, s](const KnobSpace& space, const Config& config) {
            const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
            return knob(0) * knob(1) * knob(2) + knob(2) <= limit && (knob(0) == 1 || fits(knob(0) * s.tileColumns * knob(2), s.points * s.block));
        };
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered, const Target& target) const override {
        const Sizes s(lowered, m_);
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const std::int64_t rows = knob(0), tiles = knob(1), blocks = knob(2);
        const auto share = [](std::int64_t whole, std::int64_t tile) {
            return static_cast<double>(whole) / static_cast<double>((whole + tile - 1) / tile * tile);
        };
        const double loadsPerFma = 1.0 / static_cast<double>(rows * tiles) + 1.0 / static_cast<double>(blocks);
        const double enough = target.vectorRegisters() == 32 ? 14.0 : 10.0;
        double score = share(s.tileRows, rows) * share(s.tileColumns, tiles) *
                       std::min(1.0, static_cast<double>(rows * tiles * blocks) / enough) * (1.2 - 0.4 * loadsPerFma);
        const bool starving = s.images * s.blocks / blocks < target.threads; // too few tasks without the rows
        score -= 0.002 * static_cast<double>(knob(3)) + ((knob(4) != 0) == starving ? 0.0 : 0.05);
        return score;
    }

    void prepare(LoweredWorkload& lowered) const override {
        const loops::Stage* conv = convStage(lowered);
        const WinogradConv form = *WinogradConv::of(*conv);
        lowered.argumentTransforms[argumentOf(lowered, form.w)] = m_ == 2 ? WeightTransform::winograd2 : WeightTransform::winograd4;
        lowered.program = winogradProgram(lowered.program, *conv, form, m_).program;
    }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config,
               const Target& target) const override {
        const auto knob = [&](std::size_t i) { return space.value(config, i).numbers[0]; };
        const Parts parts(schedule.program());
        const std::int64_t block = channelBlock(lowered.outputLayouts[0]), width = block * knob(2);
        const std::size_t x = argumentOf(lowered, schedule.program().stages[0].body->tensor);
        for (std::size_t i = 0; i < lowered.arguments.size(); ++i)
            if (lowered.argumentTransforms[i] != WeightTransform::none)
                lowered.argumentLayouts[i] = Layout({{1, width, 0}, {0, 1, 0}, {2, 1, 0}, {1, 1, width}}); // panels of channels
        schedulePoints(schedule, parts, channelBlock(lowered.argumentLayouts[x]), target);
        ProductTiles tiles{knob(0), knob(1), knob(3), width, 0};
        tiles.part = partOfRow(parts.product->shape[4], tiles, parts.product->shape[0] * parts.product->shape[1]);
        const OutputLoops out = scheduleOutput(schedule, parts, block, tiles, knob(4) != 0);
        scheduleProduct(schedule, parts, block, tiles, out);
    }

private:
    static constexpr std::int64_t kLocalBytes = 128 * 1024;
    // From here on it is the better guess without measuring, as long as the transformed input stays in a cache.
    static constexpr std::int64_t kChannels = 16, kTiles = 36, kPointBytes = 8 << 20;

    struct Sizes {
        std::int64_t block, blocks, images, tileRows, tileColumns, points;
        Sizes(const LoweredWorkload& lowered, std::int64_t m) {
            const Shape& out = convStage(lowered)->output->shape;
            block = channelBlock(lowered.outputLayouts[0]);
            blocks = out[1] / block;
            images = out[0];
            tileRows = (out[2] + m - 1) / m;
            tileColumns = (out[3] + m - 1) / m;
            points = (m + 2) * (m + 2);
        }
    };

    // The stages as winogradProgram() orders them.
    struct Parts {
        TensorRef patch, rows, points, product, columns, output, weights;
        std::int64_t inputs; // channels
        explicit Parts(const loops::Program& program) {
            const auto at = [&](std::size_t i) { return program.stages[i].output; };
            patch = at(0), rows = at(1), points = at(2), product = at(3), columns = at(4), output = at(5);
            weights = program.stages[3].body->args[1]->tensor;
            inputs = program.stages[3].reduceAxes[0].extent;
        }
    };

    struct OutputLoops {
        Var panel, group, part, task; // of output channels, of tile rows, of a row if it is not whole, at which the product is made
    };
    struct ProductTiles {
        std::int64_t rows, columns, unroll, width, part; // part: of a row
    };

    // Whether so many tiles of a block of channels, of so many values each, can be multiplied at a time.
    static bool fits(std::int64_t tiles, std::int64_t values) { return tiles * values * static_cast<std::int64_t>(sizeof(float)) <= kLocalBytes; }

    // The tiles of a row that are multiplied at a time: all of them, or even parts in multiples of what the registers hold.
    static std::int64_t partOfRow(std::int64_t columns, const ProductTiles& tiles, std::int64_t points) {
        std::int64_t part = columns;
        for (std::int64_t count = 2; part > tiles.columns && !fits(tiles.rows * part, points * tiles.width); ++count)
            part = up(up(columns, count), tiles.columns) * tiles.columns;
        return part;
    }

    static std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

    static std::int64_t registers(const Target& target) { return target.vectorRegisters() == 32 ? 29 : 13; }

    // Points of one tile and one block of channels at a time: patch and rows live in registers.
    static void schedulePoints(loops::Schedule& schedule, const Parts& parts, std::int64_t block, const Target& target) {
        auto& v = schedule[parts.points];
        const Var row = v.axes()[0], column = v.axes()[1], n = v.axes()[2], ty = v.axes()[3], tx = v.axes()[4];
        const auto [channels, lane] = v.split(v.axes()[5], block);
        v.reorder({n, channels, ty, tx, row, column, lane});
        const Shape& shape = parts.points->shape;
        const Var task = v.fuse(n, channels);
        const bool enough = shape[2] * shape[5] / block >= 2 * target.threads;
        v.parallel(enough ? task : v.fuse(task, ty));
        v.version(tx);
        v.unroll(row);
        v.unroll(column);
        v.vectorize(lane);
        for (const TensorRef& tensor : {parts.patch, parts.rows}) {
            schedule.setLayout(tensor, Layout::permuted({0, 2, 3, 4, 5, 1}));
            StageSchedule& s = schedule[tensor];
            s.computeAt(parts.points, tx);
            std::vector<Var> order{s.axes()[0], s.axes()[2], s.axes()[3], s.axes()[4], s.axes()[5]};
            order.insert(order.end(), s.reduceAxes().begin(), s.reduceAxes().end());
            order.push_back(s.axes()[1]);
            s.reorder(order);
            s.unroll(s.axes()[4]);
            s.unroll(s.axes()[5]);
            s.vectorize(s.axes()[1]);
        }
    }

    OutputLoops scheduleOutput(loops::Schedule& schedule, const Parts& parts, std::int64_t block, const ProductTiles& tiles, bool spreadRows) const {
        auto& o = schedule[parts.output];
        const Var n = o.axes()[0];
        const auto [ocBlock, lane] = o.split(o.axes()[1], block);
        const auto [oc, ocInner] = o.split(ocBlock, tiles.width / block);
        const auto [tileRow, y] = o.split(o.axes()[2], m_);
        const auto [group, rowInner] = o.split(tileRow, tiles.rows);
        const auto [allColumns, x] = o.split(o.axes()[3], m_);
        const bool inParts = tiles.part < parts.product->shape[4];
        const auto [part, tileColumn] = inParts ? o.split(allColumns, tiles.part) : std::pair(Var(), allColumns);
        std::vector<Var> order{n, oc, group, rowInner, tileColumn, ocInner, y, x, lane};
        if (inParts)
            order.insert(order.begin() + 3, part);
        o.reorder(order);
        Var task = o.fuse(n, oc), inner = group;
        if (spreadRows)
            inner = task = o.fuse(task, group);
        o.parallel(task);
        o.version(tileColumn);
        o.unroll(y);
        o.unroll(x);
        o.vectorize(lane);
        auto& c = schedule[parts.columns];
        schedule.setLayout(parts.columns, Layout::permuted({0, 2, 3, 4, 5, 1}));
        c.computeAt(parts.output, ocInner);
        c.reorder({c.axes()[0], c.axes()[2], c.axes()[3], c.axes()[4], c.axes()[5], c.axes()[1]});
        c.unroll(c.axes()[4]);
        c.unroll(c.axes()[5]);
        c.vectorize(c.axes()[1]);
        return {oc, group, part, inParts ? part : inner};
    }

    static void scheduleProduct(loops::Schedule& schedule, const Parts& parts, std::int64_t block, const ProductTiles& tiles,
                                const OutputLoops& out) {
        const TensorRef sums = schedule.cacheWrite(parts.product);
        auto& p = schedule[parts.product];
        p.computeAt(parts.output, out.task);
        const auto [txOuter, tx] = p.split(p.axes()[4], tiles.columns);
        const auto [ocBlock, lane] = p.split(p.axes()[5], block);
        p.reorder({p.axes()[0], p.axes()[1], p.axes()[2], txOuter, p.axes()[3], tx, ocBlock, lane});
        for (const Var& loop : {p.axes()[3], tx, ocBlock})
            p.unroll(loop);
        p.vectorize(lane);
        auto& s = schedule[sums];
        s.computeAt(parts.product, txOuter);
        const auto [sumBlock, sumLane] = s.split(s.axes()[5], block);
        const auto [step, unrolled] = s.split(s.reduceAxes()[0], tiles.unroll);
        s.reorder({s.axes()[0], s.axes()[1], s.axes()[2], step, unrolled, s.axes()[3], s.axes()[4], sumBlock, sumLane});
        for (const Var& loop : {unrolled, s.axes()[3], s.axes()[4], sumBlock})
            s.unroll(loop);
        s.vectorize(sumLane);
        fetchWeights(s, parts, tiles, out, txOuter, step);
    }

    // While the groups of tile rows go through a panel of channels the next one is fetched; where one group is all there is,
    // the next point of the panel while the columns go through this one.
    static void fetchWeights(StageSchedule& sums, const Parts& parts, const ProductTiles& tiles, const OutputLoops& out, const Var& column,
                             const Var& step) {
        const Shape& shape = parts.product->shape; // row and column of the point, image, tile row and column, channel
        const std::int64_t steps = up(parts.inputs, tiles.unroll), point = parts.inputs * tiles.width;
        const std::int64_t points = shape[0] * shape[1], panels = up(shape[5], tiles.width), columns = up(tiles.part, tiles.columns);
        const std::int64_t partsOfRow = up(shape[4], tiles.part), turns = up(shape[3], tiles.rows) * partsOfRow;
        const Expr turn = Expr(out.group) * Expr(partsOfRow) + (out.part ? Expr(out.part) : Expr(0));
        const Expr at = Expr(sums.axes()[0]) * Expr(shape[1]) + Expr(sums.axes()[1]);
        if (turns > 1)
            fetchNextPanel(sums, step, {parts.weights, Expr(out.panel), panels, points * point, turn,
                                        (at * Expr(columns) + Expr(column)) * Expr(steps) + Expr(step), turns, points * columns * steps});
        else
            fetchNextPanel(sums, step, {parts.weights, Expr(out.panel) * Expr(points) + at, panels * points, point,
                                        Expr(column), Expr(step), columns, steps});
    }

    std::int64_t m_;
    std::string name_;
};

} // namespace

const ScheduleTemplate& winogradTemplate(std::int64_t m) {
    static const WinogradTemplate two(2), four(4);
    return m == 2 ? two : four;
}

} // namespace tunesmith
