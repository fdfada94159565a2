// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/graph_writer.h"

#include <algorithm>
#include <string_view>

#include "core/onnx/proto.h"

namespace tunesmith {
namespace {

void writeInfo(const Value& value, onnx::ValueInfoProto& proto) {
    proto.set_name(value.name);
    if (value.type.opaque)
        proto.mutable_type()->ParseFromString(value.type.opaque->encoded);
    if (value.type.dtype == DType::undefined)
        return;
    auto* tensor = proto.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(static_cast<int>(value.type.dtype));
    if (!value.type.dims)
        return;
    auto* shape = tensor->mutable_shape();
    for (const Dim& dim : *value.type.dims) {
        auto* extent = shape->add_dim();
        if (dim.known())
            extent->set_dim_value(dim.extent);
        else if (!dim.symbol.empty())
            extent->set_dim_param(dim.symbol);
    }
}

// Each kind of attribute to its fields.
struct AttributeWriter {
    onnx::AttributeProto& proto;
    ExternalSink* sink;
    using A = onnx::AttributeProto;

    Status operator()(std::int64_t value) const {
        proto.set_i(value);
        return as(A::INT);
    }
    Status operator()(float value) const {
        proto.set_f(value);
        return as(A::FLOAT);
    }
    Status operator()(const std::string& value) const {
        constexpr std::string_view prefix = kOpaqueAttribute;
        if (value.starts_with(prefix)) {
            const std::string name = proto.name();
            if (!proto.ParseFromString(value.substr(prefix.size())) || proto.name() != name)
                return inputError("attribute '" + name + "' holds a damaged part of another model");
            return {};
        }
        proto.set_s(value);
        return as(A::STRING);
    }
    Status operator()(const Tensor& value) const {
        writeTensorProto(value, {}, *proto.mutable_t(), sink);
        return as(A::TENSOR);
    }
    Status operator()(const std::shared_ptr<const Graph>& value) const {
        TS_TRY(writeGraph(*value, *proto.mutable_g(), sink));
        return as(A::GRAPH);
    }
    Status operator()(const std::vector<std::int64_t>& values) const {
        proto.mutable_ints()->Add(values.begin(), values.end());
        return as(A::INTS);
    }
    Status operator()(const std::vector<float>& values) const {
        proto.mutable_floats()->Add(values.begin(), values.end());
        return as(A::FLOATS);
    }
    Status operator()(const std::vector<std::string>& values) const {
        for (const std::string& value : values)
            proto.add_strings(value);
        return as(A::STRINGS);
    }

private:
    Status as(A::AttributeType type) const {
        proto.set_type(type);
        return {};
    }
};

Status writeNode(const Graph& graph, const Node& node, onnx::NodeProto& proto, ExternalSink* sink) {
    const auto name = [&](ValueId id) { return id.valid() ? graph.value(id).name : std::string(); };
    if (node.domain.empty() && graph.opset() == 0)
        return inputError("node '" + node.name + "' (" + node.op +
                          "): the graph does not say which opset of ONNX it uses");
    proto.set_name(node.name);
    proto.set_op_type(node.op);
    if (!node.domain.empty())
        proto.set_domain(node.domain);
    for (const ValueId input : node.inputs)
        proto.add_input(name(input));
    for (const ValueId output : node.outputs)
        proto.add_output(name(output));
    for (const auto& [key, attribute] : node.attributes) {
        auto* target = proto.add_attribute();
        target->set_name(key);
        const Status written = std::visit(AttributeWriter{*target, sink}, attribute);
        if (!written.ok())
            return written.error().within("node '" + node.name + "' (" + node.op + ")");
    }
    return {};
}

} // namespace

Status writeGraph(const Graph& graph, onnx::GraphProto& proto, ExternalSink* sink) {
    proto.set_name(graph.name().empty() ? "graph" : graph.name());
    for (const ValueId input : graph.inputs())
        writeInfo(graph.value(input), *proto.add_input());
    for (const ValueId output : graph.outputs())
        writeInfo(graph.value(output), *proto.add_output());
    for (const auto& value : graph.values())
        if (value->isConstant())
            writeTensorProto(value->constant, value->name, *proto.add_initializer(), sink);
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const Value& value = *graph.values()[i];
        const bool isOutput = std::find(graph.outputs().begin(), graph.outputs().end(),
                                        ValueId(static_cast<std::int64_t>(i))) != graph.outputs().end();
        if (value.producer.valid() && (value.type.dtype != DType::undefined || value.type.opaque) && !isOutput)
            writeInfo(value, *proto.add_value_info());
    }
    for (const auto& node : graph.nodes())
        TS_TRY(writeNode(graph, *node, *proto.add_node(), sink));
    return {};
}

std::uint64_t weightBytes(const Graph& graph) {
    std::uint64_t bytes = 0;
    for (const auto& value : graph.values())
        if (value->isConstant())
            bytes += value->constant.byteCount();
    for (const auto& node : graph.nodes())
        for (const auto& [key, attribute] : node->attributes) {
            if (const auto* tensor = std::get_if<Tensor>(&attribute))
                bytes += tensor->byteCount();
            else if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
                bytes += weightBytes(**body);
        }
    return bytes;
}

} // namespace tunesmith
