// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/graph_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/graph/derived_name.h"
#include "core/graph/graph_builder.h"
#include "core/onnx/proto.h"
#include "core/onnx/utf8.h"

namespace tunesmith {
namespace {

std::string normalDomain(const std::string& domain) {
    return domain == "ai.onnx" ? std::string() : domain;
}

bool isConstantNode(const onnx::NodeProto& node) {
    return node.op_type() == "Constant" && normalDomain(node.domain()).empty();
}

std::string nodeText(const onnx::NodeProto& node) {
    const std::string name = !node.name().empty() ? node.name()
                             : node.output_size() ? node.output(0)
                                                  : std::string();
    return "node '" + name + "' (" + node.op_type() + ")";
}

// Names that a subgraph reads from the graphs around it.
std::set<std::string> freeNames(const onnx::GraphProto& graph) {
    std::set<std::string> defined, read;
    for (const auto& input : graph.input())
        defined.insert(input.name());
    for (const auto& initializer : graph.initializer())
        defined.insert(initializer.name());
    for (const auto& initializer : graph.sparse_initializer())
        defined.insert(initializer.values().name());
    for (const auto& node : graph.node()) {
        defined.insert(node.output().begin(), node.output().end());
        read.insert(node.input().begin(), node.input().end());
        for (const auto& attribute : node.attribute())
            if (isBody(attribute))
                read.merge(freeNames(attribute.g()));
    }
    for (const auto& output : graph.output())
        read.insert(output.name());
    read.erase("");
    for (const std::string& name : defined)
        read.erase(name);
    return read;
}

TensorType readType(const onnx::TypeProto& proto);

// Of a sequence, an optional value or a map; an empty type for what says nothing that we know.
TensorType readContainer(const onnx::TypeProto& proto) {
    using Kind = OpaqueType::Kind;
    const bool isSequence = proto.has_sequence_type(), isOptional = proto.has_optional_type();
    if (!isSequence && !isOptional && !proto.has_map_type())
        return {};
    const TensorType element = readType(isSequence ? proto.sequence_type().elem_type() : isOptional ? proto.optional_type().elem_type() : proto.map_type().value_type());
    const std::string text = element.opaque || element.dtype != DType::undefined ? element.text() : "something unknown";
    TensorType type;
    if (isSequence || isOptional)
        type.opaque = std::make_shared<const OpaqueType>(OpaqueType{(isSequence ? "a sequence of " : "an optional value: ") + text, proto.SerializeAsString(),
                                                                    isSequence ? Kind::sequence : Kind::optional, std::make_shared<const TensorType>(element)});
    else
        type.opaque = std::make_shared<const OpaqueType>(OpaqueType{"a map to " + text, proto.SerializeAsString(), Kind::other, nullptr});
    return type;
}

TensorType readType(const onnx::TypeProto& proto) {
    if (!proto.has_tensor_type())
        return readContainer(proto);
    TensorType type(dtypeFromNumber(proto.tensor_type().elem_type()));
    if (type.dtype == DType::undefined)
        return {}; // what has no element type that we know is not written back either
    if (!proto.tensor_type().has_shape())
        return type;
    type.dims.emplace();
    for (const auto& dim : proto.tensor_type().shape().dim()) {
        if (dim.has_dim_value() && dim.dim_value() >= 0)
            type.dims->push_back(Dim(dim.dim_value()));
        else
            type.dims->push_back(isUtf8(dim.dim_param()) ? Dim::named(shortName(dim.dim_param())) : Dim()); // values copy it from each other
    }
    return type;
}

bool contradicts(const TensorType& declared, const Tensor& tensor) {
    if (declared.opaque)
        return true;
    if (declared.dtype != DType::undefined && declared.dtype != tensor.type())
        return true;
    if (!declared.dims)
        return false;
    if (declared.dims->size() != tensor.rank())
        return true;
    for (std::size_t i = 0; i < tensor.rank(); ++i)
        if ((*declared.dims)[i].known() && (*declared.dims)[i].extent != tensor.shape()[i])
            return true;
    return false;
}

// Finds the weights of layers, for which kernels are made.
std::set<std::string> layerWeights(const onnx::GraphProto& graph) {
    static const std::set<std::string> layers = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN"};
    std::set<std::string> names;
    for (const auto& node : graph.node())
        if (layers.contains(node.op_type()) && node.input_size() > 1)
            names.insert(node.input(1));
    return names;
}

// Initializers that a run may give other values for. A file that lists all of them, the weights of its layers included, means
// nothing by it.
struct Listed {
    std::set<std::string> names;
    bool habit = false;

