// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/contrib.h"

#include <algorithm>
#include <numeric>

#include "core/ops/evaluate_node.h"
#include "core/ops/movement.h"

namespace tunesmith::ops {
namespace {

Node withInputs(const Node& node, std::size_t count) {
    Node shorter = node;
    shorter.inputs.resize(std::min(count, node.inputs.size()));
    return shorter;
}

// Asks the shape rule once more; a graph may have got types from declarations where the rule refused.
Status checkExpanded(const ExpandContext& context, const InferRule& infer) {
    KnownInputs known(context, context.count());
    for (std::size_t i = 0; i < known.types.size(); ++i)
        if (context.has(i) && !known.types[i].isStatic())
            return context.unsupported("the shape of input " + std::to_string(i) + " is known when it runs");
    InferContext again(context.node, context.opset, std::move(known.types), std::move(known.constants));
    again.outputs.resize(context.node.outputs.size());
    again.values.resize(context.node.outputs.size());
    if (const Status status = infer(again); !status.ok())
        return unsupportedError(status.error().message);
    for (std::size_t i = 0; i < again.outputs.size(); ++i)
        if (context.wanted(i) && !context.outputType(i).isStatic())
            return context.unsupported("the shape of output " + std::to_string(i) + " is known when it runs");
    return {};
}

const Operator& onnxOperator(const std::string& name) {
    const Operator* op = findOperator(name);
    assert(op);
    return *op;
}

Status inferCopy(InferContext& in, const std::string& onnx, std::int64_t opset) {
    KnownInputs known(in, in.count());
    InferContext copy(in.node, opset, std::move(known.types), std::move(known.constants));
    copy.outputs = in.outputs;
    copy.values = in.values;
    TS_TRY(onnxOperator(onnx).infer(copy));
    in.outputs = std::move(copy.outputs);
    in.values = std::move(copy.values);
    return {};
}

Status evalCopy(EvalContext& context, const std::string& onnx, std::int64_t opset) {
    EvalContext copy(context.node, opset, context.inputs);
    TS_TRY(onnxOperator(onnx).eval(copy));
    context.outputs = std::move(copy.outputs);
    return {};
}

Status lowerCopy(LowerContext& context, const std::string& onnx, std::int64_t opset) {
    KnownInputs known(context, context.count());
    LowerContext copy(context.node, opset, std::move(known.types), std::move(known.constants));
    copy.inputs = context.inputs;
    copy.outputTypes = context.outputTypes;
    copy.outputs = context.outputs;
    TS_TRY(onnxOperator(onnx).lower(copy));
    context.stages = std::move(copy.stages);
    context.outputs = std::move(copy.outputs);
    return {};
}

Status copyLowerable(const OpInputs& in, const std::string& onnx, std::int64_t opset) {
    const Operator& op = onnxOperator(onnx);
    KnownInputs known(in, in.count());
    return op.lowerable
               ? op.lowerable(OpInputs(in.node, opset, std::move(known.types), std::move(known.constants)))
               : Status();
}

std::string positionText(std::size_t index) {
    return "input " + std::to_string(index);
}

} // namespace

KnownInputs::KnownInputs(const OpInputs& in, std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, in.count()); ++i) {
        types.push_back(in.has(i) ? in.type(i) : TensorType());
        constants.push_back(in.has(i) ? in.constant(i) : Tensor());
    }
}

void addExpanded(OperatorList& list, const std::string& name, Arity arity, const InferRule& infer,
                 const Kernel& kernel, const ExpandRule& expand) {
    addOperator(list, name, Fusion::opaque, 1, arity, infer, kernel);
    list.back().domain = kMicrosoft;
    addExpansion(list, expand);
}

void addExpansion(OperatorList& list, const ExpandRule& expand) {
    list.back().expand = [checked = list.back().infer, expand](ExpandContext& context) -> Status {
        TS_TRY(checkExpanded(context, checked));
        return expand(context);
    };
}

void addLowered(OperatorList& list, const std::string& name, Fusion fusion, Arity arity,
                const InferRule& infer, const Kernel& kernel, LowerRule lower, LowerableRule lowerable) {
    addOperator(list, name, fusion, 1, arity, infer, kernel, std::move(lower), std::move(lowerable));
    list.back().domain = kMicrosoft;
}

void addReference(OperatorList& list, const std::string& name, Arity arity, const InferRule& infer,
                  const Kernel& kernel) {
    addOperator(list, name, Fusion::opaque, 1, arity, infer, kernel);
    list.back().domain = kMicrosoft;
}

void addCopy(OperatorList& list, const std::string& name, Fusion fusion, const std::string& onnx,
             std::int64_t opset) {
    Operator op;
    op.name = name;
    op.domain = kMicrosoft;
    op.fusion = fusion;
    op.infer = [onnx, opset](InferContext& in) { return inferCopy(in, onnx, opset); };
    op.eval = [onnx, opset](EvalContext& context) { return evalCopy(context, onnx, opset); };
    if (fusion != Fusion::opaque) { // an opaque operator has no lowering to share
        op.lower = [onnx, opset](LowerContext& context) { return lowerCopy(context, onnx, opset); };
        op.lowerable = [onnx, opset](const OpInputs& in) { return copyLowerable(in, onnx, opset); };
    }
    list.push_back(std::move(op));
}

