// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/check/equivalence.h"
#include "core/graph/graph_builder.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/lower_node.h"
#include "op_case.h"

// An operator that compiles as other nodes against its reference kernel, which knows nothing of them.
namespace tunesmith {

// One operator of com.microsoft as a graph; inputs of `constants` are constants, all others graph inputs.
inline Result<Graph> graphOf(const OpCase& c) {
    GraphBuilder builder;
    builder.setOpset("", c.opset);
    builder.setOpset("com.microsoft", 1);
    Node node = nodeOf(c);
    std::ranges::fill(node.inputs, ValueId());
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        const Tensor& x = c.inputs[i];
        if (!x.absent())
            node.inputs[i] = c.constants.contains(i)
                                 ? builder.addConstant("c" + std::to_string(i), x)
                                 : builder.addInput("x" + std::to_string(i), TensorType(x.type(), x.shape()));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
        node.outputs[i] = builder.addValue("y" + std::to_string(i));
    builder.setOutputs(node.outputs);
    builder.addNode(std::move(node));
    TS_ASSIGN(const Graph graph, builder.build());
    return inferShapes(graph);
}

inline Result<std::vector<Tensor>> runExpanded(const OpCase& c) {
    TS_ASSIGN(const Graph graph, graphOf(c));
    TS_ASSIGN(const Graph expanded, expandNodes(graph));
    for (std::size_t n = 0; n < expanded.nodeCount(); ++n)
        TS_TRY(checkLowerable(expanded, NodeId(static_cast<std::int64_t>(n))));
    for (const ValueId id : expanded.outputs())
        if (!expanded.value(id).type.isStatic())
            return inputError("the type of an output is not known after the expansion");
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
        if (!c.inputs[i].absent() && !c.constants.contains(i))
            inputs.push_back(c.inputs[i]);
    return Interpreter(expanded).run(inputs);
}

inline std::vector<std::byte> inputBytes(const OpCase& c) {
    std::vector<std::byte> all;
    for (const Tensor& input : c.inputs)
        if (!input.absent())
            all.insert(all.end(), input.bytes().begin(), input.bytes().end());
    return all;
}

// Kernel against expansion, or against lowering where there is one; empty when they agree.
inline QString compareCompiledForm(const OpCase& c, double tolerance = 1e-4) {
    const std::vector<std::byte> before = inputBytes(c);
    if (lowerCase(c).ok())
        return compareLowering(c, tolerance);
    const auto expected = runKernel(c);
    if (!expected.ok())
        return "kernel: " + QString::fromStdString(expected.error().message);
    if (inputBytes(c) != before)
        return "the kernel changes its inputs";
    const auto actual = runExpanded(c);
    if (!actual.ok())
        return "expansion: " + QString::fromStdString(actual.error().message);
    if (inputBytes(c) != before)
        return "the expansion changes its inputs";
    for (std::size_t i = 0; i < expected->size(); ++i)
        if (const QString text = difference((*actual)[i], (*expected)[i], tolerance); !text.isEmpty())
            return QStringLiteral("output %1: %2").arg(i).arg(text);
    return {};
}

// The same case with what is no ordinary number in its first input.
inline OpCase withSpecialValues(OpCase c) {
    Tensor special = Tensor::zeros(DType::f64, c.inputs[0].shape());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSpecial[] = {
        std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -0.0, 1e30, -1e30, 1e-30};
    for (std::int64_t i = 0; i < special.count(); ++i)
        special.mutableData<double>()[i] = i % 3 == 0 ? kSpecial[i / 3 % 7] : c.inputs[0].asDouble(i);
    c.inputs[0] = special.cast(c.inputs[0].type());
    return c;
}

struct ContribCase {
    OpCase c;
    std::vector<Tensor> expected; // of ONNX Runtime 1.30; an absent one is not compared
};
using ContribCases = std::vector<std::pair<const char*, ContribCase>>;

inline OpCase contrib(const std::string& op, std::map<std::string, Attribute> attributes,
                      std::vector<Tensor> inputs, int outputs = 1, std::set<std::size_t> constants = {}) {
    return {.op = op,
            .attributes = std::move(attributes),
            .inputs = std::move(inputs),
            .outputs = outputs,
            .constants = std::move(constants),
            .domain = "com.microsoft"};
}

inline QString compareAnswers(const ContribCase& known, double tolerance = 1e-5) {
    const auto actual = runKernel(known.c);
    if (!actual.ok())
        return QString::fromStdString(actual.error().message);
    for (std::size_t i = 0; i < known.expected.size(); ++i)
        if (!known.expected[i].absent())
            if (const QString text = difference((*actual)[i], known.expected[i], tolerance); !text.isEmpty())
                return QStringLiteral("output %1: %2").arg(i).arg(text);
    return {};
}

inline Tensor bytes(const Shape& shape, const std::vector<std::uint8_t>& values) {
    return Tensor::of<std::uint8_t>(shape, values);
}
inline Tensor counted(const Shape& shape, double from = 0) { // 0, 1, 2 ...
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    std::iota(tensor.mutableData<float>().begin(), tensor.mutableData<float>().end(),
              static_cast<float>(from));
    return tensor;
}

} // namespace tunesmith
