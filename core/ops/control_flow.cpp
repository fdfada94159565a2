// SPDX-License-Identifier: GPL-3.0-or-later
// If, Loop, Scan: their bodies are graphs, run by whoever evaluates the node (EvalContext::runBody).
#include <algorithm>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

const TensorType& outputType(const Graph& body, std::size_t index) { return body.value(body.outputs()[index]).type; }

// What holds for both: the rank if it is the same, extents that are the same.
TensorType commonType(const TensorType& a, const TensorType& b) {
    TensorType common(a.dtype == b.dtype ? a.dtype : DType::undefined);
    if (!a.dims || !b.dims || a.dims->size() != b.dims->size())
        return common;
    common.dims = a.dims;
    for (std::size_t d = 0; d < a.dims->size(); ++d)
        if (!((*a.dims)[d] == (*b.dims)[d]))
            (*common.dims)[d] = Dim();
    return common;
}

std::shared_ptr<const Graph> bodyOf(const Node& node, const char* attribute) {
    const auto found = node.attributes.find(attribute);
    const auto* body = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&found->second);
    return body ? *body : nullptr;
}

Status requireBody(const InferContext& in, const char* attribute, std::size_t inputs, std::size_t outputs) {
    const auto body = bodyOf(in.node, attribute);
    if (!body)
        return in.error(std::string("has no ") + attribute);
    if (body->inputs().size() != inputs || body->outputs().size() < outputs)
        return in.error(std::string(attribute) + " has " + std::to_string(body->inputs().size()) + " inputs and " +
                        std::to_string(body->outputs().size()) + " outputs, wanted " + std::to_string(inputs) + " and " +
                        std::to_string(outputs));
    return {};
}

Status inferIf(InferContext& in) {
    TS_TRY(requireBody(in, "then_branch", 0, in.outputs.size()));
    TS_TRY(requireBody(in, "else_branch", 0, in.outputs.size()));
    const auto then = in.subgraph("then_branch"), otherwise = in.subgraph("else_branch");
    for (std::size_t i = 0; i < in.outputs.size(); ++i) {
        in.outputs[i] = commonType(outputType(*then, i), outputType(*otherwise, i));
        if (in.isConstant(0) && in.constant(0).count() == 1)
            in.outputs[i] = outputType(in.constant(0).asInt(0) != 0 ? *then : *otherwise, i);
    }
    return {};
}

Error noRunner(const EvalContext& context) { return context.error("control flow cannot be evaluated here"); }

Status evalIf(EvalContext& context, const std::vector<TensorType>&) {
    if (!context.runBody)
        return noRunner(context);
    if (context.input(0).count() != 1)
        return context.error("its condition must be one truth value");
    const bool taken = context.input(0).asInt(0) != 0;
    TS_ASSIGN(std::vector<Tensor> results, context.runBody(*bodyOf(context.node, taken ? "then_branch" : "else_branch"), {}));
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        context.outputs[i] = std::move(results[i]);
    return {};
}

// Results of the iterations joined: stacked under a new first axis.
Tensor stacked(const std::vector<Tensor>& parts, std::size_t axis) {
    Shape shape = parts.front().shape();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(parts.size()));
    Tensor result = Tensor::zeros(parts.front().type(), shape);
    View target{shape, rowMajorStrides(shape), 0};
    const std::int64_t step = target.strides[axis];
    target.shape.erase(target.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    target.strides.erase(target.strides.begin() + static_cast<std::ptrdiff_t>(axis));
    for (const Tensor& part : parts) {
        copyView(part, wholeView(part), result, target);
        target.offset += step;
    }
    return result;
}

// A scan output of no iteration: what the body declares, with unknown extents as 0.
Tensor emptyScan(const TensorType& type, std::size_t axis) {
    Shape shape;
    for (std::size_t d = 0; type.dims && d < type.dims->size(); ++d)
        shape.push_back(std::max<std::int64_t>((*type.dims)[d].extent, 0));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())), 0);
    return Tensor::zeros(type.dtype == DType::undefined ? DType::f32 : type.dtype, shape);
}

