// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/reshaped_nodes.h"

#include <algorithm>

#include "core/graph/derived_name.h"
#include "core/ops/operator.h"

namespace tunesmith {
namespace {

bool isStaticFloat(const Value& value) { return value.type.isStatic() && value.type.dtype == DType::f32; }

} // namespace

Result<Graph> ReshapedNodes::run() {
    for (std::size_t i = 0; i < graph_.nodeCount(); ++i) // each after what it reads
        look(NodeId(static_cast<std::int64_t>(i)));
    if (moved_.empty())
        return graph_;
    for (const auto& [id, made] : moved_)
        compute(id, graph_.node(id), made.value, made.form);
    for (const auto& [id, made] : moved_)
        if (isReadOutside(graph_.node(id).outputs[0]))
            reshapeBack(graph_.node(id), made.value);
    return builder_.build();
}

void ReshapedNodes::look(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || !isStaticFloat(valueOf(node.outputs[0])) || elementCount(valueOf(node.outputs[0]).type.shape()) == 0)
        return;
    const Value& own = valueOf(node.outputs[0]);
    Form form = formOf(node);
    if (form == kOwn)
        form = formBehind(node);
    if (form == kOwn)
        return;
    if (const auto shape = shaped(own.type.shape(), own.type.shape(), form))
        moved_[id] = {builder_.addValue(derivedName(own.name, ".formed"), TensorType(DType::f32, *shape)), form};
}

// The form of what it reads, if it can have that, too.
ReshapedNodes::Form ReshapedNodes::formBehind(const Node& node) const {
    if (!follows(node))
        return kOwn;
    Form form = kOwn;
    for (const ValueId input : node.inputs)
        if (const auto found = input.valid() ? moved_.find(valueOf(input).producer) : moved_.end(); found != moved_.end() && form == kOwn)
            form = found->second.form;
    const Shape whole = valueOf(node.outputs[0]).type.shape();
    const bool all = form != kOwn && std::ranges::all_of(node.inputs, [&](ValueId input) { return !input.valid() || formed(input, whole, form); });
    return all ? form : kOwn;
}

bool ReshapedNodes::follows(const Node& node) const {
    const Operator* const op = findOperator(node.op, node.domain);
    return node.domain.empty() && op && op->fusion == Fusion::elementwise;
}

// The shape of a value that is to be read in a form.
std::optional<Shape> ReshapedNodes::formed(ValueId id, const Shape& whole, Form form) const {
    const Value& value = valueOf(id);
    if (!isStaticFloat(value))
        return std::nullopt;
    const auto shape = shaped(value.type.shape(), whole, form);
    const auto made = moved_.find(value.producer);
    const bool isOther = made != moved_.end() && (made->second.form != form || shape != builder_.value(made->second.value).type.shape());
    return isOther ? std::nullopt : shape;
}

void ReshapedNodes::compute(NodeId id, Node node, ValueId made, Form form) {
    const Shape whole = valueOf(node.outputs[0]).type.shape();
    for (ValueId& input : node.inputs)
        if (input.valid())
            input = inForm(input, whole, form);
    node.outputs = {made};
    builder_.replaceNode(id, std::move(node));
}

ValueId ReshapedNodes::inForm(ValueId id, const Shape& whole, Form form) {
    const auto shape = shaped(valueOf(id).type.shape(), whole, form);
    const auto made = moved_.find(valueOf(id).producer);
    if (made != moved_.end() && made->second.form == form && shape == builder_.value(made->second.value).type.shape())
        return made->second.value;
    return shape ? reshaped(id, *shape) : id;
}

ValueId ReshapedNodes::reshaped(ValueId id, const Shape& shape) {
    const Value& value = valueOf(id);
    if (shape == value.type.shape())
        return id;
    const auto [known, isNew] = reshaped_.try_emplace({id, shape});
    if (!isNew)
        return known->second;
    if (value.isConstant())
        return known->second = builder_.addConstant(derivedName(value.name, ".formed"), value.constant.reshaped(shape));
    readAsTheyWere_.insert(id);
    known->second = builder_.add("Reshape", {id, builder_.addConstant(derivedName(value.name, ".shape"), Tensor::ofInts(shape))}, {}, 1, derivedName(value.name, ".formed"));
    builder_.setType(known->second, TensorType(value.type.dtype, shape));
    return known->second;
}

void ReshapedNodes::reshapeBack(const Node& node, ValueId made) {
    Node back;
    back.op = "Reshape";
    back.name = derivedName(node.name, ".back");
    back.inputs = {made, builder_.addConstant(derivedName(back.name, ".shape"), Tensor::ofInts(valueOf(node.outputs[0]).type.shape()))};
    back.outputs = node.outputs;
    builder_.addNode(std::move(back));
}

bool ReshapedNodes::isReadOutside(ValueId value) const {
    const auto reads = [&](NodeId reader) { return !moved_.contains(reader); };
    return readAsTheyWere_.contains(value) || std::ranges::find(graph_.outputs(), value) != graph_.outputs().end() ||
           std::ranges::any_of(graph_.consumers(value), reads);
}

} // namespace tunesmith