    explicit Listed(const onnx::GraphProto& graph) {
        std::set<std::string> inputs;
        for (const auto& input : graph.input())
            inputs.insert(input.name());
        for (const auto& initializer : graph.initializer())
            if (inputs.contains(initializer.name()))
                names.insert(initializer.name());
        const std::set<std::string> weights = layerWeights(graph);
        habit = static_cast<int>(names.size()) == graph.initializer_size() &&
                std::ranges::any_of(names, [&](const std::string& name) { return weights.contains(name); });
    }
    bool isDefault(const std::string& name) const { return !habit && names.contains(name); }
};

class GraphReader {
public:
    GraphReader(onnx::GraphProto& proto, const ReaderContext& context, GraphReader* outer)
        : proto_(proto), context_(context), outer_(outer), builder_(graphName(proto)) {
        const auto nodes = static_cast<std::size_t>(proto.node_size());
        declared_.reserve(nodes);
        builder_.expect(nodes, nodes + static_cast<std::size_t>(proto.initializer_size()));
        if (!outer && context.defaults)
            listed_.emplace(proto);
    }

    Result<Graph> run() {
        for (const auto& [domain, version] : context_.opsets)
            builder_.setOpset(domain, version);
        for (const auto& info : proto_.value_info())
            types_[info.name()] = readType(info.type());
        for (const auto& output : proto_.output())
            types_[output.name()] = readType(output.type());
        TS_TRY(readInitializers());
        TS_TRY(readInputs());
        if (outer_)
            addCaptures();
        TS_TRY(declareOutputs());
        TS_TRY(readNodes());
        TS_TRY(readOutputs());
        return builder_.build();
    }

    void setMetadata() {
        for (const auto& [key, value] : context_.metadata)
            builder_.setMetadata(key, value);
    }

private:
    static std::string graphName(const onnx::GraphProto& proto) {
        return proto.name().empty() || !isUtf8(proto.name()) ? "graph" : proto.name();
    }

    static Error givenTwice(const std::string& name, const std::string& what) {
        return inputError("the name '" + name + "' is given to two values, the second time by " + what);
    }

    Status requireNew(const std::string& name, const std::string& what) {
        if (name.empty())
            return inputError(what + " has no name");
        if (!isUtf8(name))
            return inputError(what + " has a name that is not text");
        return builder_.findValue(name).valid() ? Status(givenTwice(name, what)) : Status();
    }

    Status addConstant(const std::string& name, const std::string& what, Result<Tensor> tensor) {
        TS_TRY(requireNew(name, what));
        TS_TRY(tensor);
        if (listed_ && listed_->isDefault(name)) {
            return defaults_.emplace(name, std::move(tensor).value()).second ? Status() : Status(givenTwice(name, what));
        }
        builder_.addConstant(name, std::move(tensor).value());
        return {};
    }

    Status readInitializers() {
        for (auto& initializer : *proto_.mutable_initializer()) {
            if (context_.stop.stopRequested())
                return cancelledError();
            const std::string name = initializer.name();
            const std::string what = "initializer '" + (isUtf8(name) ? name : "?") + "'";
            TS_TRY(addConstant(name, what, context_.tensors.read(initializer, what)));
        }
        for (auto& initializer : *proto_.mutable_sparse_initializer()) {
            const std::string name = initializer.values().name();
            const std::string what = "sparse initializer '" + (isUtf8(name) ? name : "?") + "'";
            TS_TRY(addConstant(name, what, context_.tensors.readSparse(initializer, what)));
        }
        return {};
    }

