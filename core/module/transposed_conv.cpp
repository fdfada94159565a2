// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/transposed_conv.h"

#include <algorithm>

#include "core/graph/derived_name.h"
#include "core/graph/graph_builder.h"
#include "core/ops/conv_transpose.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

// The outputs that are the same number of steps behind a multiple of the stride. Rows row, row + stride ... of the kernel make them,
// in a convolution of so many taps and pads.
struct Phase {
    std::int64_t row, taps, begin, end;
};

// One spatial dimension: its phases make `rows` outputs each, of which, side by side, the first ones are cut off.
struct Direction {
    std::vector<Phase> phases;
    std::int64_t stride, dilation, kernel, rows, first, output;

    bool isAligned() const { return std::ranges::all_of(phases, [](const Phase& p) { return p.begin >= 0 && p.end >= 0; }); }
    bool isUniform() const {
        return std::ranges::all_of(phases, [this](const Phase& p) { return p.taps == phases[0].taps && p.begin == phases[0].begin && p.end == phases[0].end; });
    }
    bool isCut() const { return first > 0 || rows * stride != output; }
};

// With y + pad = s (h + q) + row: output h of the phase is the sum over t of input h + q - t times row + s t of the kernel.
Direction alignedDirection(std::int64_t input, std::int64_t output, const ops::Window& w) {
    Direction d{{}, w.stride, w.dilation, w.kernel, (output + w.stride - 1) / w.stride, 0, output};
    for (std::int64_t y = 0; y < w.stride; ++y) {
        const std::int64_t row = (y + w.padBegin) % w.stride, q = (y + w.padBegin) / w.stride, taps = (w.kernel - row + w.stride - 1) / w.stride;
        d.phases.push_back({row, taps, (taps - 1) * w.dilation - q, d.rows - input + q});
    }
    return d;
}

// All that any input reaches; the pads are cut off afterwards.
Direction wholeDirection(std::int64_t input, std::int64_t output, const ops::Window& w) {
    const std::int64_t most = ((w.kernel + w.stride - 1) / w.stride - 1) * w.dilation;
    Direction d{{}, w.stride, w.dilation, w.kernel, input + most, w.padBegin, output};
    for (std::int64_t row = 0; row < w.stride; ++row) {
        const std::int64_t taps = (w.kernel - row + w.stride - 1) / w.stride;
        d.phases.push_back({row, taps, (taps - 1) * w.dilation, most});
    }
    return d;
}

// None where a phase has no taps, or where something else than the first taps of all phases meets an input.
std::optional<Direction> directionOf(std::int64_t input, std::int64_t output, const ops::Window& w) {
    if (w.kernel < w.stride || (w.stride > 1 && w.dilation > 1) || w.padBegin < 0)
        return std::nullopt;
    const Direction aligned = alignedDirection(input, output, w), whole = wholeDirection(input, output, w);
    const bool preferred = aligned.isAligned() && (aligned.isUniform() || w.kernel % w.stride != 0);
    if (!preferred && whole.first + output > whole.rows * w.stride)
        return aligned.isAligned() ? std::optional(aligned) : std::nullopt;
    return preferred ? aligned : whole;
}

class Rewriter {
public:
    explicit Rewriter(const Graph& graph) : graph_(graph), builder_(graph) {}

    Result<Graph> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            tryRewrite(NodeId(static_cast<std::int64_t>(i)));
        return builder_.build();
    }

