// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <random>

#include "tests/core/onnx/model_bytes.h"

namespace tunesmith::testing {

// Small files that ask for much: for what they compute, for how long, or in how many steps.
class AttackModel {
public:
    explicit AttackModel(std::int64_t opset = 17) {
        model_.set_ir_version(8);
        model_.add_opset_import()->set_version(opset);
        graph().set_name("attack");
    }

    onnx::GraphProto& graph() { return *model_.mutable_graph(); }
    AttackModel& input(const std::string& name, const std::vector<std::int64_t>& dims, int type = 1) {
        tensorType(*graph().add_input(), name, dims, type);
        return *this;
    }
    AttackModel& output(const std::string& name, const std::vector<std::int64_t>& dims, int type = 1) {
        tensorType(*graph().add_output(), name, dims, type);
        return *this;
    }
    AttackModel& ints(const std::string& name, const std::vector<std::int64_t>& values) {
        auto& tensor = *graph().add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(7);
        tensor.add_dims(static_cast<std::int64_t>(values.size()));
        tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
        return *this;
    }
    AttackModel& text(const std::string& name, const std::string& value) { // of one element
        auto& tensor = *graph().add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(8);
        tensor.add_dims(1);
        tensor.add_string_data(value);
        return *this;
    }
    AttackModel& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
        addNode(graph(), op, inputs, outputs);
        return *this;
    }
    AttackModel& attribute(const std::string& name, std::int64_t value) { // of the last node
        addAttribute(*graph().mutable_node(graph().node_size() - 1), name, onnx::AttributeProto::INT).set_i(value);
        return *this;
    }
    AttackModel& attribute(const std::string& name, const std::string& value) {
        addAttribute(*graph().mutable_node(graph().node_size() - 1), name, onnx::AttributeProto::STRING).set_s(value);
        return *this;
    }
    AttackModel& attribute(const std::string& name, const std::vector<std::int64_t>& values) {
        auto& list = addAttribute(*graph().mutable_node(graph().node_size() - 1), name, onnx::AttributeProto::INTS);
        for (const std::int64_t value : values)
            list.add_ints(value);
        return *this;
    }
    std::string bytes() const { return model_.SerializeAsString(); }

private:
    onnx::ModelProto model_;
};

// y of so many elements, out of 96 bytes.
inline std::string constantOfShape(std::int64_t elements) {
    return AttackModel().ints("s", {elements}).node("ConstantOfShape", {"s"}, {"y"}).output("y", {elements}).bytes();
}

// Constants of so many elements each, all of which go into y.
inline std::string manyConstants(int count, std::int64_t elements) {
    AttackModel made;
    made.input("x", {1});
    std::string sum = "x";
    for (int i = 0; i < count; ++i) {
        const std::string number = std::to_string(i);
        made.ints("s" + number, {elements}).node("ConstantOfShape", {"s" + number}, {"c" + number}).node("Add", {sum, "c" + number}, {"a" + number});
        sum = "a" + number;
    }
    return made.output(sum, {elements}).bytes();
}

// An element of y is a sum of 2^rank elements of x, or of 4^rank where the mode is cubic.
inline std::string interpolation(std::size_t rank, const std::string& mode) {
    const std::vector<std::int64_t> small(rank, 1), large(rank, 2);
    return AttackModel().input("x", small).ints("s", large).node("Resize", {"x", "", "", "s"}, {"y"}).attribute("mode", mode).output("y", large).bytes();
}

// Each node reads what the one before makes, and `more`.
inline AttackModel chain(const std::string& op, int nodes, const std::vector<std::string>& more = {}) {
    AttackModel made;
    made.input("x", {4});
    for (int i = 0; i < nodes; ++i) {
        std::vector<std::string> inputs{i == 0 ? "x" : "v" + std::to_string(i)};
        inputs.insert(inputs.end(), more.begin(), more.end());
        made.node(op, inputs, {i + 1 == nodes ? "y" : "v" + std::to_string(i + 1)});
    }
    return made;
}

// Takes x of `width` elements apart and puts them together in another order, again and again.
inline std::string permutations(int width, int times) {
    AttackModel made(13);
    made.input("x", {width});
    std::string whole = "x";
    std::mt19937 random(1);
    for (int t = 0; t < times; ++t) {
        std::vector<std::string> parts;
        for (int i = 0; i < width; ++i)
            parts.push_back(std::string(1, static_cast<char>('a' + t)) + std::to_string(i));
        made.node("Split", {whole}, parts).attribute("axis", 0);
        std::ranges::shuffle(parts, random);
        whole = t + 1 == times ? "y" : "o" + std::to_string(t);
        made.node("Concat", parts, {whole}).attribute("axis", 0);
    }
    return made.output("y", {width}).bytes();
}

} // namespace tunesmith::testing
