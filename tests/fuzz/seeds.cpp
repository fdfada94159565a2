// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/seeds.h"

#include "tests/fuzz/seed_parts.h"

namespace tunesmith::fuzz {
namespace {

onnx::ModelProto image() {
    auto model = emptyModel();
    auto& graph = *model.mutable_graph();
    tensorType(*graph.mutable_input(0), "x", {1, 2, 4, 4});
    graph.mutable_output(0)->clear_type();
    addFloats(graph, "w", {2, 2, 1, 1}, {1, 2, 3, 4});
    setInts(addNode(graph, "Conv", {"x", "w"}, {"c"}), "strides", {1, 1});
    auto& pool = addNode(graph, "MaxPool", {"c"}, {"p"});
    setInts(pool, "kernel_shape", {2, 2});
    setInts(pool, "pads", {0, 0, 1, 1});
    addNode(graph, "Softmax", {"p"}, {"y"});
    return model;
}

onnx::ModelProto shapes() {
    auto model = emptyModel();
    auto& graph = *model.mutable_graph();
    auto& dim = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0);
    dim.set_dim_param("n");
    graph.mutable_output(0)->clear_type();
    addInts(graph, "one", {1});
    addNode(graph, "Shape", {"x"}, {"s"});
    setInt(addNode(graph, "Gather", {"s", "one"}, {"g"}), "axis", 0);
    addInts(graph, "rest", {-1});
    setInt(addNode(graph, "Concat", {"rest", "g"}, {"t"}), "axis", 0);
    addNode(graph, "Reshape", {"x", "t"}, {"r"});
    setInts(addNode(graph, "Transpose", {"r"}, {"y"}), "perm", {1, 0});
    return model;
}

onnx::ModelProto choice() {
    auto model = emptyModel();
    auto& graph = *model.mutable_graph();
    tensorType(*graph.add_input(), "flag", {}, 9);
    auto& node = addNode(graph, "If", {"flag"}, {"y"});
    for (const char* branch : {"then_branch", "else_branch"}) {
        auto& body = bodyOf(node, branch);
        addNode(body, branch[0] == 't' ? "Exp" : "Neg", {"x"}, {"r"});
        body.add_output()->set_name("r");
    }
    return model;
}

onnx::ModelProto loop() {
    auto model = emptyModel();
    auto& graph = *model.mutable_graph();
    addInts(graph, "turns", {3});
    auto& node = addNode(graph, "Loop", {"turns", "", "x"}, {"y"});
    auto& body = bodyOf(node, "body");
    tensorType(*body.add_input(), "i", {}, 7);
    tensorType(*body.add_input(), "on", {}, 9);
    tensorType(*body.add_input(), "state", {2, 2});
    addNode(body, "Add", {"state", "x"}, {"next"});
    for (const char* output : {"on", "next"})
        body.add_output()->set_name(output);
    return model;
}

onnx::ModelProto function() {
    auto model = emptyModel();
    addNode(*model.mutable_graph(), "f", {"x"}, {"y"}).set_domain("own");
    auto& own = *model.add_opset_import();
    own.set_domain("own");
    own.set_version(1);
    auto& f = *model.add_functions();
    f.set_name("f");
    f.set_domain("own");
    f.add_input("a");
    f.add_output("b");
    f.add_attribute("alpha");
    auto& leaky = *f.add_node();
    leaky.set_op_type("LeakyRelu");
    leaky.add_input("a");
    leaky.add_output("b");
    auto& reference = addAttribute(leaky, "alpha", A::FLOAT);
    reference.set_ref_attr_name("alpha");
    return model;
}

onnx::ModelProto layer() {
    auto model = emptyModel(14);
    auto& graph = *model.mutable_graph();
    tensorType(*graph.mutable_input(0), "x", {2, 1, 2});
    graph.mutable_output(0)->clear_type();
    addFloats(graph, "w", {1, 2, 2}, {1, 2, 3, 4});
    addFloats(graph, "r", {1, 2, 2}, {1, 0, 0, 1});
    setInt(addNode(graph, "RNN", {"x", "w", "r"}, {"y"}), "hidden_size", 2);
    return model;
}

onnx::ModelProto types() {
    auto model = emptyModel();
    auto& graph = *model.mutable_graph();
    auto& constant = addNode(graph, "Constant", {}, {"k"});
    auto& value = *addAttribute(constant, "value", A::TENSOR).mutable_t();
    value.set_data_type(10);
    value.add_dims(2);
    value.add_int32_data(0x3c00);
    value.add_int32_data(0x4000);
    setInt(addNode(graph, "Cast", {"k"}, {"f"}), "to", 1);
    auto& sparse = *graph.add_sparse_initializer();
    sparse.mutable_values()->set_name("z");
    sparse.mutable_values()->set_data_type(1);
    sparse.mutable_values()->add_dims(1);
    sparse.mutable_values()->add_float_data(5);
    sparse.mutable_indices()->set_data_type(7);
    sparse.mutable_indices()->add_dims(1);
    sparse.mutable_indices()->add_int64_data(1);
    sparse.add_dims(2);
    addNode(graph, "Add", {"f", "z"}, {"h"});
    addNode(graph, "Mul", {"x", "h"}, {"y"});
    return model;
}

onnx::ModelProto old() {
    auto model = smallModel();
    model.mutable_opset_import(0)->set_version(6);
    auto& add = *model.mutable_graph()->mutable_node(0);
    setInt(add, "broadcast", 1);
    setInt(add, "axis", 0);
    return model;
}

onnx::ModelProto outside() {
    auto model = smallModel();
    auto& weight = *model.mutable_graph()->mutable_initializer(0);
    weight.clear_raw_data();
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& entry = *weight.add_external_data();
    entry.set_key("location");
    entry.set_value("w.bin");
    return model;
}

} // namespace

std::vector<std::pair<std::string, std::string>> seeds() {
    std::vector<std::pair<std::string, std::string>> list;
    const auto add = [&](const char* name, const onnx::ModelProto& model) { list.emplace_back(name, model.SerializeAsString()); };
    add("sum", smallModel());
    add("image", image());
    add("shapes", shapes());
    add("choice", choice());
    add("loop", loop());
    add("function", function());
    add("layer", layer());
    add("types", types());
    add("old", old());
    add("outside", outside());
    for (const auto& [name, model] : seedsOfToday())
        add(name, model);
    return list;
}

} // namespace tunesmith::fuzz