private:
    static constexpr std::int64_t kMostConvolutions = 16; // instead of one

    bool isConstantFloat(const Node& node, std::size_t input) const {
        return node.hasInput(input) && graph_.value(node.inputs[input]).isConstant() && graph_.value(node.inputs[input]).constant.type() == DType::f32;
    }

    void tryRewrite(NodeId id) {
        const Node& node = graph_.node(id);
        if (node.op != "ConvTranspose" || !node.domain.empty() || !isConstantFloat(node, 1) || (node.hasInput(2) && !isConstantFloat(node, 2)) ||
            !graph_.value(node.inputs[0]).type.isStatic())
            return;
        const Shape x = graph_.value(node.inputs[0]).type.shape(), w = graph_.value(node.inputs[1]).constant.shape();
        const auto geometry = ops::transposedConvGeometry(node, x, w);
        if (!geometry.ok() || elementCount(x) == 0 || elementCount(w) == 0)
            return;
        std::vector<Direction> directions;
        for (std::size_t d = 0; d < geometry->rank(); ++d) {
            const auto found = directionOf(geometry->output[d], geometry->input[d], geometry->dims[d]);
            if (!found)
                return;
            directions.push_back(*found);
        }
        if (std::ranges::all_of(directions, &Direction::isUniform) || phaseCount(directions) <= kMostConvolutions)
            rewrite(id, directions);
    }

    static std::int64_t phaseCount(const std::vector<Direction>& directions) {
        std::int64_t count = 1;
        for (const Direction& d : directions)
            count *= d.stride;
        return count;
    }

    // One of each direction's phases, the last direction's fastest.
    static std::vector<Phase> phasesAt(const std::vector<Direction>& directions, std::int64_t index) {
        std::vector<Phase> at(directions.size());
        for (std::size_t d = directions.size(); d-- > 0; index /= directions[d].stride)
            at[d] = directions[d].phases[static_cast<std::size_t>(index % directions[d].stride)];
        return at;
    }

    // [C, O/g, kernel] -> [O * phases, C/g, taps], the phases of an output channel side by side, taps back to front.
    static Tensor weightsOf(const Tensor& old, std::int64_t group, const std::vector<Direction>& directions, const std::vector<std::vector<Phase>>& phases) {
        const Shape& w = old.shape();
        const std::int64_t in = w[0] / group, out = w[1], window = elementCount({w.begin() + 2, w.end()}), count = std::ssize(phases);
        Shape shape{group * out * count, in};
        for (const Phase& phase : phases[0])
            shape.push_back(phase.taps);
        Tensor made = Tensor::zeros(DType::f32, shape);
        const auto from = old.data<float>();
        auto to = made.mutableData<float>().begin();
        const Shape taps(shape.begin() + 2, shape.end());
        for (std::int64_t o = 0; o < group * out * count; ++o)
            for (std::int64_t c = 0; c < in; ++c) {
                const std::int64_t channel = o / count, source = (channel / out * in + c) * out + channel % out;
                Shape tap(taps.size(), 0);
                do
                    *to++ = from[static_cast<std::size_t>(source * window + placeOf(tap, taps, directions, phases[static_cast<std::size_t>(o % count)]))];
                while (ops::nextIndex(tap, taps));
            }
        return made;
    }

    static std::int64_t placeOf(const Shape& tap, const Shape& taps, const std::vector<Direction>& directions, const std::vector<Phase>& phase) {
        std::int64_t place = 0;
        for (std::size_t d = 0; d < tap.size(); ++d)
            place = place * directions[d].kernel + phase[d].row + directions[d].stride * (taps[d] - 1 - tap[d]);
        return place;
    }

    static Tensor repeated(const Tensor& bias, std::int64_t times) {
        Tensor made = Tensor::zeros(DType::f32, {bias.count() * times});
        for (std::int64_t i = 0; i < made.count(); ++i)
            made.mutableData<float>()[static_cast<std::size_t>(i)] = bias.data<float>()[static_cast<std::size_t>(i / times)];
        return made;
    }

    struct Step {
        std::string op;
        std::vector<ValueId> inputs; // the first one, where it is none, is what the step before made
        std::map<std::string, Attribute> attributes;
    };

    // The convolution that makes some phases of all channels.
    Step convolution(const Node& node, const std::vector<Direction>& directions, const std::vector<std::vector<Phase>>& phases) {
        const Value& weights = graph_.value(node.inputs[1]);
        const std::int64_t group = node.intAttr("group", 1), count = std::ssize(phases);
        std::vector<ValueId> inputs{node.inputs[0], builder_.addConstant(derivedName(weights.name, ".phases"), weightsOf(weights.constant, group, directions, phases))};
        if (node.hasInput(2))
            inputs.push_back(builder_.addConstant(derivedName(weights.name, ".bias"), repeated(graph_.value(node.inputs[2]).constant, count)));
        Ints pads, dilations;
        for (const Phase& phase : phases[0])
            pads.push_back(phase.begin);
        for (const Phase& phase : phases[0])
            pads.push_back(phase.end);
        for (const Direction& d : directions)
            dilations.push_back(d.dilation);
        return {"Conv", std::move(inputs), {{"pads", pads}, {"dilations", dilations}, {"group", group}}};
    }

    void rewrite(NodeId id, const std::vector<Direction>& directions) {
        const Node& node = graph_.node(id);
        std::vector<std::vector<Phase>> phases;
        for (std::int64_t i = 0; i < phaseCount(directions); ++i)
            phases.push_back(phasesAt(directions, i));
        const bool together = std::ranges::all_of(directions, &Direction::isUniform);
        std::vector<Step> steps;
        if (together) {
            steps.push_back(convolution(node, directions, phases));
        } else {
            Step joined{"Concat", {}, {{"axis", std::int64_t{1}}}};
            for (const auto& phase : phases) {
                const Step conv = convolution(node, directions, {phase});
                joined.inputs.push_back(builder_.add(conv.op, conv.inputs, conv.attributes, 1, derivedName(node.name, ".Conv")));
            }
            steps.push_back(std::move(joined));
        }
        if (phases.size() > 1)
            addInterleaving(node, directions, together, steps);
        if (std::ranges::any_of(directions, &Direction::isCut))
            steps.push_back(cut(directions));
        replace(id, std::move(steps));
    }

    // Channels become the places between: they hold the phases of each channel, or the channels of each phase.
    void addInterleaving(const Node& node, const std::vector<Direction>& directions, bool phasesInside, std::vector<Step>& steps) {
        if (directions.size() == 2 && directions[0].stride == directions[1].stride) {
            steps.push_back({"DepthToSpace", {ValueId()}, {{"blocksize", directions[0].stride}, {"mode", std::string(phasesInside ? "CRD" : "DCR")}}});
            return;
        }
        const Shape y = graph_.value(node.outputs[0]).type.shape();
        Ints apart{y[0]}, order{0}, whole{y[0], y[1]};
        const auto rank = std::ssize(directions);
        if (phasesInside)
            apart.push_back(y[1]);
        for (const Direction& d : directions)
            apart.push_back(d.stride);
        if (!phasesInside)
            apart.push_back(y[1]);
        order.push_back(phasesInside ? 1 : rank + 1);
        for (std::int64_t d = 0; d < rank; ++d) {
            const Direction& direction = directions[static_cast<std::size_t>(d)];
            apart.push_back(direction.rows);
            order.insert(order.end(), {rank + 2 + d, d + (phasesInside ? 2 : 1)});
            whole.push_back(direction.rows * direction.stride);
        }
        steps.push_back({"Reshape", {ValueId(), ints(apart)}, {}});
        steps.push_back({"Transpose", {ValueId()}, {{"perm", order}}});
        steps.push_back({"Reshape", {ValueId(), ints(whole)}, {}});
    }

    Step cut(const std::vector<Direction>& directions) {
        Ints begin, end, axes;
        for (const Direction& d : directions) {
            begin.push_back(d.first);
            end.push_back(d.first + d.output);
            axes.push_back(2 + std::ssize(axes));
        }
        return {"Slice", {ValueId(), ints(begin), ints(end), ints(axes)}, {}};
    }

    // The last step makes the node's output under its old name.
    void replace(NodeId id, std::vector<Step> steps) {
        Node node = graph_.node(id);
        ValueId made;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            Step& step = steps[i];
            if (!step.inputs[0].valid())
                step.inputs[0] = made;
            if (i + 1 < steps.size()) {
                made = builder_.add(step.op, step.inputs, step.attributes, 1, derivedName(node.name, "." + step.op));
                continue;
            }
            node.op = step.op;
            node.inputs = step.inputs;
            node.attributes = step.attributes;
        }
        builder_.replaceNode(id, std::move(node));
    }

    ValueId ints(const Ints& values) { return builder_.addConstant("", Tensor::ofInts(values)); }

    const Graph& graph_;
    GraphBuilder builder_;
};

} // namespace

Result<Graph> transposedConvsAsConvs(const Graph& graph) { return Rewriter(graph).run(); }

} // namespace tunesmith
