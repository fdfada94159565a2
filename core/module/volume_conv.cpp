// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/volume_conv.h"

#include <algorithm>

#include "core/graph/derived_name.h"
#include "core/graph/graph_builder.h"
#include "core/ops/explicit_window.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMostTaps = 256; // slices that one Concat joins as a kernel

// The window along the slices.
struct SliceWindow {
    std::int64_t taps, stride, dilation, slices; // slices: of the result
};

class VolumeConvs {
public:
    explicit VolumeConvs(const Graph& graph) : graph_(graph), builder_(graph) {}

    Result<Graph> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            if (const NodeId id(static_cast<std::int64_t>(i)); fits(graph_.node(id)))
                rewrite(id);
        return builder_.build();
    }

private:
    bool fits(const Node& node) const {
        if (node.op != "Conv" || !node.domain.empty() || node.intAttr("group", 1) != 1)
            return false;
        const Value &x = graph_.value(node.inputs[0]), &w = graph_.value(node.inputs[1]), &y = graph_.value(node.outputs[0]);
        return x.type.isStatic() && y.type.isStatic() && y.type.dtype == DType::f32 && y.type.shape().size() == 5 && elementCount(x.type.shape()) > 0 &&
               elementCount(y.type.shape()) > 0 && w.isConstant() && w.constant.shape()[2] <= kMostTaps;
    }

    void rewrite(NodeId id) {
        const Node plain = withExplicitWindow(graph_, graph_.node(id), kOpset);
        const Shape y = graph_.value(plain.outputs[0]).type.shape(), w = graph_.value(plain.inputs[1]).constant.shape();
        const Ints pads = plain.intsAttr("pads"), strides = plain.intsAttr("strides"), dilations = plain.intsAttr("dilations");
        const SliceWindow window{w[2], strides[0], dilations[0], y[2]};
        const ValueId maps = windowsAsChannels(plain, window, pads[0], pads[3]);
        std::vector<ValueId> inputs{maps, builder_.addConstant(derivedName(graph_.value(plain.inputs[1]).name, ".slices"), sliceWeights(graph_.value(plain.inputs[1]).constant))};
        if (plain.hasInput(2))
            inputs.push_back(plain.inputs[2]);
        const ValueId made = builder_.add("Conv", inputs,
                                          {{"pads", Ints{pads[1], pads[2], pads[4], pads[5]}}, {"strides", Ints{strides[1], strides[2]}}, {"dilations", Ints{dilations[1], dilations[2]}}},
                                          1, derivedName(plain.name, ".Conv"));
        Node last = graph_.node(id);
        last.op = "Transpose";
        last.inputs = {reshaped(made, {y[0], y[2], y[1], y[3], y[4]})};
        last.attributes = {{"perm", kSwapped}};
        builder_.replaceNode(id, std::move(last));
    }

    // [N, C, D, H, W] -> [N * slices, taps * C, H, W]
    ValueId windowsAsChannels(const Node& node, const SliceWindow& window, std::int64_t before, std::int64_t after) {
        const Shape x = graph_.value(node.inputs[0]).type.shape();
        ValueId slices = node.inputs[0];
        if (before + after > 0)
            slices = builder_.add("Pad", {slices, ints({0, 0, before, 0, 0, 0, 0, after, 0, 0})}, {}, 1, derivedName(node.name, ".Pad"));
        slices = builder_.add("Transpose", {slices}, {{"perm", kSwapped}}, 1, derivedName(node.name, ".Transpose"));
        std::vector<ValueId> taps;
        for (std::int64_t tap = 0; tap < window.taps; ++tap) {
            const std::int64_t begin = tap * window.dilation, end = begin + (window.slices - 1) * window.stride + 1;
            taps.push_back(builder_.add("Slice", {slices, ints({begin}), ints({end}), ints({1}), ints({window.stride})}, {}, 1, derivedName(node.name, ".Slice")));
        }
        const ValueId joined = taps.size() == 1 ? taps[0] : builder_.add("Concat", taps, {{"axis", std::int64_t{2}}}, 1, derivedName(node.name, ".Concat"));
        return reshaped(joined, {x[0] * window.slices, window.taps * x[1], x[3], x[4]});
    }

    // [O, C, kd, kh, kw] -> [O, kd * C, kh, kw]
    static Tensor sliceWeights(const Tensor& old) {
        const Shape& w = old.shape();
        const std::int64_t map = w[3] * w[4];
        Tensor made = Tensor::zeros(DType::f32, {w[0], w[2] * w[1], w[3], w[4]});
        const auto from = old.data<float>();
        const auto to = made.mutableData<float>();
        for (std::int64_t o = 0; o < w[0]; ++o)
            for (std::int64_t c = 0; c < w[1]; ++c)
                for (std::int64_t d = 0; d < w[2]; ++d)
                    std::copy_n(from.begin() + ((o * w[1] + c) * w[2] + d) * map, map, to.begin() + ((o * w[2] + d) * w[1] + c) * map);
        return made;
    }

    ValueId reshaped(ValueId value, const Shape& shape) { return builder_.add("Reshape", {value, ints(shape)}); }
    ValueId ints(const Ints& values) { return builder_.addConstant("", Tensor::ofInts(values)); }

    static constexpr std::int64_t kOpset = 17;
    inline static const Ints kSwapped{0, 2, 1, 3, 4}; // channels and slices

    const Graph& graph_;
    GraphBuilder builder_;
};

} // namespace

Result<Graph> volumeConvsAsMapConvs(const Graph& graph) { return VolumeConvs(graph).run(); }

} // namespace tunesmith