    Status readInputs() {
        std::set<std::string> seen;
        for (const auto& input : proto_.input()) {
            const TensorType type = readType(input.type());
            if (!seen.insert(input.name()).second)
                return inputError("the input '" + input.name() + "' is listed twice");
            if (const ValueId known = builder_.findValue(input.name()); known.valid()) {
                const Value& constant = builder_.value(known);
                if (contradicts(type, constant.constant))
                    return inputError("initializer '" + input.name() + "' is " + constant.type.text() +
                                      ", but is declared as " + type.text());
                if (listed_)
                    builder_.setListed(known);
                continue;
            }
            TS_TRY(requireNew(input.name(), "an input"));
            if (const auto known = defaults_.find(input.name()); known != defaults_.end()) {
                TS_TRY(addDefault(input.name(), type, known->second));
                continue;
            }
            if (!outer_ && type.dtype == DType::undefined && !type.opaque)
                return unsupportedError("input '" + input.name() + "' is not a tensor of a supported type");
            builder_.addInput(input.name(), type);
        }
        return {};
    }

    Status addDefault(const std::string& name, const TensorType& declared, const Tensor& tensor) {
        const TensorType own(tensor.type(), tensor.shape());
        if (contradicts(declared, tensor))
            return inputError("initializer '" + name + "' is " + own.text() + ", but is declared as " + declared.text());
        builder_.setDefault(builder_.addInput(name, declared.dtype == DType::undefined || !declared.dims ? own : declared), tensor);
        return {};
    }

    void addCaptures() {
        for (const std::string& name : freeNames(proto_))
            if (const ValueId found = outer_->builder_.findValue(name); found.valid())
                builder_.addCapture(name, outer_->builder_.value(found).type);
    }

    // All outputs get their values before any node is read: nodes may stand in any order.
    Status declareOutputs() {
        for (auto& node : *proto_.mutable_node()) {
            if (node.op_type().empty() || !isUtf8(node.op_type()) || !isUtf8(node.name()) ||
                !isUtf8(node.domain()))
                return inputError("the model has a node without a readable operator or name");
            if (isConstantNode(node)) {
                TS_TRY(readConstantNode(node));
                continue;
            }
            for (const std::string& name : node.output()) {
                if (name.empty())
                    continue;
                if (!isUtf8(name))
                    return inputError(nodeText(node) + " has a name that is not text");
                const auto type = types_.find(name);
                declared_.push_back(builder_.addValue(name, type == types_.end() ? TensorType() : type->second));
                if (builder_.value(declared_.back()).name != name)
                    return givenTwice(name, nodeText(node));
            }
        }
        return {};
    }

    Status readConstantNode(onnx::NodeProto& node) {
        if (node.output_size() != 1 || node.attribute_size() != 1)
            return inputError(nodeText(node) + ": a Constant has one attribute and one output");
        const std::string name = node.output(0), what = nodeText(node);
        return addConstant(name, what, constantValue(*node.mutable_attribute(0), what));
    }

    Result<Tensor> constantValue(onnx::AttributeProto& attribute, const std::string& what) {
        const std::string& key = attribute.name();
        if (key == "value" && attribute.has_t())
            return context_.tensors.read(*attribute.mutable_t(), what);
        if (key == "sparse_value" && attribute.has_sparse_tensor())
            return context_.tensors.readSparse(*attribute.mutable_sparse_tensor(), what);
        if (key == "value_float")
            return Tensor::scalar<float>(attribute.f());
        if (key == "value_int")
            return Tensor::scalar<std::int64_t>(attribute.i());
        if (key == "value_string")
            return Tensor::ofStrings({}, {attribute.s()});
        if (key == "value_floats")
            return Tensor::of<float>({attribute.floats_size()},
                                     {attribute.floats().begin(), attribute.floats().end()});
        if (key == "value_ints")
            return Tensor::ofInts({attribute.ints().begin(), attribute.ints().end()});
        if (key == "value_strings")
            return Tensor::ofStrings({attribute.strings_size()},
                                     {attribute.strings().begin(), attribute.strings().end()});
        return unsupportedError(what + ": a Constant with attribute '" + key + "' is not supported");
    }

    ValueId valueOf(const std::string& name) {
        if (name.empty())
            return {};
        const ValueId found = builder_.findValue(name);
        return found.valid() ? found : builder_.addValue(isUtf8(name) ? name : "?"); // build() says who reads it
    }

