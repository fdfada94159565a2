// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/onnx/function_size.h"
#include "core/onnx/proto.h"

namespace tunesmith {
namespace {

using Names = std::map<std::string, std::string>;

// Attributes with a default value.
std::vector<onnx::AttributeProto> defaultsOf(const onnx::FunctionProto& function) {
    std::vector<onnx::AttributeProto> defaults;
    for (const std::string& stored : laterField(function, 11))
        if (!defaults.emplace_back().ParseFromString(stored) || isBody(defaults.back()))
            defaults.pop_back();
    return defaults;
}

// One call: the nodes of its function under names of their own.
class Call {
public:
    Call(const onnx::FunctionProto& function, const onnx::NodeProto& node, std::string prefix)
        : function_(function), node_(node), prefix_(std::move(prefix)), attributes_(node.attribute().begin(), node.attribute().end()) {
        for (onnx::AttributeProto& attribute : defaultsOf(function))
            attributes_.push_back(std::move(attribute)); // found after those of the call
    }

    Result<std::vector<onnx::NodeProto>> nodes() {
        if (node_.input_size() > function_.input_size() || node_.output_size() > function_.output_size())
            return inputError("node " + shownName(node_.name()) + " gives or takes more values than its function " + shownName(function_.name()) + " has");
        for (int i = 0; i < function_.input_size(); ++i)
            names_[function_.input(i)] = i < node_.input_size() ? node_.input(i) : "";
        for (int i = 0; i < function_.output_size(); ++i)
            if (i < node_.output_size() && !node_.output(i).empty())
                nameOutput(function_.output(i), node_.output(i));
        std::vector<onnx::NodeProto> copies(function_.node().begin(), function_.node().end());
        for (onnx::NodeProto& copy : copies)
            rewrite(copy, names_);
        copies.insert(copies.end(), handedOn_.begin(), handedOn_.end());
        return copies;
    }

private:
    // An output that is an input or another output needs a node that hands it on.
    void nameOutput(const std::string& inside, const std::string& outside) {
        if (names_.try_emplace(inside, outside).second)
            return;
        onnx::NodeProto same;
        same.set_op_type("Identity");
        same.set_name(prefix_ + outside);
        same.add_input(names_.at(inside));
        same.add_output(outside);
        handedOn_.push_back(std::move(same));
    }

    std::string nameFor(const std::string& inside, Names& names) const {
        return inside.empty() ? inside : names.try_emplace(inside, prefix_ + inside).first->second;
    }

    void rewrite(onnx::NodeProto& node, Names& names) const {
        node.set_name(prefix_ + node.name());
        for (std::string& input : *node.mutable_input())
            input = nameFor(input, names);
        for (std::string& output : *node.mutable_output())
            output = nameFor(output, names);
        for (int i = node.attribute_size(); i-- > 0;)
            rewriteAttribute(node, i, names);
    }

    // An attribute that refers to one of the call gets its value, or goes when the call does not give it.
    void rewriteAttribute(onnx::NodeProto& node, int index, const Names& names) const {
        onnx::AttributeProto& attribute = *node.mutable_attribute(index);
        if (!attribute.ref_attr_name().empty()) {
            const auto given = std::find_if(attributes_.begin(), attributes_.end(),
                                            [&](const auto& each) { return each.name() == attribute.ref_attr_name(); });
            if (given == attributes_.end()) {
                node.mutable_attribute()->DeleteSubrange(index, 1);
                return;
            }
            const std::string name = attribute.name();
            attribute = *given;
            attribute.set_name(name);
        } else if (isBody(attribute)) {
            rewriteBody(*attribute.mutable_g(), names);
        }
    }

