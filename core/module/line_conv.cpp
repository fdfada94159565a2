// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/line_conv.h"

#include <algorithm>
#include <map>

#include "core/graph/captures.h"
#include "core/graph/graph_builder.h"
#include "core/ops/operator.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

enum class Form : std::uint8_t { other, line, column };

Form formOf(const Value& value) {
    if (!value.type.isStatic() || value.type.dtype != DType::f32)
        return Form::other;
    const Shape shape = value.type.shape();
    if (elementCount(shape) == 0)
        return Form::other;
    return shape.size() == 3 ? Form::line : shape.size() == 4 && shape[2] > 1 && shape[3] == 1 ? Form::column : Form::other;
}

// As a map of one row, or as what is repeated to such a map: shapes are aligned at their ends.
Shape asRow(Shape shape, Form form) {
    if (shape.size() < 2)
        return shape;
    if (form == Form::line)
        shape.insert(shape.end() - 1, 1);
    else
        std::swap(shape[shape.size() - 2], shape.back());
    return shape;
}

Ints windowAsRow(const Ints& window, Form form) { return form == Form::line ? Ints{1, window[0]} : Ints{window[1], window[0]}; }

class LineConvs {
public:
    explicit LineConvs(const Graph& graph) : graph_(graph), builder_(graph) {}

    Result<Graph> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i) { // each after what it reads
            const Node& node = graph_.node(NodeId(static_cast<std::int64_t>(i)));
            if (!goesAlong(node))
                continue;
            const Value& made = graph_.value(node.outputs[0]);
            moved_[made.producer] = builder_.addValue(made.name + ".map", TensorType(DType::f32, asRow(made.type.shape(), tunesmith::formOf(made))));
        }
        for (const auto& node : graph_.nodes())
            for (const std::string& name : capturedNames(*node))
                captured_.push_back(name);
        for (const auto& [id, map] : moved_)
            move(id, map);
        return builder_.build();
    }

private:
    Form formOf(ValueId id) const { return tunesmith::formOf(graph_.value(id)); }
    bool isMoved(ValueId id) const { return moved_.contains(graph_.value(id).producer); }

    bool goesAlong(const Node& node) const {
        if (!node.domain.empty() || node.outputs.size() != 1 || !node.hasInput(0) || formOf(node.outputs[0]) == Form::other)
            return false;
        const Form form = formOf(node.outputs[0]);
        if (node.op == "Conv")
            return formOf(node.inputs[0]) == form && node.hasInput(1) && hasWeights(graph_.value(node.inputs[1]), form);
        if (node.op == "MaxPool" || node.op == "AveragePool")
            return isMoved(node.inputs[0]) && formOf(node.inputs[0]) == form;
        const Operator* const op = findOperator(node.op, node.domain);
        return op && op->fusion == Fusion::elementwise && joins(node, form);
    }

    static bool hasWeights(const Value& weights, Form form) { return weights.isConstant() && (form == Form::line || weights.constant.shape()[3] == 1); }

    // Whether operands are such maps, one at least, or can be repeated to them.
    bool joins(const Node& node, Form form) const {
        bool any = false;
        for (const ValueId input : node.inputs) {
            if (!input.valid())
                continue;
            const Value& value = graph_.value(input);
            if (value.type.dtype != DType::f32 || !value.type.isStatic() || value.type.shape().size() > (form == Form::line ? 3U : 4U) || (isMoved(input) && formOf(input) != form))
                return false;
            any = any || isMoved(input);
        }
        return any;
    }

    void move(NodeId id, ValueId map) {
        Node node = graph_.node(id);
        const ValueId line = node.outputs[0];
        const Form form = formOf(line);
        for (ValueId& input : node.inputs)
            if (input.valid())
                input = asMap(input, form);
        for (const char* const key : {"kernel_shape", "strides", "dilations"})
            if (const Ints window = node.intsAttr(key); !window.empty())
                node.attributes[key] = windowAsRow(window, form);
        if (const Ints pads = node.intsAttr("pads"); !pads.empty())
            node.attributes["pads"] = form == Form::line ? Ints{0, pads[0], 0, pads[1]} : Ints{pads[1], pads[0], pads[3], pads[2]};
        node.outputs = {map};
        builder_.replaceNode(id, node);
        if (!isReadOutside(line))
            return;
        Node back;
        back.op = "Reshape";
        back.name = node.name + ".line";
        back.inputs = {map, builder_.addConstant(back.name + ".shape", Tensor::ofInts(graph_.value(line).type.shape()))};
        back.outputs = {line};
        builder_.addNode(std::move(back));
    }

    bool isReadOutside(ValueId line) const {
        const auto& readers = graph_.consumers(line);
        return std::ranges::find(graph_.outputs(), line) != graph_.outputs().end() || std::ranges::find(captured_, graph_.value(line).name) != captured_.end() ||
               std::ranges::any_of(readers, [this](NodeId reader) { return !moved_.contains(reader); });
    }

    ValueId asMap(ValueId id, Form form) {
        const Value& value = graph_.value(id);
        if (isMoved(id))
            return moved_.at(value.producer);
        if (value.type.shape().size() < 2)
            return id;
        const auto [known, isNew] = maps_.try_emplace({id, form});
        if (isNew)
            known->second = value.isConstant() ? builder_.addConstant(value.name + ".map", value.constant.reshaped(asRow(value.constant.shape(), form))) : reshaped(id, form);
        return known->second;
    }

    ValueId reshaped(ValueId id, Form form) {
        const Value& value = graph_.value(id);
        const Shape shape = asRow(value.type.shape(), form);
        const ValueId map = builder_.add("Reshape", {id, builder_.addConstant(value.name + ".shape", Tensor::ofInts(shape))}, {}, 1, value.name + ".map");
        builder_.setType(map, TensorType(value.type.dtype, shape));
        return map;
    }

    const Graph& graph_;
    GraphBuilder builder_;
    std::vector<std::string> captured_; // by bodies of control flow
    std::map<NodeId, ValueId> moved_;   // nodes that compute maps, and what they make
    std::map<std::pair<ValueId, Form>, ValueId> maps_; // of what is no such node's
};

} // namespace

Result<Graph> lineConvsAsMapConvs(const Graph& graph) {
    const auto along = [&](const auto& node) { return node->op == "Conv" && node->outputs.size() == 1 && formOf(graph.value(node->outputs[0])) != Form::other; };
    return std::ranges::any_of(graph.nodes(), along) ? LineConvs(graph).run() : graph;
}

} // namespace tunesmith
