// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/transposed_conv.h"

#include <algorithm>
#include <array>

#include "core/graph/graph_builder.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

// One spatial dimension: `taps` of the kernel per phase; the convolution pads by `begin` and `end`; `first` rows of what
// comes out are then cut off.
struct Direction {
    std::int64_t taps, begin, end, first, output;
};

std::optional<Direction> direction(std::int64_t input, std::int64_t output, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    if (kernel % stride != 0 || pad < 0 || pad + output > stride * (input - 1) + kernel)
        return std::nullopt; // positions that no input reaches
    const std::int64_t taps = kernel / stride;
    Direction d{taps, taps - 1, taps - 1, pad, output};
    if (pad % stride != 0 || output % stride != 0)
        return d;
    const Direction exact{taps, taps - 1 - pad / stride, output / stride - input + pad / stride, 0, output};
    return exact.begin >= 0 && exact.end >= 0 ? exact : d;
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
    bool plain(const Node& node) const {
        const bool constants = node.op == "ConvTranspose" && node.domain.empty() && isConstantFloat(node, 1) && (!node.hasInput(2) || isConstantFloat(node, 2));
        if (!constants || graph_.value(node.inputs[1]).constant.rank() != 4 || !graph_.value(node.inputs[0]).type.isStatic())
            return false;
        const Ints dilations = node.intsAttr("dilations"), strides = node.intsAttr("strides");
        const std::string pad = node.stringAttr("auto_pad", "NOTSET");
        return node.intsAttr("output_shape").empty() && pad == "NOTSET" && (dilations.empty() || dilations == Ints{1, 1}) &&
               (strides.empty() || strides[0] == strides[1]);
    }

    bool isConstantFloat(const Node& node, std::size_t input) const {
        return node.hasInput(input) && graph_.value(node.inputs[input]).isConstant() && graph_.value(node.inputs[input]).constant.type() == DType::f32;
    }

    void tryRewrite(NodeId id) {
        const Node& node = graph_.node(id);
        if (!plain(node))
            return;
        const Ints strides = node.intsAttr("strides"), stated = node.intsAttr("pads");
        const std::int64_t stride = strides.empty() ? 1 : strides[0];
        const Ints pads = stated.empty() ? Ints(4, 0) : stated;
        const Shape x = graph_.value(node.inputs[0]).type.shape(), y = graph_.value(node.outputs[0]).type.shape();
        const Shape w = graph_.value(node.inputs[1]).constant.shape();
        const auto vertical = direction(x[2], y[2], w[2], stride, pads[0]), horizontal = direction(x[3], y[3], w[3], stride, pads[1]);
        if (vertical && horizontal)
            rewrite(id, stride, {*vertical, *horizontal});
    }

    // [C, O/g, kh, kw] -> [O * s * s, C/g, taps, taps]: phases of one output channel side by side, taps back to front
    Tensor phases(const Tensor& old, std::int64_t group, std::int64_t s, const std::array<Direction, 2>& d) const {
        const Shape& w = old.shape();
        const std::int64_t in = w[0] / group, out = w[1];
        Tensor made = Tensor::zeros(DType::f32, {group * out * s * s, in, d[0].taps, d[1].taps});
        const auto from = old.data<float>();
        auto to = made.mutableData<float>().begin();
        for (std::int64_t o = 0; o < group * out * s * s; ++o)
            for (std::int64_t c = 0; c < in; ++c)
                for (std::int64_t t = 0; t < d[0].taps; ++t)
                    for (std::int64_t v = 0; v < d[1].taps; ++v) {
                        const std::int64_t channel = o / (s * s), row = s * (d[0].taps - 1 - t) + o / s % s, column = s * (d[1].taps - 1 - v) + o % s;
                        const std::int64_t source = channel / out * in + c;
                        *to++ = from[static_cast<std::size_t>(((source * out + channel % out) * w[2] + row) * w[3] + column)];
                    }
        return made;
    }

    Tensor repeated(const Tensor& bias, std::int64_t times) const {
        Tensor made = Tensor::zeros(DType::f32, {bias.count() * times});
        for (std::int64_t i = 0; i < made.count(); ++i)
            made.mutableData<float>()[static_cast<std::size_t>(i)] = bias.data<float>()[static_cast<std::size_t>(i / times)];
        return made;
    }

    void rewrite(NodeId id, std::int64_t stride, const std::array<Direction, 2>& d) {
        const Node& node = graph_.node(id);
        const Value& weights = graph_.value(node.inputs[1]);
        const std::int64_t group = node.intAttr("group", 1);
        std::vector<ValueId> inputs{node.inputs[0], builder_.addConstant(weights.name + ".phases", phases(weights.constant, group, stride, d))};
        if (node.hasInput(2))
            inputs.push_back(builder_.addConstant(weights.name + ".bias", repeated(graph_.value(node.inputs[2]).constant, stride * stride)));
        std::vector<Step> steps{{"Conv", inputs, {{"pads", Ints{d[0].begin, d[1].begin, d[0].end, d[1].end}}, {"group", group}}}};
        if (stride > 1)
            steps.push_back({"DepthToSpace", {}, {{"blocksize", stride}, {"mode", std::string("CRD")}}});
        if (d[0].first > 0 || d[1].first > 0 || cut(d[0], stride, node, 2) || cut(d[1], stride, node, 3))
            steps.push_back({"Slice", {ValueId(), ints({d[0].first, d[1].first}), ints({d[0].first + d[0].output, d[1].first + d[1].output}), ints({2, 3})}, {}});
        replace(id, std::move(steps));
    }

    struct Step {
        std::string op;
        std::vector<ValueId> inputs; // the first one is the step before, but for the first step
        std::map<std::string, Attribute> attributes;
    };

    // The last step makes the node's output under its old name.
    void replace(NodeId id, std::vector<Step> steps) {
        Node node = graph_.node(id);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            Step& step = steps[i];
            if (i > 0) {
                step.inputs.resize(std::max<std::size_t>(1, step.inputs.size()));
                step.inputs[0] = node.inputs[0];
            }
            if (i + 1 < steps.size()) {
                node.inputs[0] = builder_.add(step.op, step.inputs, step.attributes, 1, node.name + "." + step.op);
                continue;
            }
            node.op = step.op;
            node.inputs = step.inputs;
            node.attributes = step.attributes;
        }
        builder_.replaceNode(id, std::move(node));
    }

    // Whether more comes out at the end than is wanted.
    bool cut(const Direction& d, std::int64_t stride, const Node& node, std::size_t dim) const {
        const std::int64_t input = graph_.value(node.inputs[0]).type.shape()[dim];
        return (input + d.begin + d.end - d.taps + 1) * stride != d.first + d.output;
    }

    ValueId ints(const Ints& values) { return builder_.addConstant("", Tensor::ofInts(values)); }

    const Graph& graph_;
    GraphBuilder builder_;
};

} // namespace

Result<Graph> transposedConvsAsConvs(const Graph& graph) { return Rewriter(graph).run(); }

} // namespace tunesmith
