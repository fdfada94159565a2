// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/map_norms.h"

#include <algorithm>

#include "core/module/reshaped_nodes.h"

namespace tunesmith {
namespace {

// [N, C, spatial ...] becomes [N, C, all of a map].
class MapNorms final : public ReshapedNodes {
public:
    explicit MapNorms(const Graph& graph) : ReshapedNodes(graph) {}

private:
    static constexpr Form kRows = 1;

    static bool isNorm(const Node& node) { return node.op == "InstanceNormalization" && node.domain.empty(); }

    Form formOf(const Node& node) const override { return isNorm(node) && valueOf(node.outputs[0]).type.shape().size() > 3 ? kRows : kOwn; }

    std::optional<Shape> shaped(const Shape& shape, const Shape& whole, Form) const override {
        if (elementCount(shape) == 1 && elementCount(whole) > 1)
            return Shape{1};
        if (whole.size() < 4 || shape.size() > whole.size())
            return std::nullopt;
        Shape full = shape;
        full.insert(full.begin(), whole.size() - full.size(), 1);
        const auto map = full.begin() + 2;
        const bool onePixel = std::all_of(map, full.end(), [](std::int64_t extent) { return extent == 1; });
        if (!onePixel && !std::equal(map, full.end(), whole.begin() + 2))
            return std::nullopt;
        return Shape{full[0], full[1], elementCount({map, full.end()})};
    }

    // These know which dimension is the channels'.
    bool follows(const Node& node) const override { return node.op != "BatchNormalization" && node.op != "ImageScaler" && ReshapedNodes::follows(node); }

    void compute(NodeId id, Node node, ValueId made, Form form) override {
        if (!isNorm(node))
            return ReshapedNodes::compute(id, std::move(node), made, form);
        node.inputs[0] = inForm(node.inputs[0], valueOf(node.outputs[0]).type.shape(), form);
        node.outputs = {made};
        builder().replaceNode(id, std::move(node));
    }
};

} // namespace

Result<Graph> mapNormsAsRowNorms(const Graph& graph) { return MapNorms(graph).run(); }

} // namespace tunesmith
