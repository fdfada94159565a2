// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <numeric>

#include "core/loops/simplify.h"
#include "core/ops/convolution.h"
#include "core/schedule/autotvm_template.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/layouts.h"
#include "core/schedule/operand_copy.h"

namespace tunesmith {
namespace {

using loops::Layout;
using loops::Stage;
using loops::StageSchedule;
using loops::TensorRef;
using loops::Var;

bool isDepthwise(const Stage& conv) {
    return conv.reduceAxes[0].extent == 1 && loops::usesVar(conv.body->args[0]->args[1], conv.axes[1].var);
}

// As many lanes of a block of channels as lie side by side in a layout with blocks of `inMemory`.
std::int64_t lanesIn(std::int64_t block, std::int64_t lanes, std::int64_t inMemory) {
    lanes = std::min(block, lanes);
    const bool aligned = inMemory <= 1 || (inMemory % lanes == 0 && block % lanes == 0);
    return aligned ? lanes : std::gcd(std::gcd(block, inMemory), lanes);
}

// What conv2d_NCHWc.x86 and depthwise_conv2d_NCHWc.x86 share (NeoCPU, ATC'19): a tile of columns and one block of output
// channels is accumulated over the whole reduction; images, blocks and rows are dealt out to threads; zeros around the input
// are written into a copy first.
class AutotvmConv : public AutotvmTemplate {
public:
    bool matches(const LoweredWorkload& lowered, const Target&) const override {
        const Stage* conv = convStage(lowered);
        if (!conv)
            return false;
        const std::size_t x = argumentOf(lowered, conv->body->args[0]->tensor), w = argumentOf(lowered, conv->body->args[1]->tensor);
        return x < lowered.arguments.size() && w < lowered.arguments.size() && lowered.constantArguments[w] && takes(*conv);
    }

    autotvm::Task task(const Workload& workload, const LoweredWorkload& lowered) const override {
        const Stage& conv = *convStage(lowered);
        const Shape& x = conv.body->args[0]->tensor->shape;
        const Shape& w = conv.body->args[1]->tensor->shape;
        const auto geometry = ops::convGeometry(*workload.graph.nodes().front(), x, w);
        assert(geometry.ok() && "its shape was inferred");
        const ops::Window &y = geometry->dims[0], &c = geometry->dims[1];
        return {name(), "[" + autotvmTensor(x) + "," + autotvmTensor(kernelShape(x, w)) + "," + autotvmList({y.stride, c.stride}) + "," +
                            autotvmList({y.padBegin, c.padBegin, y.padEnd, c.padEnd}) + "," + autotvmList({y.dilation, c.dilation}) +
                            ",\"NCHW\",\"NCHW\",\"float32\"]"};
    }

    void prepare(LoweredWorkload& lowered) const override { padLeftOperand(lowered.program, 2); }

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config,
               const Target& target) const override {
        const Tiles tiles(KnobReader(space, config), schedule.program(), lowered, target);
        const ProductParts parts = productParts(schedule);
        if (parts.copy)
            schedulePadding(schedule, parts.copy, tiles);
        schedule.setLayout(parts.sums, Layout::blocked(4, 1, tiles.block));
        schedule[parts.sums].computeAt(parts.output, scheduleOutput(schedule[parts.output], parts.output->shape, tiles));
        scheduleSums(schedule[parts.sums], tiles);
        lowered.argumentLayouts[tiles.weights] = Layout::weights(4, tiles.weightBlock, tiles.block);
    }

protected:
    struct Tiles {
        std::int64_t inBlock, block, columns, rows = 1; // AutoTVM's ic_bn, oc_bn, reg_n
        bool unrollKernel = false;
        std::int64_t kernelWidth, weightBlock, inMemory, outMemory, vector; // blocks of input and output as they lie in memory
        std::size_t weights;

