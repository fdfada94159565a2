// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/evaluate.h"
#include "core/ops/registry.h"
#include "core/te/comprehension.h"
#include "core/te/graph.h"

// Statements of a .te file as operators of our own domain. The text that a node carries says everything: types, ranges and the
// stage that it is lowered to, which is also what the reference kernel evaluates.
namespace tunesmith::ops {
namespace {

Result<te::Comprehension> comprehensionOf(const OpInputs& in) {
    const std::string text = in.node.stringAttr(te::kTextAttribute);
    if (text.empty())
        return in.error(std::string("it has no attribute '") + te::kTextAttribute + "' with the text of its statement");
    auto made = te::Comprehension::fromText(text);
    if (!made.ok())
        return in.error(made.error().message);
    for (std::size_t i = 0; i < std::max(in.node.inputs.size(), made->inputs().size()); ++i)
        if (!in.has(i) || i >= made->inputs().size())
            return in.error("its text has " + std::to_string(made->inputs().size()) + " inputs, and input " + std::to_string(i) + (in.has(i) ? " is too many" : " is missing"));
    if (in.node.outputs.size() != 1)
        return in.error("it has " + std::to_string(in.node.outputs.size()) + " outputs and makes one");
    if (in.node.op == te::kElementwise && !made->isElementwise())
        return in.error("its text is not elementwise; such a node is a Comprehension");
    return made;
}

Status inferExpression(InferContext& in) {
    TS_ASSIGN(const te::Comprehension comprehension, comprehensionOf(in));
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < in.count(); ++i)
        types.push_back(in.type(i));
    auto type = comprehension.outputType(types);
    if (!type.ok())
        return in.error(type.error().message);
    in.outputs[0] = std::move(*type);
    return {};
}

Status lowerExpression(LowerContext& context) {
    TS_ASSIGN(const te::Comprehension comprehension, comprehensionOf(context));
    auto stage = comprehension.lower(context.inputs, context.node.op == te::kElementwise ? "elementwise" : "comprehension");
    if (!stage.ok())
        return context.error(stage.error().message);
    context.finish(0, std::move(*stage));
    return {};
}

Status evalExpression(EvalContext& context) {
    std::vector<TensorType> types;
    for (const Tensor& input : context.inputs)
        types.emplace_back(input.type(), input.shape());
    const OpInputs in(context.node, context.opset, std::move(types), context.inputs);
    TS_ASSIGN(const te::Comprehension comprehension, comprehensionOf(in));
    loops::Program program;
    program.name = context.node.name;
    for (std::size_t i = 0; i < context.inputs.size(); ++i)
        program.inputs.push_back(loops::makeTensor(comprehension.inputs()[i].name.text, context.input(i).type(), context.input(i).shape()));
    auto stage = comprehension.lower(program.inputs, "Y");
    if (!stage.ok())
        return context.error(stage.error().message);
    program.outputs = {stage->output};
    program.stages.push_back(std::move(*stage));
    TS_ASSIGN(context.outputs, loops::evaluate(program, context.inputs));
    return {};
}

void add(OperatorList& list, const char* name, Fusion fusion) {
    Operator op;
    op.name = name;
    op.domain = te::kDomain;
    op.fusion = fusion;
    op.infer = inferExpression;
    op.eval = evalExpression;
    op.lower = lowerExpression;
    op.deterministic = false; // a statement without inputs may take hours: nobody folds it while a model is opened
    list.push_back(std::move(op));
}

} // namespace

void registerTensorExpression(OperatorList& list) {
    add(list, te::kComprehension, Fusion::anchor);
    add(list, te::kElementwise, Fusion::elementwise);
}

} // namespace tunesmith::ops
