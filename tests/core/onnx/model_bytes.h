// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace tunesmith::testing {

// Models as messages, so that tests can bend them in ways that no exporter would.
inline void tensorType(onnx::ValueInfoProto& info, const std::string& name,
                       const std::vector<std::int64_t>& dims, int element = 1) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(element);
    tensor->mutable_shape()->clear_dim();
    for (const std::int64_t dim : dims)
        tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

inline onnx::NodeProto& addNode(onnx::GraphProto& graph, const std::string& op,
                                const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs, const std::string& name = {}) {
    auto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const auto& input : inputs)
        node.add_input(input);
    for (const auto& output : outputs)
        node.add_output(output);
    return node;
}

inline onnx::TensorProto& addFloats(onnx::GraphProto& graph, const std::string& name,
                                    const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(1);
    for (const std::int64_t dim : dims)
        tensor.add_dims(dim);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor;
}

inline onnx::AttributeProto& addAttribute(onnx::NodeProto& node, const std::string& name,
                                          onnx::AttributeProto::AttributeType type) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
}

// y = Add(x, w) with x and w of 2x2.
inline onnx::ModelProto smallModel() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(13);
    auto& graph = *model.mutable_graph();
    graph.set_name("small");
    tensorType(*graph.add_input(), "x", {2, 2});
    tensorType(*graph.add_output(), "y", {2, 2});
    addFloats(graph, "w", {2, 2}, {1, 2, 3, 4});
    addNode(graph, "Add", {"x", "w"}, {"y"}, "sum");
    return model;
}

inline std::span<const std::byte> asBytes(const std::string& text) {
    return std::as_bytes(std::span(text));
}

inline void writeFile(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

} // namespace tunesmith::testing
