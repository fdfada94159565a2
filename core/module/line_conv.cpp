// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/line_conv.h"

#include "core/module/reshaped_nodes.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

class LineConvs final : public ReshapedNodes {
public:
    explicit LineConvs(const Graph& graph) : ReshapedNodes(graph) {}

private:
    static constexpr Form kLine = 1, kColumn = 2;

    static Form formOf(const Value& value) {
        if (!value.type.isStatic() || value.type.dtype != DType::f32 || elementCount(value.type.shape()) == 0)
            return kOwn;
        const Shape shape = value.type.shape();
        return shape.size() == 3 ? kLine : shape.size() == 4 && shape[2] > 1 && shape[3] == 1 ? kColumn : kOwn;
    }

    Form formOf(const Node& node) const override {
        if (node.op != "Conv" || !node.domain.empty() || !node.hasInput(0) || !node.hasInput(1))
            return kOwn;
        const Form form = formOf(valueOf(node.outputs[0]));
        const Value& weights = valueOf(node.inputs[1]);
        return formOf(valueOf(node.inputs[0])) == form && weights.isConstant() && (form == kLine || weights.constant.shape().back() == 1) ? form : kOwn;
    }

    // As a map of one row, or as what is repeated to such a map: shapes are aligned at their ends.
    std::optional<Shape> shaped(const Shape& shape, const Shape&, Form form) const override {
        if (shape.size() > (form == kLine ? 3U : 4U) || (form == kColumn && shape.size() > 1 && shape.back() != 1))
            return std::nullopt;
        Shape row = shape;
        if (form == kLine && shape.size() > 1)
            row.insert(row.end() - 1, 1);
        else if (shape.size() > 1)
            std::swap(row[row.size() - 2], row.back());
        return row;
    }

    bool follows(const Node& node) const override {
        const bool pool = node.op == "MaxPool" || node.op == "AveragePool";
        return ReshapedNodes::follows(node) || (pool && node.domain.empty());
    }

    void compute(NodeId id, Node node, ValueId made, Form form) override {
        for (const char* const key : {"kernel_shape", "strides", "dilations"})
            if (const Ints window = node.intsAttr(key); !window.empty())
                node.attributes[key] = form == kLine ? Ints{1, window[0]} : Ints{window[1], window[0]};
        if (const Ints pads = node.intsAttr("pads"); !pads.empty())
            node.attributes["pads"] = form == kLine ? Ints{0, pads[0], 0, pads[1]} : Ints{pads[1], pads[0], pads[3], pads[2]};
        ReshapedNodes::compute(id, std::move(node), made, form);
    }
};

} // namespace

Result<Graph> lineConvsAsMapConvs(const Graph& graph) { return LineConvs(graph).run(); }

} // namespace tunesmith