    // A body's own values hide the function's values of the same name, and none of the caller's.
    void rewriteBody(onnx::GraphProto& body, Names names) const {
        const auto declare = [&](std::string* name) {
            const std::string own = prefix_ + *name;
            names[*name] = own;
            *name = own;
        };
        for (auto& input : *body.mutable_input())
            declare(input.mutable_name());
        for (auto& initializer : *body.mutable_initializer())
            declare(initializer.mutable_name());
        for (auto& initializer : *body.mutable_sparse_initializer())
            declare(initializer.mutable_values()->mutable_name());
        for (onnx::NodeProto& each : *body.mutable_node())
            rewrite(each, names);
        for (auto* const values : {body.mutable_output(), body.mutable_value_info()})
            for (auto& value : *values)
                value.set_name(nameFor(value.name(), names));
    }

    const onnx::FunctionProto& function_;
    const onnx::NodeProto& node_;
    std::string prefix_;
    std::vector<onnx::AttributeProto> attributes_;
    Names names_;
    std::vector<onnx::NodeProto> handedOn_;
};

class Inliner {
public:
    // Two functions of one key would be one too many.
    Status know(const onnx::ModelProto& model) {
        for (const auto& function : model.functions())
            if (!functions_.emplace(keyOf(function), &function).second)
                return inputError("it has two functions " + shownName(function.name()) + " that nothing tells apart");
        return {};
    }

    Status inlineAll(onnx::ModelProto& model) {
        TS_TRY(checkWrittenOut(model, functions_));
        return inlineIn(*model.mutable_graph());
    }

private:
    Status inlineIn(onnx::GraphProto& graph) {
        google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
        nodes.Swap(graph.mutable_node());
        for (onnx::NodeProto& node : nodes)
            TS_TRY(append(graph, std::move(node)));
        return {};
    }

    Status append(onnx::GraphProto& graph, onnx::NodeProto node) {
        const auto found = functions_.find(keyOf(node));
        if (found == functions_.end()) {
            for (auto& attribute : *node.mutable_attribute())
                if (isBody(attribute))
                    TS_TRY(inlineIn(*attribute.mutable_g()));
            *graph.add_node() = std::move(node);
            return {};
        }
        TS_ASSIGN(std::vector<onnx::NodeProto> body, Call(*found->second, node, prefixFor(node)).nodes());
        for (onnx::NodeProto& each : body)
            TS_TRY(append(graph, std::move(each)));
        return {};
    }

    // Ends between two characters, for calls within calls would make it ever longer.
    std::string prefixFor(const onnx::NodeProto& node) {
        const std::string& name = node.name().empty() ? node.op_type() : node.name();
        std::size_t length = std::min(name.size(), kLongestPrefix);
        while (length > 0 && length < name.size() && (static_cast<unsigned char>(name[length]) & 0xc0) == 0x80)
            --length;
        return name.substr(0, length) + "#" + std::to_string(calls_++) + "/";
    }

    FunctionTable functions_;
    int calls_ = 0;
};

// A function may use domains that the model does not; where both use one, it must be in the same version.
Status mergeOpsets(onnx::ModelProto& model) {
    std::map<std::string, std::int64_t> versions;
    for (const auto& import : model.opset_import())
        versions[standardDomain(import.domain())] = import.version();
    for (const auto& function : model.functions())
        for (const auto& import : function.opset_import()) {
            const auto [place, fresh] = versions.try_emplace(standardDomain(import.domain()), import.version());
            if (fresh)
                *model.add_opset_import() = import;
            else if (place->second != import.version())
                return unsupportedError("its function " + shownName(function.name()) + " uses version " + std::to_string(import.version()) +
                                        " of operators of which the model uses version " + std::to_string(place->second) +
                                        ": inline it with onnx.inliner first");
        }
    return {};
}

} // namespace

Status inlineFunctions(onnx::ModelProto& model) {
    if (model.functions_size() == 0)
        return {};
    TS_TRY(mergeOpsets(model));
    Inliner inliner;
    TS_TRY(inliner.know(model));
    TS_TRY(inliner.inlineAll(model));
    model.clear_functions();
    return {};
}

} // namespace tunesmith
