// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/second_reader.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/onnx/proto.h"
#include "core/ops/operator.h"
#include <onnx/checker.h>
#include <onnx/common/version.h>
#include <onnx/shape_inference/implementation.h>

namespace tunesmith {
namespace {

constexpr char kUnchecked[] = "unchecked"; // a domain: the library passes over what it does not know
constexpr int kLastKnownType = onnx::TensorProto::BFLOAT16;

std::int64_t newestKnownOpset() {
    static const std::int64_t newest = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
    return newest;
}

// Whether the library's rules for an operator hold for a node of a later opset.
bool isKnown(const onnx::NodeProto& node, std::int64_t opset) {
    const auto attributes = [&](auto&& test) { return std::any_of(node.attribute().begin(), node.attribute().end(), test); };
    if (attributes([](const auto& attribute) { return attribute.name() == "ceil_mode" && attribute.i() != 0; }))
        return false; // it counts windows that begin in the padding
    if (attributes([](const auto& attribute) { return (attribute.name() == "to" || attribute.name() == "dtype") && attribute.i() > kLastKnownType; }))
        return false;
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(newestKnownOpset()), "");
    if (!schema && findOperator(node.op_type()))
        return false; // of this domain only in ONNX Runtime: SimplifiedLayerNormalization
    if (opset <= newestKnownOpset())
        return true;
    static const std::set<std::string> changed = {"DFT",           "DequantizeLinear",   "GridSample",
                                                  "QuantizeLinear", "OptionalGetElement", "OptionalHasElement"};
    return schema && !changed.contains(node.op_type()) && node.input_size() >= schema->min_input() && node.input_size() <= schema->max_input() &&
           !attributes([&](const auto& attribute) { return !schema->attributes().contains(attribute.name()); });
}

class Preparation {
public:
    explicit Preparation(std::int64_t opset) : opset_(opset) {}

    // `around`: the nodes of the graphs that it lies in.
    void prepare(onnx::GraphProto& graph, std::int64_t around = 0) {
        const std::int64_t nodes = around + graph.node_size();
        if (isOutermost_)
            setAsideUnknownRanks(graph);
        isOutermost_ = false;
        for (onnx::NodeProto& node : *graph.mutable_node()) {
            if (!node.domain().empty()) {
                node.set_domain(kUnchecked); // it knows some of ai.onnx.ml, in one version
            } else if (!isKnown(node, opset_)) {
                ++unchecked_[node.op_type()];
                node.set_domain(kUnchecked);
            }
            for (onnx::AttributeProto& attribute : *node.mutable_attribute())
                if (isBody(attribute)) {
                    copies_ += nodes;
                    prepare(*attribute.mutable_g(), nodes);
                }
        }
        declareData(graph);
    }

    // For each body the library copies what is known of all values around it.
    bool takesMinutes() const { return copies_ > 20'000'000; }

    std::string text(bool inferred) const {
        std::string names;
        for (const auto& [op, count] : unchecked_)
            names += (names.empty() ? "" : ", ") + op;
        return std::string("checked by the checker ") + (inferred ? "and the shape inference " : "") + "of ONNX " + onnx::LAST_RELEASE_VERSION +
               (inferred ? "" : ", but not by its shape inference, which takes minutes with so many bodies") +
               (names.empty() ? "" : ", but for what is newer than these: " + names);
    }

private:
    static bool hasNoRank(const onnx::ValueInfoProto& value) {
        return value.type().has_tensor_type() && !value.type().tensor_type().has_shape();
    }

    // The checker wants a shape of every input and output, and others do well without: a value of unknown rank comes out of a node that
    // it passes over, or is no output.
    static void setAsideUnknownRanks(onnx::GraphProto& graph) {
        auto& inputs = *graph.mutable_input();
        auto& outputs = *graph.mutable_output();
        for (const auto& input : inputs)
            if (hasNoRank(input)) {
                auto& source = *graph.add_node();
                source.set_op_type("Source");
                source.set_domain(kUnchecked);
                source.add_output(input.name());
                *graph.add_value_info() = input;
                std::rotate(graph.mutable_node()->begin(), graph.mutable_node()->end() - 1, graph.mutable_node()->end());
            }
        inputs.erase(std::remove_if(inputs.begin(), inputs.end(), hasNoRank), inputs.end());
        outputs.erase(std::remove_if(outputs.begin(), outputs.end(), hasNoRank), outputs.end());
    }

    // Weights in other files, and of types that the library does not know, are looked at as values of their type.
    static void declareData(onnx::GraphProto& graph) {
        auto& weights = *graph.mutable_initializer();
        const auto elsewhere = std::stable_partition(weights.begin(), weights.end(), [](const onnx::TensorProto& weight) {
            return weight.data_location() != onnx::TensorProto::EXTERNAL && weight.data_type() <= kLastKnownType;
        });
        const auto kept = static_cast<int>(elsewhere - weights.begin());
        for (int i = kept; i < weights.size(); ++i) {
            const bool listed = std::any_of(graph.input().begin(), graph.input().end(),
                                            [&](const auto& input) { return input.name() == weights.Get(i).name(); });
            if (listed)
                continue;
            auto& input = *graph.add_input();
            input.set_name(weights.Get(i).name());
            auto& type = *input.mutable_type()->mutable_tensor_type();
            type.set_elem_type(weights.Get(i).data_type());
            auto& shape = *type.mutable_shape();
            for (const auto extent : weights.Get(i).dims())
                shape.add_dim()->set_dim_value(extent);
        }
        weights.DeleteSubrange(kept, weights.size() - kept);
    }

    std::int64_t opset_;
    bool isOutermost_ = true;
    std::int64_t copies_ = 0; // of a value each
    std::map<std::string, int> unchecked_;
};

void agreeOnVersions(onnx::ModelProto& model) {
    model.set_ir_version(std::min<std::int64_t>(model.ir_version(), onnx::IR_VERSION));
    for (auto& import : *model.mutable_opset_import())
        if (import.domain().empty())
            import.set_version(std::min<std::int64_t>(import.version(), newestKnownOpset()));
    auto& unchecked = *model.add_opset_import();
    unchecked.set_domain(kUnchecked);
    unchecked.set_version(1);
}

std::int64_t opsetOf(const onnx::ModelProto& model) {
    for (const auto& import : model.opset_import())
        if (import.domain().empty())
            return import.version();
    return 0;
}

} // namespace

Result<std::string> readAgain(onnx::ModelProto& model) {
    try {
        const std::int64_t opset = opsetOf(model);
        Preparation preparation(opset);
        preparation.prepare(*model.mutable_graph());
        agreeOnVersions(model);
        onnx::checker::check_model(model);
        const bool types = opset <= newestKnownOpset(); // later opsets allow more of them
        const bool inferred = !preparation.takesMinutes();
        if (inferred)
            onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), onnx::ShapeInferenceOptions(types, 1, false));
        return preparation.text(inferred);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& refusal) {
        return unsupportedError(std::string("other programs would refuse it, as ONNX's own checks do: ") + refusal.what());
    }
}

} // namespace tunesmith
