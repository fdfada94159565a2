// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/group_products.h"

#include <algorithm>

#include "core/graph/derived_name.h"
#include "core/module/reshaped_nodes.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kBlock = 8;   // of channels that a convolution computes well at a time
constexpr std::int64_t kPixels = 16; // fewer are no lanes

// A form is a number of groups: [N, C, H, W] becomes [N, G, C/G, H W].
class GroupProducts final : public ReshapedNodes {
public:
    explicit GroupProducts(const Graph& graph) : ReshapedNodes(graph) {}

private:
    Form formOf(const Node& node) const override {
        const std::int64_t groups = node.op == "Conv" && node.domain.empty() ? node.intAttr("group", 1) : 1;
        if (groups == 1 || !node.hasInput(0) || !isConstant(node, 1) || (node.hasInput(2) && !isConstant(node, 2)) || !valueOf(node.inputs[0]).type.isStatic())
            return kOwn;
        const Shape in = valueOf(node.inputs[0]).type.shape(), weights = valueOf(node.inputs[1]).type.shape(), out = valueOf(node.outputs[0]).type.shape();
        const bool single = out.size() == 4 && weights[2] * weights[3] == 1 && in[2] == out[2] && in[3] == out[3] && ones(node, "strides");
        return single && weights[0] / groups % kBlock != 0 && weights[1] > 1 && out[2] * out[3] >= kPixels ? groups : kOwn;
    }

    bool isConstant(const Node& node, std::size_t input) const { return node.hasInput(input) && valueOf(node.inputs[input]).isConstant(); }

    static bool ones(const Node& node, const char* name) {
        return std::ranges::all_of(node.intsAttr(name), [](std::int64_t value) { return value == 1; });
    }

    std::optional<Shape> shaped(const Shape& shape, const Shape& whole, Form groups) const override {
        if (elementCount(shape) == 1)
            return shape;
        if (whole.size() != 4 || shape.size() > 4)
            return std::nullopt;
        Shape full = shape;
        full.insert(full.begin(), 4 - full.size(), 1);
        const bool oneChannel = full[1] == 1, onePixel = full[2] * full[3] == 1;
        if ((!oneChannel && full[1] != whole[1]) || (!onePixel && (full[2] != whole[2] || full[3] != whole[3])))
            return std::nullopt;
        return Shape{full[0], oneChannel ? 1 : groups, oneChannel ? 1 : full[1] / groups, full[2] * full[3]};
    }

    // Those know which dimension is the channels'.
    bool follows(const Node& node) const override { return node.op != "BatchNormalization" && node.op != "ImageScaler" && ReshapedNodes::follows(node); }

    void compute(NodeId id, Node node, ValueId made, Form groups) override {
        if (node.op != "Conv")
            return ReshapedNodes::compute(id, std::move(node), made, groups);
        const Shape whole = valueOf(node.outputs[0]).type.shape(), weights = valueOf(node.inputs[1]).type.shape();
        const std::int64_t rows = weights[0] / groups;
        Node product;
        product.op = "MatMul";
        product.name = node.name;
        product.inputs = {reshaped(node.inputs[1], {1, groups, rows, weights[1]}), channelsOf(node.inputs[0], groups)};
        product.outputs = {made};
        if (node.hasInput(2)) {
            product.outputs = {builder().addValue(derivedName(builder().value(made).name, ".product"), builder().value(made).type)};
            Node bias;
            bias.op = "Add";
            bias.name = derivedName(node.name, ".bias");
            bias.inputs = {product.outputs[0], reshaped(node.inputs[2], {groups, rows, 1})};
            bias.outputs = {made};
            builder().addNode(std::move(bias));
        }
        builder().replaceNode(id, std::move(product));
    }

    // What a convolution reads has channels of its own number.
    ValueId channelsOf(ValueId id, Form groups) { return inForm(id, valueOf(id).type.shape(), groups); }
};

} // namespace

Result<Graph> groupedConvsAsProducts(const Graph& graph) { return GroupProducts(graph).run(); }

} // namespace tunesmith