Status inferAs(InferContext& in, const std::string& onnx, std::size_t inputs) {
    const Node node = withInputs(in.node, inputs);
    KnownInputs known(in, inputs);
    InferContext shorter(node, kNewestOpset, std::move(known.types), std::move(known.constants));
    shorter.outputs = in.outputs;
    shorter.values = in.values;
    TS_TRY(onnxOperator(onnx).infer(shorter));
    in.outputs = std::move(shorter.outputs);
    return {};
}

Status evalAs(EvalContext& context, const std::string& onnx, std::size_t inputs) {
    const Node node = withInputs(context.node, inputs);
    const std::vector<Tensor> values(
        context.inputs.begin(), context.inputs.begin() + static_cast<std::ptrdiff_t>(node.inputs.size()));
    EvalContext shorter(node, kNewestOpset, values);
    TS_TRY(onnxOperator(onnx).eval(shorter));
    context.outputs = std::move(shorter.outputs);
    return {};
}

ValueId countedFrom(ExpandContext& context, std::int64_t first, const Shape& shape) {
    Tensor numbers = Tensor::zeros(DType::i64, shape);
    const std::span<std::int64_t> values = numbers.mutableData<std::int64_t>();
    std::iota(values.begin(), values.end(), first);
    return context.addConstant(std::move(numbers));
}

ValueId addMicrosoft(ExpandContext& context, const std::string& op, std::vector<ValueId> inputs,
                     std::map<std::string, Attribute> attributes) {
    Node node;
    node.name = context.derived(op);
    node.op = op;
    node.domain = kMicrosoft;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.outputs = {context.to.addValue(node.name)};
    const ValueId output = node.outputs[0];
    context.to.addNode(std::move(node));
    return output;
}

std::map<std::string, Attribute> attributesWithout(const Node& node, const std::vector<std::string>& names) {
    std::map<std::string, Attribute> attributes = node.attributes;
    for (const std::string& name : names)
        attributes.erase(name);
    return attributes;
}

Tensor permuted(const Tensor& x, const std::vector<std::int64_t>& order) {
    const Shape from = rowMajorStrides(x.shape());
    View view;
    for (const std::int64_t axis : order) {
        view.shape.push_back(x.shape()[static_cast<std::size_t>(axis)]);
        view.strides.push_back(from[static_cast<std::size_t>(axis)]);
    }
    return gatherView(x, view, view.shape);
}

Status requireDims(const OpInputs& in, std::size_t index, const Dims& wanted, const std::string& meaning) {
    if (!in.has(index) || !in.type(index).dims)
        return {};
    const Dims& dims = *in.type(index).dims;
    bool fits = dims.size() == wanted.size();
    for (std::size_t i = 0; fits && i < dims.size(); ++i)
        fits = mergeEqual(dims[i], wanted[i]).has_value();
    if (fits)
        return {};
    return in.error(positionText(index) + " is " + in.type(index).text() + " but must be " +
                    TensorType(in.type(index).dtype, wanted).text() + ": " + meaning);
}

Status requireEqual(const OpInputs& in, const Dim& a, const Dim& b, const std::string& what) {
    return mergeEqual(a, b) ? Status() : Status(in.error(what));
}

Status requireRank(const OpInputs& in, std::size_t index, std::size_t rank, const std::string& meaning) {
    if (!in.has(index) || !in.type(index).dims || in.type(index).dims->size() == rank)
        return {};
    return in.error(positionText(index) + " is " + in.type(index).text() + " but must have " +
                    std::to_string(rank) + " dimensions: " + meaning);
}

Status requireInputs(const OpInputs& in, std::initializer_list<std::size_t> indices) {
    for (const std::size_t index : indices)
        if (!in.has(index))
            return in.error(positionText(index) + " is missing");
    return {};
}

Status refuseInput(const OpInputs& in, std::size_t index, const std::string& name) {
    if (!in.has(index))
        return {};
    return in.unsupported(positionText(index) + ", " + name +
                          ", is not supported; export the model for the CPU without it");
}

std::optional<Dim> dimOf(const OpInputs& in, std::size_t index, std::size_t axis) {
    if (!in.has(index) || !in.type(index).dims || axis >= in.type(index).dims->size())
        return std::nullopt;
    return (*in.type(index).dims)[axis];
}

Status requireInt32(const OpInputs& in, std::size_t index) {
    return requireType(
        in, index, [](DType type) { return type == DType::i32; }, "int32");
}

DType statisticType(DType type) {
    return type == DType::f64 || type == DType::undefined ? type : DType::f32;
}

bool isIndex(DType type) {
    return type == DType::i32 || type == DType::i64;
}

} // namespace tunesmith::ops
