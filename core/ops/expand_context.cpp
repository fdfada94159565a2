// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/derived_name.h"
#include "core/ops/evaluate_node.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/kernel.h"

namespace tunesmith {

using Axes = std::vector<std::int64_t>;

ExpandContext::ExpandContext(GraphBuilder& builder, const Graph& graph, const Node& ofNode)
    : OpInputs(graph, ofNode), to(builder), onnxOpset(effectiveOpset(graph)), outputs(ofNode.outputs.size()),
      graph_(graph), stem_(shortName(ofNode.name)) {}

std::string ExpandContext::derived(const std::string& what) const { return derivedName(stem_, "." + what); }

Status ExpandContext::checkBody(const std::string& attribute) const {
    return tunesmith::checkBody(graph_, node, attribute);
}

ValueId ExpandContext::add(const std::string& op, const std::vector<ValueId>& inputs,
                           std::map<std::string, Attribute> attributes) {
    return to.add(op, inputs, std::move(attributes), 1, derived(op));
}

std::vector<ValueId> ExpandContext::addMany(const std::string& op, const std::vector<ValueId>& inputs,
                                            std::map<std::string, Attribute> attributes, int count) {
    const std::size_t made = to.nodeCount();
    to.add(op, inputs, std::move(attributes), count, derived(op));
    return to.node(NodeId(static_cast<std::int64_t>(made))).outputs;
}

ValueId ExpandContext::number(DType type, double value) {
    return addConstant(Tensor::scalar(value).cast(type));
}

ValueId ExpandContext::reshape(ValueId value, const Shape& shape) {
    return add("Reshape", {value, addConstant(Tensor::ofInts(shape))});
}

ValueId ExpandContext::unsqueeze(ValueId value, std::int64_t axis) {
    return onnxOpset < 13 ? add("Unsqueeze", {value}, {{"axes", Axes{axis}}})
                          : add("Unsqueeze", {value, addConstant(Tensor::ofInts({axis}))});
}

ValueId ExpandContext::pick(ValueId value, std::int64_t index, std::int64_t axis) {
    return add("Gather", {value, addConstant(Tensor::scalar(index))}, {{"axis", axis}});
}

ValueId ExpandContext::slice(ValueId value, std::int64_t axis, std::int64_t begin, std::int64_t end) {
    if (onnxOpset < 10)
        return add("Slice", {value}, {{"axes", Axes{axis}}, {"starts", Axes{begin}}, {"ends", Axes{end}}});
    const auto list = [&](std::int64_t number) { return addConstant(Tensor::ofInts({number})); };
    return add("Slice", {value, list(begin), list(end), list(axis)});
}

ValueId ExpandContext::transpose(ValueId value, const std::vector<std::int64_t>& order) {
    return add("Transpose", {value}, {{"perm", order}});
}

ValueId ExpandContext::concat(const std::vector<ValueId>& values, std::int64_t axis) {
    return values.size() == 1 ? values.front() : add("Concat", values, {{"axis", axis}});
}

ValueId ExpandContext::cast(ValueId value, DType type) {
    return add("Cast", {value}, {{"to", static_cast<std::int64_t>(type)}});
}

ValueId ExpandContext::clip(ValueId value, DType type, double low, double high) {
    if (onnxOpset >= 11)
        return add("Clip", {value, number(type, low), number(type, high)});
    return add("Clip", {value}, {{"min", static_cast<float>(low)}, {"max", static_cast<float>(high)}});
}

Status ExpandContext::requireShapes() const {
    for (std::size_t i = 0; i < count(); ++i)
        if (has(i) && (!type(i).isStatic() || elementCount(type(i).shape()) == 0))
            return unsupported("the shape of input " + std::to_string(i) + " is not known, or it is empty");
    return {};
}

Status ExpandContext::requireAtMost(std::int64_t most, std::int64_t count, const char* what) const {
    if (count <= most)
        return {};
    return unsupported(std::to_string(count) + " " + what + " are too many to be written out; at most " + std::to_string(most) + " are");
}

ValueId ExpandContext::widened(ValueId value, DType type) {
    const DType wide = ops::computeType(type);
    return wide == type ? value : cast(value, wide);
}

ValueId ExpandContext::narrowed(ValueId value, DType type) {
    return ops::computeType(type) == type ? value : cast(value, type);
}

} // namespace tunesmith
