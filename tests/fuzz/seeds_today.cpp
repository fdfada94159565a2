// SPDX-License-Identifier: GPL-3.0-or-later
// Seeds of later opsets: small types, sequences, optional values, bodies, operators of com.microsoft.
#include "tests/fuzz/seed_parts.h"
#include "tests/fuzz/seeds.h"

namespace tunesmith::fuzz {
namespace {

constexpr int kU8 = 2, kI64 = 7, kBool = 9, kF8 = 17, kU4 = 21, kI4 = 22, kF4 = 23, kF8E8M0 = 24, kI2 = 26;

// x of `dims` to y of whatever is inferred.
onnx::ModelProto modelOf(const std::vector<std::int64_t>& dims, int opset) {
    auto model = emptyModel(opset);
    model.set_ir_version(opset > 24 ? 13 : 10);
    tensorType(*model.mutable_graph()->mutable_input(0), "x", dims);
    model.mutable_graph()->mutable_output(0)->clear_type();
    return model;
}

onnx::ModelProto contribModel(const std::vector<std::int64_t>& dims) {
    auto model = modelOf(dims, 21);
    auto& import = *model.add_opset_import();
    import.set_domain("com.microsoft");
    import.set_version(1);
    return model;
}

onnx::NodeProto& addContrib(onnx::GraphProto& graph, const char* op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    auto& node = addNode(graph, op, inputs, outputs);
    node.set_domain("com.microsoft");
    return node;
}

// Blocks of two along the last axis, of a type that packs or stores.
onnx::ModelProto blocked(int type, std::string bytes) {
    auto model = modelOf({2, 2}, 25);
    auto& graph = *model.mutable_graph();
    addBytes(graph, "w", type, {2, 4}, std::move(bytes));
    addFloats(graph, "s", {2, 2}, {1, 2, 0.5f, 4});
    auto& wide = addNode(graph, "DequantizeLinear", {"w", "s"}, {"d"});
    setInt(wide, "axis", 1);
    setInt(wide, "block_size", 2);
    addNode(graph, "MatMul", {"x", "d"}, {"y"});
    return model;
}

// Packed numbers in a field of integers, and quantised to such ones again.
onnx::ModelProto packedField() {
    auto model = modelOf({3}, 23);
    auto& graph = *model.mutable_graph();
    auto& zero = *graph.add_initializer();
    zero.set_name("z");
    zero.set_data_type(kU4);
    zero.add_int32_data(3);
    addFloats(graph, "s", {}, {0.5f});
    addNode(graph, "QuantizeLinear", {"x", "s", "z"}, {"q"});
    setInt(addNode(graph, "Cast", {"q"}, {"c"}), "to", 1);
    addNode(graph, "Reshape", {"c", "shape"}, {"y"});
    addInts(graph, "shape", {-1, 1});
    return model;
}

onnx::ModelProto eightBitFloats() {
    auto model = modelOf({4}, 25);
    auto& graph = *model.mutable_graph();
    setInt(addNode(graph, "Cast", {"x"}, {"a"}), "to", kF8);
    setInt(addNode(graph, "Cast", {"a"}, {"b"}), "to", kF4);
    setInt(addNode(graph, "Cast", {"b"}, {"c"}), "to", 1);
    addBytes(graph, "e", kF8E8M0, {4}, "\x7f\x80\x7e\x01");
    setInt(addNode(graph, "Cast", {"e"}, {"f"}), "to", 1);
    addNode(graph, "Mul", {"c", "f"}, {"y"});
    return model;
}

onnx::ModelProto transformer() {
    auto model = modelOf({1, 2, 4}, 23);
    auto& graph = *model.mutable_graph();
    addFloats(graph, "g", {4}, {1, 2, 3, 4});
    addNode(graph, "RMSNormalization", {"x", "g"}, {"n"});
    addFloats(graph, "cos", {1, 2, 1}, {1, 0.5f});
    addFloats(graph, "sin", {1, 2, 1}, {0, 0.5f});
    setInt(addNode(graph, "RotaryEmbedding", {"n", "cos", "sin"}, {"r"}), "num_heads", 2);
    auto& attention = addNode(graph, "Attention", {"r", "n", "x"}, {"a"});
    setInt(attention, "q_num_heads", 2);
    setInt(attention, "kv_num_heads", 2);
    setInt(attention, "is_causal", 1);
    addNode(graph, "Add", {"a", "x"}, {"y"});
    return model;
}

onnx::ModelProto latest() {
    auto model = modelOf({2, 3}, 28);
    auto& graph = *model.mutable_graph();
    addNode(graph, "Swish", {"x"}, {"s"});
    addScalar(graph, "axis", 1);
    addNode(graph, "CumProd", {"s", "axis"}, {"p"});
    setInt(addNode(graph, "BitCast", {"p"}, {"b"}), "to", 6);
    setInt(addNode(graph, "BitCast", {"b"}, {"y"}), "to", 1);
    return model;
}

onnx::ModelProto scattered() {
    auto model = modelOf({1, 1, 4, 2}, 24);
    auto& graph = *model.mutable_graph();
    addFloats(graph, "u", {1, 1, 1, 2}, {5, 6});
    addInts(graph, "at", {2});
    setInt(addNode(graph, "TensorScatter", {"x", "u", "at"}, {"t"}), "axis", -2);
    addInts(graph, "k", {1});
    setInt(addNode(graph, "TopK", {"t", "k"}, {"v", "i"}), "axis", 2);
    addNode(graph, "NonZero", {"v"}, {"y"});
    return model;
}

onnx::ModelProto blocks() {
    auto model = contribModel({1, 16});
    auto& graph = *model.mutable_graph();
    addBytes(graph, "w", kU8, {2, 1, 8}, std::string(16, '\x5a'));
    addFloats(graph, "s", {2}, {1, 0.5f});
    addBytes(graph, "z", kU8, {2}, "\x07\x08");
    auto& product = addContrib(graph, "MatMulNBits", {"x", "w", "s", "z"}, {"m"});
    setInt(product, "K", 16);
    setInt(product, "N", 2);
    setInt(product, "bits", 4);
    setInt(product, "block_size", 16);
    addFloats(graph, "g", {2}, {1, 2});
    addContrib(graph, "SkipSimplifiedLayerNormalization", {"m", "m", "g"}, {"n"});
    addContrib(graph, "QuickGelu", {"n"}, {"y"});
    return model;
}

onnx::ModelProto table() {
    auto model = contribModel({2});
    auto& graph = *model.mutable_graph();
    tensorType(*graph.mutable_input(0), "x", {2}, kI64);
    addBytes(graph, "w", kU8, {10, 8}, std::string(80, '\x31'));
    addFloats(graph, "s", {10, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5f});
    auto& rows = addContrib(graph, "GatherBlockQuantized", {"w", "x", "s"}, {"t"});
    setInt(rows, "bits", 4);
    setInt(rows, "block_size", 16);
    setInt(rows, "quantize_axis", 1);
    addFloats(graph, "b", {16, 2}, std::vector<float>(32, 0.25f));
    addAttribute(addContrib(graph, "FusedMatMul", {"t", "b"}, {"y"}), "alpha", A::FLOAT).set_f(2);
    return model;
}

onnx::ModelProto cached() {
    auto model = contribModel({1, 1, 16});
    auto& graph = *model.mutable_graph();
    for (const char* past : {"k", "v"})
        tensorType(*graph.add_input(), past, {1, 1, 2, 8});
    auto& lengths = *graph.add_initializer();
    lengths.set_name("l");
    lengths.set_data_type(6);
    lengths.add_dims(1);
    lengths.add_int32_data(2);
    auto& total = *graph.add_initializer();
    total.set_name("t");
    total.set_data_type(6);
    total.add_int32_data(3);
    addFloats(graph, "row", {1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
    auto& attention = addContrib(graph, "GroupQueryAttention", {"x", "row", "row", "k", "v", "l", "t"}, {"y", "pk", "pv"});
    setInt(attention, "num_heads", 2);
    setInt(attention, "kv_num_heads", 1);
    return model;
}

onnx::ModelProto bytes() {
    auto model = contribModel({2, 2});
    auto& graph = *model.mutable_graph();
    addFloats(graph, "s", {}, {0.25f});
    addBytes(graph, "z", kU8, {}, "\x80");
    addNode(graph, "QuantizeLinear", {"x", "s", "z"}, {"q"});
    addContrib(graph, "QLinearAdd", {"q", "s", "z", "q", "s", "z", "s", "z"}, {"a"});
    addNode(graph, "MatMulInteger", {"a", "q", "z", "z"}, {"m"});
    setInt(addNode(graph, "Cast", {"m"}, {"y"}), "to", 1);
    return model;
}

onnx::ModelProto sequences() {
    auto model = modelOf({4, 2}, 18);
    auto& graph = *model.mutable_graph();
    addScalar(graph, "two", 2);
    setInt(addNode(graph, "SplitToSequence", {"x", "two"}, {"parts"}), "axis", 0);
    auto& map = addNode(graph, "SequenceMap", {"parts"}, {"mapped"});
    auto& body = bodyOf(map, "body");
    tensorType(*body.add_input(), "e", {2, 2});
    addNode(body, "Exp", {"e"}, {"r"});
    tensorType(*body.add_output(), "r", {2, 2});
    addNode(graph, "SequenceInsert", {"mapped", "x"}, {"more"});
    addNode(graph, "SequenceErase", {"more", "two"}, {"less"});
    setInt(addNode(graph, "ConcatFromSequence", {"less"}, {"y"}), "axis", 0);
    return model;
}

onnx::ModelProto optionals() {
    auto model = modelOf({2}, 18);
    auto& graph = *model.mutable_graph();
    addNode(graph, "Optional", {"x"}, {"o"});
    addNode(graph, "OptionalHasElement", {"o"}, {"h"});
    auto& choice = addNode(graph, "If", {"h"}, {"y"});
    addNode(bodyOf(choice, "then_branch"), "OptionalGetElement", {"o"}, {"r"});
    addNode(bodyOf(choice, "else_branch"), "Neg", {"x"}, {"r"});
    for (auto& branch : *choice.mutable_attribute())
        branch.mutable_g()->add_output()->set_name("r");
    return model;
}

// A choice in a loop, of what both bodies read around them; a scan output beside the state.
onnx::ModelProto bodies() {
    auto model = modelOf({2}, 21);
    auto& graph = *model.mutable_graph();
    addScalar(graph, "turns", 3);
    auto& loop = addNode(graph, "Loop", {"turns", "", "x"}, {"y", "all"});
    auto& body = bodyOf(loop, "body");
    tensorType(*body.add_input(), "i", {}, kI64);
    tensorType(*body.add_input(), "on", {}, kBool);
    tensorType(*body.add_input(), "state", {2});
    setInt(addNode(body, "Cast", {"i"}, {"odd"}), "to", kBool);
    auto& choice = addNode(body, "If", {"odd"}, {"next"});
    addNode(bodyOf(choice, "then_branch"), "Mul", {"state", "x"}, {"r"});
    addNode(bodyOf(choice, "else_branch"), "Sub", {"state", "x"}, {"r"});
    for (auto& branch : *choice.mutable_attribute())
        branch.mutable_g()->add_output()->set_name("r");
    addNode(body, "Identity", {"on"}, {"still"});
    for (const char* output : {"still", "next", "next"})
        body.add_output()->set_name(output);
    return model;
}

onnx::ModelProto scan() {
    auto model = modelOf({3, 2}, 21);
    auto& graph = *model.mutable_graph();
    addFloats(graph, "start", {2}, {0, 1});
    auto& node = addNode(graph, "Scan", {"start", "x"}, {"last", "y"});
    setInt(node, "num_scan_inputs", 1);
    setInts(node, "scan_input_directions", {1});
    auto& body = bodyOf(node, "body");
    tensorType(*body.add_input(), "s", {2});
    tensorType(*body.add_input(), "row", {2});
    addNode(body, "Add", {"s", "row"}, {"sum"});
    addNode(body, "Identity", {"sum"}, {"copy"});
    for (const char* output : {"sum", "copy"})
        body.add_output()->set_name(output);
    return model;
}

} // namespace

std::vector<std::pair<const char*, onnx::ModelProto>> seedsOfToday() {
    return {{"int4_blocks", blocked(kI4, "\x1f\x80\x7a\x35")},
            {"int2_blocks", blocked(kI2, "\x1b\xe4")},
            {"float8_blocks", blocked(kF8, "\x38\x40\xb8\x08\x7e\x01\x77\x31")},
            {"float4_blocks", blocked(kF4, "\x12\x34\x56\x9a")},
            {"packed_field", packedField()},
            {"eight_bit_floats", eightBitFloats()},
            {"transformer", transformer()},
            {"latest", latest()},
            {"scattered", scattered()},
            {"blocks", blocks()},
            {"table", table()},
            {"cached", cached()},
            {"bytes", bytes()},
            {"sequences", sequences()},
            {"optionals", optionals()},
            {"bodies", bodies()},
            {"scan", scan()}};
}

} // namespace tunesmith::fuzz
