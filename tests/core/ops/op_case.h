// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>
#include <set>

#include "core/base/rng.h"
#include "core/loops/evaluate.h"
#include "core/ops/evaluate_node.h"
#include "core/ops/operator.h"

// One application of an operator, without a graph around it: run by its kernel, by its shape rule and by its lowering.
namespace tunesmith {

struct OpCase {
    std::string op;
    std::int64_t opset = 17;
    std::map<std::string, Attribute> attributes = {};
    std::vector<Tensor> inputs = {}; // absent: left out
    int outputs = 1;
    std::set<std::size_t> constants = {}; // inputs whose values the lowering may see
    std::string domain = {};
};

inline Node nodeOf(const std::string& op, const std::map<std::string, Attribute>& attributes,
                   const std::vector<bool>& inputs, int outputs = 1) {
    Node node;
    node.name = std::string("n");
    node.op = op;
    node.attributes = attributes;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        node.inputs.push_back(inputs[i] ? ValueId(static_cast<std::int64_t>(i)) : ValueId());
    for (int i = 0; i < outputs; ++i)
        node.outputs.push_back(ValueId(100 + i));
    return node;
}

inline Node nodeOf(const OpCase& c) {
    std::vector<bool> present;
    for (const Tensor& input : c.inputs)
        present.push_back(!input.absent());
    Node node = nodeOf(c.op, c.attributes, present, c.outputs);
    node.domain = c.domain;
    return node;
}

inline Result<std::vector<Tensor>> runKernel(const OpCase& c) { return evaluateNode(nodeOf(c), c.opset, c.inputs); }

inline Result<std::vector<TensorType>> runRule(const Node& node, std::int64_t opset, std::vector<TensorType> types,
                                               std::vector<Tensor> constants) {
    InferContext context(node, opset, std::move(types), std::move(constants));
    context.outputs.resize(node.outputs.size());
    context.values.resize(node.outputs.size());
    TS_TRY(findOperator(node.op, node.domain)->infer(context));
    return context.outputs;
}

// The shape rule alone, all inputs present.
inline Result<std::vector<TensorType>> runRule(const std::string& op, std::int64_t opset,
                                               const std::map<std::string, Attribute>& attributes,
                                               const std::vector<TensorType>& types, int outputs = 1) {
    return runRule(nodeOf(op, attributes, std::vector<bool>(types.size(), true), outputs), opset, types,
                   std::vector<Tensor>(types.size()));
}

inline Result<loops::Program> lowerCase(const OpCase& c) {
    const Node node = nodeOf(c);
    const Operator& op = *findOperator(c.op, c.domain);
    std::vector<TensorType> types;
    std::vector<Tensor> constants;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        types.push_back(c.inputs[i].absent() ? TensorType() : TensorType(c.inputs[i].type(), c.inputs[i].shape()));
        constants.push_back(c.constants.contains(i) ? c.inputs[i] : Tensor());
    }
    TS_ASSIGN(std::vector<TensorType> outputTypes, runRule(node, c.opset, types, c.inputs));
    LowerContext context(node, c.opset, types, constants);
    if (op.lowerable)
        TS_TRY(op.lowerable(context));
    loops::Program program;
    program.name = c.op;
    for (std::size_t i = 0; i < types.size(); ++i) {
        context.inputs.push_back(
            c.inputs[i].absent() ? nullptr : loops::makeTensor("x" + std::to_string(i), types[i].dtype, types[i].shape()));
        if (context.inputs.back())
            program.inputs.push_back(context.inputs.back());
    }
    context.outputTypes = std::move(outputTypes);
    context.outputs.resize(node.outputs.size());
    if (!op.lower)
        return inputError(c.op + " has no lowering");
    TS_TRY(op.lower(context));
    program.stages = std::move(context.stages);
    program.outputs = context.outputs;
    return program;
}

inline Result<std::vector<Tensor>> runLowered(const OpCase& c) {
    TS_ASSIGN(const loops::Program program, lowerCase(c));
    std::vector<Tensor> inputs;
    for (const Tensor& input : c.inputs)
        if (!input.absent())
            inputs.push_back(input);
    return loops::evaluate(program, inputs);
}

// Integers are drawn as such; floats uniformly.
inline Tensor randomTensor(Rng& rng, DType type, const Shape& shape, double low = -2, double high = 2) {
    Tensor tensor = Tensor::zeros(DType::f64, shape);
    for (double& value : tensor.mutableData<double>()) {
        value = low + rng.uniform() * (high - low);
        value = isFloat(type) ? value : std::floor(value);
    }
    return tensor.cast(type);
}

// Empty when equal within the tolerance, which counts relative to the expected value and absolutely.
inline QString difference(const Tensor& actual, const Tensor& expected, double tolerance = 1e-5) {
    if (actual.type() != expected.type() || actual.shape() != expected.shape())
        return QString::fromStdString(TensorType(actual.type(), actual.shape()).text() + " instead of " +
                                      TensorType(expected.type(), expected.shape()).text());
    for (std::int64_t i = 0; i < expected.count(); ++i) {
        const double a = actual.asDouble(i), e = expected.asDouble(i);
        const bool same = a == e || (std::isnan(a) && std::isnan(e)) || std::fabs(a - e) <= tolerance * (1 + std::fabs(e));
        if (!same)
            return QStringLiteral("element %1 is %2 instead of %3").arg(i).arg(a, 0, 'g', 12).arg(e, 0, 'g', 12);
    }
    return {};
}

// Kernel against a known first output; empty when they agree.
inline QString answerDifference(const OpCase& c, const Tensor& expected, double tolerance = 1e-5) {
    const auto actual = runKernel(c);
    return actual.ok() ? difference(actual->front(), expected, tolerance) : "kernel: " + QString::fromStdString(actual.error().message);
}

// Empty when the kernel refuses the case in a sentence that begins with the node and holds `words`.
inline QString refusalDifference(const OpCase& c, const QString& words) {
    const auto result = runKernel(c);
    if (result.ok())
        return "not refused";
    const QString message = QString::fromStdString(result.error().message);
    const bool fits = message.startsWith("node 'n' (" + QString::fromStdString(c.op) + "): ") && message.contains(words);
    return fits ? QString() : message;
}

// Kernel against lowering; empty when they agree.
inline QString compareLowering(const OpCase& c, double tolerance = 1e-4) {
    const auto expected = runKernel(c);
    if (!expected.ok())
        return "kernel: " + QString::fromStdString(expected.error().message);
    const auto actual = runLowered(c);
    if (!actual.ok())
        return "lowering: " + QString::fromStdString(actual.error().message);
    for (std::size_t i = 0; i < expected->size(); ++i)
        if (const QString text = difference((*actual)[i], (*expected)[i], tolerance); !text.isEmpty())
            return text;
    return {};
}

inline std::string describe(const OpCase& c) {
    std::string text = c.op + " opset " + std::to_string(c.opset);
    for (const auto& [name, value] : c.attributes)
        text += " " + name + "=" + attributeText(value);
    for (const Tensor& input : c.inputs)
        text += input.absent() ? " -" : " " + TensorType(input.type(), input.shape()).text();
    return text;
}

inline Tensor floats(const Shape& shape, const std::vector<float>& values) { return Tensor::of<float>(shape, values); }
using Ints = std::vector<std::int64_t>;

} // namespace tunesmith