    Status readNodes() {
        auto& protos = *proto_.mutable_node();
        std::reverse(protos.pointer_begin(), protos.pointer_end()); // each is given back once it is read
        auto output = declared_.cbegin();
        while (!protos.empty()) {
            const std::unique_ptr<onnx::NodeProto> owned(protos.ReleaseLast());
            onnx::NodeProto& proto = *owned;
            if (context_.stop.stopRequested())
                return cancelledError();
            if (isConstantNode(proto))
                continue;
            Node node;
            node.name = proto.name();
            node.op = proto.op_type();
            node.domain = normalDomain(proto.domain());
            if (node.domain.empty() && !context_.opsets.contains(""))
                return inputError(nodeText(proto) + ": the model does not say which opset of ONNX it uses");
            for (const std::string& name : proto.input())
                node.inputs.push_back(valueOf(name));
            for (const std::string& name : proto.output())
                node.outputs.push_back(name.empty() ? ValueId() : *output++);
            for (auto& attribute : *proto.mutable_attribute())
                TS_TRY(addAttribute(node, attribute, nodeText(proto)));
            builder_.addNode(std::move(node));
        }
        return {};
    }

    Status addAttribute(Node& node, onnx::AttributeProto& proto, const std::string& what) {
        const std::string where = what + ": attribute '" + (isUtf8(proto.name()) ? proto.name() : "?") + "'";
        if (proto.name().empty() || !isUtf8(proto.name()))
            return inputError(what + " has an attribute without a readable name");
        if (!proto.ref_attr_name().empty())
            return inputError(where + " refers to an attribute of a function, but stands in none");
        TS_ASSIGN(Attribute attribute, readAttribute(proto, where));
        if (!node.attributes.emplace(proto.name(), std::move(attribute)).second)
            return inputError(where + " is given twice");
        return {};
    }

    Result<Attribute> readAttribute(onnx::AttributeProto& proto, const std::string& where) {
        using A = onnx::AttributeProto;
        switch (kindOf(proto)) {
        case A::FLOAT:
            return Attribute(proto.f());
        case A::INT:
            return Attribute(static_cast<std::int64_t>(proto.i()));
        case A::STRING:
            return Attribute(proto.s());
        case A::FLOATS:
            return Attribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
        case A::INTS:
            return Attribute(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
        case A::STRINGS:
            return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
        case A::TENSOR: {
            TS_ASSIGN(Tensor tensor, context_.tensors.read(*proto.mutable_t(), where));
            return Attribute(std::move(tensor));
        }
        case A::GRAPH:
            return readSubgraph(*proto.mutable_g(), where);
        case A::TYPE_PROTO:
        case A::TYPE_PROTOS:
        case A::SPARSE_TENSOR:
        case A::SPARSE_TENSORS:
            return Attribute(kOpaqueAttribute + proto.SerializeAsString());
        default:
            return unsupportedError(where + " is of a kind that is not supported");
        }
    }

    Result<Attribute> readSubgraph(onnx::GraphProto& proto, const std::string& where) {
        constexpr int kDeepest = 64; // functions within bodies within functions nest deeper than a file can
        int depth = 0;
        for (GraphReader* around = this; around; around = around->outer_)
            ++depth;
        if (depth > kDeepest)
            return unsupportedError(where + ": bodies lie more than " + std::to_string(kDeepest) + " deep within each other");
        auto graph = GraphReader(proto, context_, this).run();
        if (!graph.ok())
            return graph.error().isCancelled() || outer_ ? graph.error() : graph.error().within(where);
        return Attribute(std::make_shared<const Graph>(std::move(graph).value()));
    }

    Status readOutputs() {
        std::vector<ValueId> outputs;
        for (const auto& output : proto_.output()) {
            if (output.name().empty() || !isUtf8(output.name()))
                return inputError("the model has an output without a readable name");
            outputs.push_back(valueOf(output.name()));
        }
        if (outputs.empty() && !outer_)
            return inputError("the model has no outputs, so there is nothing to compute");
        builder_.setOutputs(std::move(outputs));
        return {};
    }

    onnx::GraphProto& proto_;
    const ReaderContext& context_;
    GraphReader* outer_;
    GraphBuilder builder_;
    std::vector<ValueId> declared_; // outputs of nodes, one node after the other
    std::unordered_map<std::string, TensorType> types_;
    std::optional<Listed> listed_; // of the outermost graph, where initializers may be defaults
    std::map<std::string, Tensor> defaults_;
};

} // namespace

Result<Graph> readGraph(onnx::GraphProto& proto, const ReaderContext& context) {
    GraphReader reader(proto, context, nullptr);
    reader.setMetadata();
    return reader.run();
}

} // namespace tunesmith
