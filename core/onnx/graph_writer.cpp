// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/graph_writer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/graph/derived_name.h"
#include "core/onnx/proto.h"

namespace tunesmith {
namespace {

void writeType(const TensorType& type, onnx::TypeProto& proto) {
    using Kind = OpaqueType::Kind;
    if (type.opaque && !type.opaque->encoded.empty()) {
        proto.ParseFromString(type.opaque->encoded);
        return;
    }
    if (type.opaque)
        return writeType(*type.opaque->element, type.is(Kind::sequence) ? *proto.mutable_sequence_type()->mutable_elem_type()
                                                                        : *proto.mutable_optional_type()->mutable_elem_type());
    if (type.dtype == DType::undefined)
        return;
    auto* tensor = proto.mutable_tensor_type();
    tensor->set_elem_type(static_cast<int>(type.dtype));
    if (!type.dims)
        return;
    auto* shape = tensor->mutable_shape();
    for (const Dim& dim : *type.dims) {
        auto* extent = shape->add_dim();
        if (dim.known())
            extent->set_dim_value(dim.extent);
        else if (!dim.symbol.empty())
            extent->set_dim_param(dim.symbol);
    }
}

// Names of a graph's values as they are written. In a file the values of a body must not be called like values around it; in a
// Graph they may.
class Scope {
public:
    Scope(const Graph& graph, const Scope* outer) : graph_(graph), outer_(outer) {
        if (!outer_)
            return;
        for (std::size_t i = 0; i < graph_.valueCount(); ++i)
            if (std::ranges::find(graph_.captures(), ValueId(static_cast<std::int64_t>(i))) == graph_.captures().end())
                own_.insert(graph_.values()[i]->name);
        for (const std::string& name : own_)
            if (outer_->isTaken(name))
                renamed_[name] = freshName(name);
    }

    // Of a value here or, where there is none of that name, around.
    std::string nameOf(const std::string& name) const {
        if (!outer_)
            return name;
        const auto found = renamed_.find(name);
        return found != renamed_.end() ? found->second : own_.contains(name) ? name : outer_->nameOf(name);
    }

private:
    bool isTaken(const std::string& name) const {
        if (!written_) {
            written_.emplace();
            for (const auto& value : graph_.values())
                written_->insert(nameOf(value->name));
        }
        return written_->contains(name) || (outer_ && outer_->isTaken(name));
    }

    std::string freshName(const std::string& name) const {
        for (int number = 1;; ++number)
            if (std::string candidate = derivedName(name, "." + std::to_string(number)); !own_.contains(candidate) && !outer_->isTaken(candidate))
                return candidate;
    }

    const Graph& graph_;
    const Scope* outer_;
    std::set<std::string> own_; // of a body: all but what it captures
    std::map<std::string, std::string> renamed_;
    mutable std::optional<std::set<std::string>> written_; // made when the first body asks
};

Status writeScope(const Graph& graph, onnx::GraphProto& proto, ExternalSink* sink, const Scope* outer);

void writeInfo(const Value& value, const Scope& scope, onnx::ValueInfoProto& proto) {
    proto.set_name(scope.nameOf(value.name));
    if (value.type.opaque || value.type.dtype != DType::undefined)
        writeType(value.type, *proto.mutable_type());
}

// Each kind of attribute to its fields.
struct AttributeWriter {
    onnx::AttributeProto& proto;
    ExternalSink* sink;
    const Scope& scope;
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
        TS_TRY(writeScope(*value, *proto.mutable_g(), sink, &scope));
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

Status writeNode(const Graph& graph, const Node& node, onnx::NodeProto& proto, ExternalSink* sink, const Scope& scope) {
    const auto name = [&](ValueId id) { return id.valid() ? scope.nameOf(graph.value(id).name) : std::string(); };
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
        const Status written = std::visit(AttributeWriter{*target, sink, scope}, attribute);
        if (!written.ok())
            return written.error().within("node '" + node.name + "' (" + node.op + ")");
    }
    return {};
}

Status writeScope(const Graph& graph, onnx::GraphProto& proto, ExternalSink* sink, const Scope* outer) {
    const Scope scope(graph, outer);
    proto.set_name(graph.name().empty() ? "graph" : graph.name());
    for (const ValueId input : graph.inputs())
        writeInfo(graph.value(input), scope, *proto.add_input());
    for (const ValueId output : graph.outputs())
        writeInfo(graph.value(output), scope, *proto.add_output());
    for (const auto& value : graph.values())
        if (value->isConstant() || value->hasDefault())
            writeTensorProto(value->isConstant() ? value->constant : value->fallback, scope.nameOf(value->name),
                             *proto.add_initializer(), sink);
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const Value& value = *graph.values()[i];
        const bool isOutput = std::find(graph.outputs().begin(), graph.outputs().end(),
                                        ValueId(static_cast<std::int64_t>(i))) != graph.outputs().end();
        if (value.producer.valid() && (value.type.dtype != DType::undefined || value.type.opaque) && !isOutput)
            writeInfo(value, scope, *proto.add_value_info());
    }
    for (const auto& node : graph.nodes())
        TS_TRY(writeNode(graph, *node, *proto.add_node(), sink, scope));
    return {};
}

} // namespace

Status writeGraph(const Graph& graph, onnx::GraphProto& proto, ExternalSink* sink) { return writeScope(graph, proto, sink, nullptr); }

static void visitWeights(const Graph& graph, const std::function<void(const Tensor&)>& visit) {
    for (const auto& value : graph.values()) {
        visit(value->constant);
        visit(value->fallback);
    }
    for (const auto& node : graph.nodes())
        for (const auto& [key, attribute] : node->attributes) {
            if (const auto* tensor = std::get_if<Tensor>(&attribute))
                visit(*tensor);
            else if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
                visitWeights(**body, visit);
        }
}

std::uint64_t weightBytes(const Graph& graph) {
    std::uint64_t bytes = 0;
    visitWeights(graph, [&](const Tensor& tensor) { bytes += tensor.byteCount(); });
    return bytes;
}

std::uint64_t repeatedBytes(const Graph& graph) {
    std::set<std::pair<const std::byte*, std::size_t>> seen;
    std::uint64_t bytes = 0;
    visitWeights(graph, [&](const Tensor& tensor) {
        if (tensor.byteCount() > 0 && tensor.type() != DType::string && !seen.insert({tensor.bytes().data(), tensor.byteCount()}).second)
            bytes += tensor.byteCount();
    });
    return bytes;
}

} // namespace tunesmith