// Collects one scan output over the iterations; all parts must have one type.
class ScanOutput {
public:
    Status add(const EvalContext& context, Tensor part) {
        if (!parts_.empty() && (part.type() != parts_[0].type() || part.shape() != parts_[0].shape()))
            return context.error("a scan output changes from " + TensorType(parts_[0].type(), parts_[0].shape()).text() +
                                 " to " + TensorType(part.type(), part.shape()).text());
        if (part.type() == DType::string)
            return context.error("scan outputs of strings are not supported");
        parts_.push_back(std::move(part));
        return {};
    }
    Tensor joined(const TensorType& declared, std::size_t axis, bool backwards) {
        if (backwards)
            std::reverse(parts_.begin(), parts_.end());
        return parts_.empty() ? emptyScan(declared, axis) : stacked(parts_, axis);
    }
    std::size_t rank() const { return parts_.empty() ? 0 : parts_[0].rank() + 1; }

private:
    std::vector<Tensor> parts_;
};

TensorType withLeadingDim(TensorType type, const Dim& dim) {
    if (type.dims)
        type.dims->insert(type.dims->begin(), dim);
    return type;
}

std::size_t loopStates(std::size_t inputs) { return inputs > 2 ? inputs - 2 : 0; }

Status inferLoop(InferContext& in) {
    const std::size_t states = loopStates(in.count());
    TS_TRY(requireBody(in, "body", states + 2, in.outputs.size() + 1));
    const auto body = in.subgraph("body");
    for (std::size_t i = 0; i < in.outputs.size(); ++i) {
        if (i < states)
            in.outputs[i] = commonType(in.type(i + 2), outputType(*body, i + 1));
        else
            in.outputs[i] = withLeadingDim(outputType(*body, i + 1), Dim());
        if (in.outputs[i].dims) // the body may change extents from one iteration to the next
            for (Dim& dim : *in.outputs[i].dims)
                dim = Dim();
    }
    return {};
}

Status evalLoop(EvalContext& context, const std::vector<TensorType>&) {
    if (!context.runBody)
        return noRunner(context);
    const auto body = bodyOf(context.node, "body");
    const std::size_t states = loopStates(context.inputs.size());
    std::vector<Tensor> state(context.inputs.begin() + static_cast<std::ptrdiff_t>(2 * (states > 0 ? 1 : 0)),
                              states > 0 ? context.inputs.end() : context.inputs.begin());
    const bool counted = context.has(0);
    if ((counted && context.input(0).count() != 1) || (context.has(1) && context.input(1).count() != 1))
        return context.error("its trip count and condition must be single values");
    bool goOn = !context.has(1) || context.input(1).asInt(0) != 0;
    std::vector<ScanOutput> scans(context.outputs.size() - std::min(states, context.outputs.size()));
    for (std::int64_t i = 0; goOn && (!counted || i < context.input(0).asInt(0)); ++i) {
        std::vector<Tensor> arguments{Tensor::scalar(i), Tensor::scalar(goOn)};
        arguments.insert(arguments.end(), state.begin(), state.end());
        TS_ASSIGN(std::vector<Tensor> results, context.runBody(*body, std::move(arguments)));
        if (results[0].count() != 1)
            return context.error("the condition that its body yields must be one truth value");
        goOn = results[0].asInt(0) != 0;
        std::move(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(states), state.begin());
        for (std::size_t s = 0; s < scans.size(); ++s)
            TS_TRY(scans[s].add(context, std::move(results[1 + states + s])));
    }
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        context.outputs[i] = i < states ? state[i] : scans[i - states].joined(outputType(*body, i + 1), 0, false);
    return {};
}

// Scan since opset 9: no batch axis; some of the inputs are states, the others are walked through.
struct ScanPlan {
    std::size_t states = 0, scanned = 0;
    std::vector<std::int64_t> inputAxes, inputDirections, outputAxes, outputDirections;
};

Result<ScanPlan> scanPlan(const OpInputs& in, std::size_t outputs) {
    if (in.opset < 9)
        return in.unsupported("Scan of opset 8 is not supported");
    ScanPlan plan;
    const std::int64_t scanned = in.node.intAttr("num_scan_inputs", 0);
    if (scanned < 1 || scanned > static_cast<std::int64_t>(in.count()))
        return in.error("num_scan_inputs is " + std::to_string(scanned) + " with " + std::to_string(in.count()) + " inputs");
    plan.scanned = static_cast<std::size_t>(scanned);
    plan.states = in.count() - plan.scanned;
    if (outputs < plan.states)
        return in.error("has fewer outputs than states");
    const auto list = [&](const char* key, std::size_t size) {
        auto values = in.node.intsAttr(key);
        values.resize(size, 0);
        return values;
    };
    plan.inputAxes = list("scan_input_axes", plan.scanned);
    plan.inputDirections = list("scan_input_directions", plan.scanned);
    plan.outputAxes = list("scan_output_axes", outputs - plan.states);
    plan.outputDirections = list("scan_output_directions", outputs - plan.states);
    return plan;
}

