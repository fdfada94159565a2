// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/node_steps.h"

#include <algorithm>
#include <unordered_set>

#include "core/graph/graph_builder.h"
#include "core/ops/lower_node.h"

namespace tunesmith {
namespace {

double elementsOf(const TensorType& type) { return type.isStatic() ? std::max(1.0, static_cast<double>(checkedElementCount(type.shape()).value_or(0x7fffffffffffffff))) : 0; }

double iterations(const std::vector<loops::Axis>& axes) {
    double count = 1;
    for (const loops::Axis& axis : axes)
        count *= static_cast<double>(std::max<std::int64_t>(axis.extent, 1));
    return count;
}

// How many elements an expression reads.
double loadsOf(const loops::Expr& e, std::unordered_set<const loops::ExprNode*>& seen) {
    if (!e.valid() || !seen.insert(e.get()).second)
        return 0;
    double loads = e->op == loops::Op::load;
    for (const loops::Expr& arg : e->args)
        loads += loadsOf(arg, seen);
    return loads;
}

double stepsOf(const loops::Program& program) {
    double sum = 0;
    for (const loops::Stage& stage : program.stages) {
        std::unordered_set<const loops::ExprNode*> seen;
        sum += iterations(stage.axes) * iterations(stage.reduceAxes) * std::max(1.0, loadsOf(stage.body, seen) / 2);
    }
    return sum;
}

bool hasStaticInputs(const OpInputs& in) {
    for (std::size_t i = 0; i < in.count(); ++i)
        if (in.has(i) && !in.type(i).isStatic())
            return false;
    return true;
}

Result<std::vector<TensorType>> resultTypes(const OpInputs& in) {
    std::vector<TensorType> types;
    std::vector<Tensor> constants;
    for (std::size_t i = 0; i < in.count(); ++i) {
        types.push_back(in.has(i) ? in.type(i) : TensorType());
        constants.push_back(in.isConstant(i) ? in.constant(i) : Tensor());
    }
    InferContext context(in.node, in.opset, std::move(types), std::move(constants));
    context.outputs.resize(in.node.outputs.size());
    context.values.resize(in.node.outputs.size());
    TS_TRY(findOperator(in.node.op, in.node.domain)->infer(context));
    return std::move(context.outputs);
}

// The node alone, between its inputs and its results.
Result<Graph> alone(const OpInputs& in) {
    TS_ASSIGN(const std::vector<TensorType> types, resultTypes(in));
    GraphBuilder builder;
    builder.setOpset(in.node.domain, in.opset);
    Node node = in.node;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (in.has(i))
            node.inputs[i] = in.isConstant(i) ? builder.addConstant("", in.constant(i)) : builder.addInput("", in.type(i));
    std::vector<ValueId> outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i].valid())
            outputs.push_back(node.outputs[i] = builder.addValue("", types[i]));
    builder.addNode(std::move(node));
    builder.setOutputs(std::move(outputs));
    return builder.build();
}

} // namespace

double resultElements(const OpInputs& in) {
    const auto types = resultTypes(in);
    double sum = 0;
    for (std::size_t i = 0; types.ok() && i < types->size(); ++i)
        sum += elementsOf((*types)[i]);
    return sum;
}

double readElements(const OpInputs& in) {
    double sum = 0;
    for (std::size_t i = 0; i < in.count(); ++i)
        sum += in.has(i) ? elementsOf(in.type(i)) : 0;
    return sum;
}

double pairSteps(const OpInputs& in) { return readElements(in) * resultElements(in); }

double nodeSteps(const OpInputs& in) {
    const Operator* op = findOperator(in.node.op, in.node.domain);
    if (!in.has(0) || !hasStaticInputs(in))
        return 0;
    if (op && op->steps)
        return op->steps(in);
    if (!op || op->fusion != Fusion::anchor || !op->infer)
        return 0;
    const auto graph = alone(in);
    if (!graph.ok())
        return 0; // what is refused computes nothing
    const Result<loops::Program> program = op->lower ? lowerNode(*graph, NodeId(0)) : unsupportedError("");
    return program.ok() ? stepsOf(*program) : pairSteps(in);
}

} // namespace tunesmith
