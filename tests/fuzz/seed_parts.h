// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "tests/core/onnx/model_bytes.h"

namespace tunesmith::fuzz {

// Parts that the makers of seeds share.
using namespace tunesmith::testing;
using A = onnx::AttributeProto;

inline void setInts(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    auto& attribute = addAttribute(node, name, A::INTS);
    for (const std::int64_t value : values)
        attribute.add_ints(value);
}

inline void setInt(onnx::NodeProto& node, const char* name, std::int64_t value) { addAttribute(node, name, A::INT).set_i(value); }

inline onnx::ModelProto emptyModel(int opset = 13) {
    auto model = smallModel();
    model.mutable_opset_import(0)->set_version(opset);
    model.mutable_graph()->clear_node();
    model.mutable_graph()->clear_initializer();
    return model;
}

inline void addInts(onnx::GraphProto& graph, const char* name, const std::vector<std::int64_t>& values) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(7);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values)
        tensor.add_int64_data(value);
}

inline void addScalar(onnx::GraphProto& graph, const char* name, std::int64_t value) {
    addInts(graph, name, {value});
    graph.mutable_initializer(graph.initializer_size() - 1)->clear_dims();
}

// A tensor of any type, as the bytes that store it.
inline onnx::TensorProto& addBytes(onnx::GraphProto& graph, const char* name, int type, const std::vector<std::int64_t>& dims, std::string bytes) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t dim : dims)
        tensor.add_dims(dim);
    tensor.set_raw_data(std::move(bytes));
    return tensor;
}

inline onnx::GraphProto& bodyOf(onnx::NodeProto& node, const char* name) { return *addAttribute(node, name, A::GRAPH).mutable_g(); }

} // namespace tunesmith::fuzz