Status inferScan(InferContext& in) {
    TS_ASSIGN(const ScanPlan plan, scanPlan(in, in.outputs.size()));
    TS_TRY(requireBody(in, "body", in.count(), in.outputs.size()));
    const auto body = in.subgraph("body");
    for (std::size_t i = 0; i < plan.scanned; ++i)
        if (const auto& dims = in.type(plan.states + i).dims)
            TS_TRY(frontAxis(in, plan.inputAxes[i], dims->size()));
    for (std::size_t i = 0; i < in.outputs.size(); ++i) {
        in.outputs[i] = i < plan.states ? outputType(*body, i) : withLeadingDim(outputType(*body, i), Dim());
        if (in.outputs[i].dims)
            in.outputs[i].dims->assign(in.outputs[i].dims->size(), Dim());
    }
    return {};
}

Tensor sliceAt(const Tensor& tensor, std::size_t axis, std::int64_t index) {
    View view = wholeView(tensor);
    view.offset = index * view.strides[axis];
    view.shape.erase(view.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(axis));
    return gatherView(tensor, view, view.shape);
}

Result<std::int64_t> scanLength(const EvalContext& context, const ScanPlan& plan) {
    std::int64_t length = -1;
    for (std::size_t i = 0; i < plan.scanned; ++i) {
        const Tensor& input = context.input(plan.states + i);
        const std::int64_t extent = input.shape()[frontAxis(plan.inputAxes[i], input.rank())];
        if (length >= 0 && extent != length)
            return context.error("its scanned inputs have different lengths");
        length = extent;
    }
    return length;
}

Status finishScan(EvalContext& context, const ScanPlan& plan, const Graph& body, std::vector<Tensor> state,
                  std::vector<ScanOutput>& scans) {
    for (std::size_t i = 0; i < plan.states; ++i)
        context.outputs[i] = std::move(state[i]);
    for (std::size_t s = 0; s < scans.size(); ++s) {
        const auto rank = static_cast<std::int64_t>(std::max<std::size_t>(scans[s].rank(), 1));
        const std::int64_t axis = plan.outputAxes[s];
        if (axis < -rank || axis >= rank)
            return context.error("scan output axis " + std::to_string(axis) + " is out of range");
        context.outputs[plan.states + s] = scans[s].joined(outputType(body, plan.states + s),
                                                          frontAxis(axis, static_cast<std::size_t>(rank)),
                                                          plan.outputDirections[s] != 0);
    }
    return {};
}

Status evalScan(EvalContext& context, const std::vector<TensorType>&) {
    if (!context.runBody)
        return noRunner(context);
    const auto body = bodyOf(context.node, "body");
    const OpInputs in(context.node, context.opset, std::vector<TensorType>(context.inputs.size()), context.inputs);
    TS_ASSIGN(const ScanPlan plan, scanPlan(in, context.outputs.size()));
    TS_ASSIGN(const std::int64_t length, scanLength(context, plan));
    std::vector<Tensor> state(context.inputs.begin(), context.inputs.begin() + static_cast<std::ptrdiff_t>(plan.states));
    std::vector<ScanOutput> scans(context.outputs.size() - plan.states);
    for (std::int64_t step = 0; step < length; ++step) {
        std::vector<Tensor> arguments = state;
        for (std::size_t i = 0; i < plan.scanned; ++i) {
            const Tensor& input = context.input(plan.states + i);
            arguments.push_back(sliceAt(input, frontAxis(plan.inputAxes[i], input.rank()),
                                        plan.inputDirections[i] ? length - 1 - step : step));
        }
        TS_ASSIGN(std::vector<Tensor> results, context.runBody(*body, std::move(arguments)));
        std::move(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(plan.states), state.begin());
        for (std::size_t s = 0; s < scans.size(); ++s)
            TS_TRY(scans[s].add(context, std::move(results[plan.states + s])));
    }
    return finishScan(context, plan, *body, std::move(state), scans);
}

} // namespace

void registerControlFlow(OperatorList& list) {
    addMovement(list, "If", Fusion::opaque, 1, {1, 1, kVariadic}, inferIf, evalIf);
    addMovement(list, "Loop", Fusion::opaque, 1, {0, kVariadic, kVariadic}, inferLoop, evalLoop);
    addMovement(list, "Scan", Fusion::opaque, 9, {0, kVariadic, kVariadic}, inferScan, evalScan);
}

} // namespace tunesmith::ops