        Tiles(const KnobReader& knob, const loops::Program& program, const LoweredWorkload& lowered, const Target& target)
            : inBlock(knob.inner("tile_ic")), block(knob.inner("tile_oc")), columns(knob.inner("tile_ow")) {
            const bool padded = copiesOperand(program);
            const Stage& conv = program.stages[padded ? 1 : 0];
            if (knob.has("tile_oh"))
                rows = knob.inner("tile_oh");
            if (knob.has("unroll_kw"))
                unrollKernel = knob.inner("unroll_kw") != 0;
            columns = std::min(columns, std::max<std::int64_t>(1, kMostLocalFloats / (block * rows)));
            kernelWidth = conv.reduceAxes[2].extent;
            weights = argumentOf(lowered, conv.body->args[1]->tensor);
            weightBlock = conv.reduceAxes[0].extent > 1 ? inBlock : 1;
            const TensorRef& x = conv.body->args[0]->tensor;
            inMemory = padded ? inBlock : channelBlock(lowered.argumentLayouts[argumentOf(lowered, x)]);
            outMemory = channelBlock(lowered.outputLayouts[0]);
            vector = target.floatLanes();
        }
    };

private:
    virtual bool takes(const Stage& conv) const = 0;
    virtual Shape kernelShape(const Shape& x, const Shape& w) const = 0; // as AutoTVM's argument
    virtual void scheduleSums(StageSchedule& sums, const Tiles& tiles) const = 0;

    static void schedulePadding(loops::Schedule& schedule, const TensorRef& copy, const Tiles& tiles) {
        schedule.setLayout(copy, Layout::blocked(4, 1, tiles.inBlock));
        auto& p = schedule[copy];
        const Var n = p.axes()[0], row = p.axes()[2], column = p.axes()[3];
        const auto [chunk, channel] = p.split(p.axes()[1], tiles.inBlock);
        const auto [vectors, lane] = p.split(channel, std::min(tiles.inBlock, tiles.vector));
        p.reorder({n, chunk, row, p.reduceAxes()[0], column, vectors, lane});
        p.parallel(p.fuse(p.fuse(n, chunk), row));
        p.vectorize(lane);
    }

    // Returns the loop over the tiles of a row.
    static Var scheduleOutput(StageSchedule& o, const Shape& shape, const Tiles& tiles) {
        const std::int64_t lanes = lanesIn(tiles.block, tiles.vector, tiles.outMemory);
        const Var n = o.axes()[0];
        const auto [chunk, channel] = o.split(o.axes()[1], tiles.block);
        const auto [rows, row] = o.split(o.axes()[2], tiles.rows);
        const auto [columns, column] = o.split(o.axes()[3], tiles.columns);
        const auto [vectors, lane] = o.split(channel, lanes);
        o.reorder({n, chunk, rows, columns, row, column, vectors, lane});
        const Var task = o.fuse(n, chunk);
        // A last tile of fewer rows could not be split off a loop that is dealt out together with others.
        const bool even = shape[2] % tiles.rows == 0 || (shape[0] == 1 && shape[1] == tiles.block);
        o.parallel(even ? o.fuse(task, rows) : task);
        if (lanes > 1)
            o.vectorize(lane);
        Unroller(o, tiles.outMemory <= 1 ? lanes : 1)
            .over(vectors, (tiles.block + lanes - 1) / lanes).over(column, tiles.columns).over(row, tiles.rows);
        return columns;
    }
};

class DirectConv final : public AutotvmConv {
public:
    const char* name() const override { return "conv2d_NCHWc.x86"; }

    // AutoTVM's, for tasks of which it has no record.
    Config guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target& target) const override {
        const Stage& conv = *convStage(lowered);
        const Shape& out = conv.output->shape;
        const std::int64_t block = largestDivisor(out[1], target.floatLanes());
        std::int64_t columns = largestDivisor(out[3], kMostColumns), rows = 1;
        if (space.knobIndex("tile_oh"))
            rows = out[2] % 2 == 0 && 2 * columns <= kMostColumns ? 2 : 1;
        return configWith(space, {{"tile_ic", {largestDivisor(conv.reduceAxes[0].extent, block)}}, {"tile_oc", {block}},
                                  {"tile_ow", {columns}}, {"tile_oh", {rows}}, {"unroll_kw", {0}}});
    }

private:
    static constexpr std::int64_t kMostColumns = 31;

