// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/upgrade_rules.h"

#include <array>
#include <cmath>

#include "core/graph/derived_name.h"
#include "core/onnx/proto.h"

// What opsets 1 to 6 said differently, from the change log of ONNX's operators.
namespace tunesmith {
namespace {

// Until opset 6 the second operand was repeated only where `broadcast` asked for it: aligned at `axis` of the
// first, or at its end.
Status alignOperand(OldNode& old) {
    const bool repeats = old.node.intAttr("broadcast", 0) != 0 && old.node.has("axis");
    const std::int64_t axis = old.node.intAttr("axis", -1);
    old.node.attributes.erase("broadcast");
    old.node.attributes.erase("axis");
    if (!repeats || axis == -1)
        return {};
    const auto first = old.rank(0), second = old.rank(1);
    if (!first || !second)
        return old.unsupported("its operands are aligned at axis " + std::to_string(axis) +
                               ", and their ranks are not known");
    const auto behind = static_cast<std::int64_t>(*first) - axis - static_cast<std::int64_t>(*second);
    if (axis < 0 || (behind < 0 && *second > 0))
        return inputError("node '" + old.node.name + "' (" + old.node.op + "): axis " + std::to_string(axis) +
                          " does not align an operand of rank " + std::to_string(*second) +
                          " with one of rank " + std::to_string(*first));
    if (behind > 0 && *second > 0)
        old.appendOnes(1, static_cast<std::size_t>(behind));
    return {};
}

// One slope for each channel, whatever follows the channels.
Status alignSlope(OldNode& old) {
    const auto data = old.rank(0), slope = old.rank(1);
    if (!data || !slope)
        return old.unsupported("the ranks of its inputs are not known");
    if (*slope == 1 && *data > 2)
        old.appendOnes(1, *data - 2);
    return {};
}

// Who leaves `is_test` out means inference: that is how ONNX's own converter reads it.
Status requireInference(OldNode& old) {
    if (old.node.intAttr("is_test", 1) == 0)
        return old.unsupported("is_test = 0 is training, which models of such opsets cannot do here");
    old.node.attributes.erase("is_test");
    return {};
}

Status dropBroadcast(OldNode& old) {
    old.node.attributes.erase("broadcast");
    return {};
}

Status castByNumber(OldNode& old) {
    const std::string name = old.node.stringAttr("to");
    onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
    if (!onnx::TensorProto::DataType_Parse(name, &type))
        return old.unsupported("it casts to '" + name + "', which is no element type");
    old.node.attributes["to"] = static_cast<std::int64_t>(type);
    return {};
}

Status statedAxis(OldNode& old) {
    old.node.attributes.emplace("axis", std::int64_t{1});
    return {};
}

Status renamedPads(OldNode& old) {
    if (auto pads = old.node.attributes.extract("paddings")) {
        pads.key() = "pads";
        old.node.attributes.insert(std::move(pads));
    }
    return {};
}

Status shapeAsInput(OldNode& old) {
    if (old.node.inputs.size() > 1)
        return {};
    const auto shape = old.node.intsAttr("shape");
    old.node.attributes.erase("shape");
    old.node.inputs.push_back(old.addConstant("shape", Tensor::ofInts(shape)));
    return {};
}

Status splitAsAttribute(OldNode& old) {
    if (!old.node.hasInput(1))
        return {};
    const Tensor lengths = old.constant(1);
    if (lengths.absent())
        return old.unsupported("the lengths of its parts are computed");
    old.node.attributes["split"] = lengths.asInts();
    old.node.inputs.resize(1);
    return {};
}

// One axis was repeated; now there is a count for each.
Status repeatsOfAllAxes(OldNode& old) {
    if (old.node.inputs.size() < 3)
        return {};
    const auto rank = old.rank(0);
    const Tensor tiles = old.constant(1), axis = old.constant(2);
    if (!rank || tiles.count() != 1 || axis.count() != 1)
        return old.unsupported("its tiles, its axis or the rank of its input are computed");
    std::vector<std::int64_t> repeats(*rank, 1);
    if (axis.asInt(0) < 0 || axis.asInt(0) >= static_cast<std::int64_t>(*rank))
        return inputError("node '" + old.node.name + "' (Tile): axis " + std::to_string(axis.asInt(0)) +
                          " is out of range for rank " + std::to_string(*rank));
    repeats[static_cast<std::size_t>(axis.asInt(0))] = tiles.asInt(0);
    old.node.inputs = {old.node.inputs[0], old.addConstant("repeats", Tensor::ofInts(repeats))};
    return {};
}

Status scalesOfAllAxes(OldNode& old) {
    if (old.node.has("scales"))
        return {};
    old.node.attributes["scales"] =
        std::vector<float>{1, 1, old.node.floatAttr("height_scale", 1), old.node.floatAttr("width_scale", 1)};
    old.node.attributes.erase("height_scale");
    old.node.attributes.erase("width_scale");
    if (old.node.stringAttr("mode") == "bilinear")
        old.node.attributes["mode"] = std::string("linear");
    return {};
}

Status wholePower(OldNode& old) {
    const float p = old.node.floatAttr("p", 2);
    if (p != std::floor(p) || p < 1 || p > 1e6F)
        return old.unsupported("its norm p = " + std::to_string(p) + " is no whole number above 0");
    old.node.attributes["p"] = static_cast<std::int64_t>(p);
    return {};
}

Status statedSelu(OldNode& old) {
    old.node.attributes.emplace("alpha", 1.6732F);
    old.node.attributes.emplace("gamma", 1.0507F);
    return {};
}

Status statedMvnAxes(OldNode& old) {
    if (old.node.intAttr("normalize_variance", 1) == 0)
        return old.unsupported("it leaves the variance as it is");
    const bool across = old.node.intAttr("across_channels", 0) != 0;
    for (const char* key : {"across_channels", "normalize_variance"})
        old.node.attributes.erase(key);
    old.node.attributes["axes"] =
        across ? std::vector<std::int64_t>{1, 2, 3} : std::vector<std::int64_t>{2, 3};
    return {};
}

Status dropOutputSequence(OldNode& old) {
    old.node.attributes.erase("output_sequence"); // outputs that nobody reads are left out anyway
    return {};
}

struct Rule {
    const char* op;
    std::int64_t until; // the opset from which the operator is as it is in kOldestRules
    Status (*apply)(OldNode&);
};

constexpr std::array kRules{
    Rule{"Add", 7, alignOperand},
    Rule{"And", 7, alignOperand},
    Rule{"BatchNormalization", 7, requireInference},
    Rule{"Cast", 6, castByNumber},
    Rule{"Concat", 4, statedAxis},
    Rule{"Div", 7, alignOperand},
    Rule{"Dropout", 7, requireInference},
    Rule{"Equal", 7, alignOperand},
    Rule{"GRU", 7, dropOutputSequence},
    Rule{"Gemm", 7, dropBroadcast},
    Rule{"GlobalLpPool", 2, wholePower},
    Rule{"Greater", 7, alignOperand},
    Rule{"LSTM", 7, dropOutputSequence},
    Rule{"Less", 7, alignOperand},
    Rule{"LpPool", 2, wholePower},
    Rule{"MeanVarianceNormalization", 7, statedMvnAxes},
    Rule{"Mul", 7, alignOperand},
    Rule{"Or", 7, alignOperand},
    Rule{"PRelu", 7, alignSlope},
    Rule{"Pad", 2, renamedPads},
    Rule{"Pow", 7, alignOperand},
    Rule{"RNN", 7, dropOutputSequence},
    Rule{"Reshape", 5, shapeAsInput},
    Rule{"Selu", 6, statedSelu},
    Rule{"Split", 2, splitAsAttribute},
    Rule{"Sub", 7, alignOperand},
    Rule{"Tile", 6, repeatsOfAllAxes},
    Rule{"Upsample", 7, scalesOfAllAxes},
    Rule{"Xor", 7, alignOperand},
};

} // namespace

std::optional<std::size_t> OldNode::rank(std::size_t input) const {
    if (!node.hasInput(input))
        return std::nullopt;
    const auto& dims = typeOf_(node.inputs[input]).dims;
    return dims ? std::optional(dims->size()) : std::nullopt;
}

Tensor OldNode::constant(std::size_t input) const {
    const Tensor tensor = node.hasInput(input) ? builder_.value(node.inputs[input]).constant : Tensor();
    return tensor.type() == DType::string ? Tensor() : tensor;
}

ValueId OldNode::addConstant(const char* what, Tensor tensor) {
    return builder_.addConstant(derivedName(node.name, std::string(".") + what), std::move(tensor));
}

void OldNode::appendOnes(std::size_t input, std::size_t count) {
    const Tensor tensor = constant(input);
    const std::size_t rank = *this->rank(input);
    if (!tensor.absent()) {
        Shape shape = tensor.shape();
        shape.resize(rank + count, 1);
        node.inputs[input] = addConstant("aligned", tensor.reshaped(std::move(shape)));
        return;
    }
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < count; ++i)
        axes.push_back(static_cast<std::int64_t>(rank + i));
    const TensorType& type = typeOf_(node.inputs[input]);
    const DType element = type.dtype;
    Dims dims = type.dims.value_or(Dims());
    dims.resize(rank + count, Dim(1));
    node.inputs[input] =
        builder_.add("Unsqueeze", {node.inputs[input]}, {{"axes", axes}}, 1, derivedName(node.name, ".aligned"));
    builder_.setType(node.inputs[input], TensorType(element, std::move(dims)));
}

Error OldNode::unsupported(const std::string& what) const {
    return unsupportedError("node '" + node.name + "' (" + node.op + ") of opset " + std::to_string(opset) +
                            ": " + what + "; export the model again with opset 7 or later");
}

Status upgradeNode(OldNode& old) {
    old.node.attributes.erase("consumed_inputs");
    for (const Rule& rule : kRules)
        if (old.node.op == rule.op && old.opset < rule.until)
            return rule.apply(old);
    return {};
}

} // namespace tunesmith