    bool takes(const Stage& conv) const override {
        const loops::Expr& channel = conv.body->args[0]->args[1];
        return channel->op == loops::Op::var && channel->var == conv.reduceAxes[0].var;
    }

    Shape kernelShape(const Shape&, const Shape& w) const override { return w; }

    void scheduleSums(StageSchedule& c, const Tiles& tiles) const override {
        const std::int64_t lanes = std::min(tiles.block, tiles.vector);
        const Var kh = c.reduceAxes()[1], kw = c.reduceAxes()[2], row = c.axes()[2], column = c.axes()[3];
        const auto [vectors, lane] = c.split(c.axes()[1], lanes);
        const auto [chunk, channel] = c.split(c.reduceAxes()[0], tiles.inBlock);
        // In steps that lie within one block of the input, so that its addresses need no division.
        const auto [part, step] = c.split(channel, tiles.inMemory > 1 ? std::gcd(tiles.inBlock, tiles.inMemory) : tiles.inBlock);
        if (tiles.unrollKernel)
            c.reorder({c.axes()[0], chunk, kh, part, step, kw, row, column, vectors, lane});
        else
            c.reorder({c.axes()[0], chunk, kh, kw, part, step, row, column, vectors, lane});
        if (lanes > 1)
            c.vectorize(lane);
        Unroller body(c);
        body.over(vectors, (tiles.block + lanes - 1) / lanes).over(column, tiles.columns).over(row, tiles.rows);
        if (tiles.unrollKernel)
            body.over(kw, tiles.kernelWidth);
    }
};

class DepthwiseConv final : public AutotvmConv {
public:
    const char* name() const override { return "depthwise_conv2d_NCHWc.x86"; }

    Config guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target& target) const override {
        const Stage& conv = *convStage(lowered);
        const Shape& out = conv.output->shape;
        const std::int64_t block = largestDivisor(out[1], target.floatLanes());
        return configWith(space, {{"tile_ic", {largestDivisor(conv.body->args[0]->tensor->shape[1], block)}}, {"tile_oc", {block}},
                                  {"tile_ow", {largestDivisor(out[3], 31)}}, {"unroll_kw", {0}}});
    }

private:
    bool takes(const Stage& conv) const override { return isDepthwise(conv); }

    Shape kernelShape(const Shape& x, const Shape& w) const override { return {x[1], w[0] / x[1], w[2], w[3]}; }

    void scheduleSums(StageSchedule& c, const Tiles& tiles) const override {
        const std::int64_t lanes = lanesIn(tiles.block, tiles.vector, tiles.inMemory);
        const Var column = c.axes()[3];
        const auto [vectors, lane] = c.split(c.axes()[1], lanes);
        c.reorder({c.axes()[0], c.axes()[2], c.reduceAxes()[0], c.reduceAxes()[1], c.reduceAxes()[2], column, vectors, lane});
        if (lanes > 1)
            c.vectorize(lane);
        Unroller body(c, tiles.inMemory <= 1 ? lanes : 1); // lanes that lie apart are loaded one by one
        body.over(vectors, (tiles.block + lanes - 1) / lanes).over(column, tiles.columns);
        if (tiles.unrollKernel)
            body.over(c.reduceAxes()[2], tiles.kernelWidth);
    }
};

} // namespace

const AutotvmTemplate& autotvmConvTemplate() {
    static const DirectConv instance;
    return instance;
}

const AutotvmTemplate& autotvmDepthwiseTemplate() {
    static const DepthwiseConv instance;
    return instance;
}

} // namespace tunesmith
