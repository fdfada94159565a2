// SPDX-License-Identifier: GPL-3.0-or-later
// If, Loop, Scan: their bodies are graphs, run by whoever evaluates the node (EvalContext::runBody).
#include <algorithm>

#include "core/base/memory_budget.h"
#include "core/ops/body_types.h"
#include "core/ops/expand_control_flow.h"
#include "core/ops/interpreter.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

const TensorType& outputType(const Graph& body, std::size_t index) { return body.value(body.outputs()[index]).type; }

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
    TS_TRY(requireTruth(in, 0));
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
        if (part.isSequence() || part.isNothing())
            return context.error("a scan output must be a tensor on every turn");
        if (!parts_.empty() && (part.type() != parts_[0].type() || part.shape() != parts_[0].shape()))
            return context.error("a scan output changes from " + TensorType(parts_[0].type(), parts_[0].shape()).text() +
                                 " to " + TensorType(part.type(), part.shape()).text());
        if (part.type() == DType::string)
            return context.error("scan outputs of strings are not supported");
        bytes_ += static_cast<std::int64_t>(sizeof(Tensor) + part.byteCount());
        parts_.push_back(std::move(part));
        if (bytes_ < asked_)
            return {};
        asked_ = bytes_ + kOftenEnough;
        return valuesFit(bytes_) ? Status() : Status(context.error("what its turns give does not fit into memory"));
    }
    Tensor joined(const TensorType& declared, std::size_t axis, bool backwards) {
        if (backwards)
            std::reverse(parts_.begin(), parts_.end());
        return parts_.empty() ? emptyScan(declared, axis) : stacked(parts_, axis);
    }
    std::size_t rank() const { return parts_.empty() ? 0 : parts_[0].rank() + 1; }

private:
    static constexpr std::int64_t kOftenEnough = std::int64_t{64} << 20;
    std::vector<Tensor> parts_;
    std::int64_t bytes_ = 0, asked_ = kOftenEnough; // as many again are needed to join them
};

TensorType withLeadingDim(TensorType type, const Dim& dim) {
    if (type.dims)
        type.dims->insert(type.dims->begin(), dim);
    return type;
}

std::size_t loopStates(std::size_t inputs) { return inputs > 2 ? inputs - 2 : 0; }

// Forgets, of values that come out of turns, extents that the body may change from one turn to the next.
void keepOnly(TensorType& type, bool steady) {
    if (!type.dims)
        return;
    for (Dim& dim : *type.dims)
        if (!steady || !dim.known())
            dim = Dim();
}

bool neverTurns(const OpInputs& in) {
    const auto isConstant = [&](std::size_t i) { return in.isConstant(i) && in.constant(i).count() == 1; };
    return (isConstant(0) && in.constant(0).asInt(0) <= 0) || (isConstant(1) && in.constant(1).asInt(0) == 0);
}

Status requireTruthOfBody(const OpInputs& in, const TensorType& yielded) {
    if (yielded.dtype == DType::undefined || yielded.dtype == DType::boolean)
        return {};
    return in.error("the condition that its body yields is " + std::string(dtypeName(yielded.dtype)) + " but must be bool");
}

Status inferLoop(InferContext& in) {
    const std::size_t states = loopStates(in.count());
    TS_TRY(requireBody(in, "body", states + 2, std::max(states, in.outputs.size()) + 1));
    if (in.has(0))
        TS_TRY(requireIndexType(in, 0));
    if (in.has(1))
        TS_TRY(requireTruth(in, 1));
    const auto body = in.subgraph("body");
    TS_TRY(requireTruthOfBody(in, outputType(*body, 0)));
    const bool steady = isSteady(in, *body);
    for (std::size_t i = 0; i < in.outputs.size(); ++i) {
        if (neverTurns(in))
            in.outputs[i] = i < states ? in.type(i + 2) : withLeadingDim(outputType(*body, i + 1), Dim(0));
        else if (i < states)
            in.outputs[i] = steady ? body->value(body->inputs()[i + 2]).type : commonType(in.type(i + 2), outputType(*body, i + 1));
        else
            in.outputs[i] = withLeadingDim(outputType(*body, i + 1), Dim());
        if (!neverTurns(in))
            keepOnly(in.outputs[i], steady);
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
    if (goOn && goesOn(*body) && (!counted || context.input(0).asInt(0) > kMostBodyRuns))
        return context.error((counted ? "would turn " + std::to_string(context.input(0).asInt(0)) + " times" : "would never end") +
                             ", and at most " + std::to_string(kMostBodyRuns) + " turns are run");
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

// Scan: some of the inputs are states, the others are walked through. In opset 8 all of them had a batch axis in front, and
// the first input said how long each sequence of the batch is.
struct ScanPlan {
    std::size_t first = 0, states = 0, scanned = 0; // inputs: `first` is the first state
    std::vector<std::int64_t> inputAxes, inputDirections, outputAxes, outputDirections;
};

bool isBatched(std::int64_t opset) { return opset < 9; }

Result<ScanPlan> scanPlan(const OpInputs& in, std::size_t outputs) {
    ScanPlan plan;
    plan.first = isBatched(in.opset) ? 1 : 0;
    const std::int64_t scanned = in.node.intAttr("num_scan_inputs", 0);
    if (scanned < 1 || scanned > static_cast<std::int64_t>(in.count()) - static_cast<std::int64_t>(plan.first))
        return in.error("num_scan_inputs is " + std::to_string(scanned) + " with " + std::to_string(in.count()) + " inputs");
    plan.scanned = static_cast<std::size_t>(scanned);
    plan.states = in.count() - plan.first - plan.scanned;
    if (outputs < plan.states)
        return in.error("has fewer outputs than states");
    const auto list = [&](const char* key, std::size_t size) {
        auto values = in.node.intsAttr(key);
        values.resize(size, 0);
        return values;
    };
    plan.inputAxes = isBatched(in.opset) ? Shape(plan.scanned, 0) : list("scan_input_axes", plan.scanned);
    plan.inputDirections = list(isBatched(in.opset) ? "directions" : "scan_input_directions", plan.scanned);
    plan.outputAxes = list("scan_output_axes", outputs - plan.states);
    plan.outputDirections = list("scan_output_directions", outputs - plan.states);
    return plan;
}

// How many steps there are, where it is known.
Dim scanLength(const OpInputs& in, const ScanPlan& plan) {
    const TensorType& first = in.type(plan.first + plan.states);
    if (!first.dims)
        return {};
    const Dim& length = (*first.dims)[frontAxis(plan.inputAxes[0], first.dims->size())];
    return length.known() ? length : Dim();
}

// The axis of the steps, for what they give; an axis out of range is refused when it runs.
TensorType withScanAxis(TensorType type, std::int64_t axis, const Dim& length) {
    if (!type.dims)
        return type;
    const auto rank = static_cast<std::int64_t>(type.dims->size()) + 1;
    const std::int64_t place = axis < 0 ? axis + rank : axis;
    type.dims->insert(type.dims->begin() + std::clamp<std::int64_t>(place, 0, rank - 1), length);
    return type;
}

Status inferScan(InferContext& in) {
    TS_ASSIGN(const ScanPlan plan, scanPlan(in, in.outputs.size()));
    TS_TRY(requireBody(in, "body", in.count() - plan.first, in.outputs.size()));
    const auto body = in.subgraph("body");
    const bool batched = isBatched(in.opset);
    if (batched && in.has(0))
        TS_TRY(requireIndexType(in, 0));
    for (std::size_t i = plan.first; i < in.count(); ++i) {
        if (!in.has(i))
            return in.error("input " + std::to_string(i) + " is missing");
        const bool walked = i >= plan.first + plan.states;
        if (const auto& dims = in.type(i).dims; dims && walked)
            TS_TRY(frontAxis(in, plan.inputAxes[i - plan.first - plan.states], dims->size()));
        if (const auto& dims = in.type(i).dims; dims && batched && dims->size() < (walked ? 2U : 1U))
            return in.error("input " + in.type(i).text() + " has no batch axis");
    }
    const bool steady = isSteady(in, *body);
    for (std::size_t i = 0; i < in.outputs.size(); ++i) {
        in.outputs[i] = outputType(*body, i);
        keepOnly(in.outputs[i], steady);
        if (i >= plan.states)
            in.outputs[i] = withScanAxis(in.outputs[i], plan.outputAxes[i - plan.states], batched ? Dim() : scanLength(in, plan));
        if (batched)
            in.outputs[i] = withLeadingDim(in.outputs[i], Dim());
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

Result<std::int64_t> scanLength(const EvalContext& context, const ScanPlan& plan, const std::vector<Tensor>& scanned) {
    std::int64_t length = -1;
    for (std::size_t i = 0; i < scanned.size(); ++i) {
        const std::int64_t extent = scanned[i].shape()[frontAxis(plan.inputAxes[i], scanned[i].rank())];
        if (length >= 0 && extent != length)
            return context.error("its scanned inputs have different lengths");
        length = extent;
    }
    return length;
}

struct ScanRun {
    std::vector<Tensor> state;
    std::vector<ScanOutput> scans;
};

// `length` steps of the body.
Result<ScanRun> runScan(EvalContext& context, const ScanPlan& plan, const Graph& body, std::vector<Tensor> state,
                        const std::vector<Tensor>& scanned, std::int64_t length) {
    if (length > kMostBodyRuns)
        return context.error("would turn " + std::to_string(length) + " times, and at most " + std::to_string(kMostBodyRuns) + " turns are run");
    ScanRun run{std::move(state), std::vector<ScanOutput>(context.outputs.size() - plan.states)};
    for (std::int64_t step = 0; step < length; ++step) {
        std::vector<Tensor> arguments = run.state;
        for (std::size_t i = 0; i < scanned.size(); ++i)
            arguments.push_back(sliceAt(scanned[i], frontAxis(plan.inputAxes[i], scanned[i].rank()),
                                        plan.inputDirections[i] ? length - 1 - step : step));
        TS_ASSIGN(std::vector<Tensor> results, context.runBody(body, std::move(arguments)));
        std::move(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(plan.states), run.state.begin());
        for (std::size_t s = 0; s < run.scans.size(); ++s)
            TS_TRY(run.scans[s].add(context, std::move(results[plan.states + s])));
    }
    return run;
}

Status finishScan(EvalContext& context, const ScanPlan& plan, const Graph& body, ScanRun run) {
    for (std::size_t i = 0; i < plan.states; ++i)
        context.outputs[i] = std::move(run.state[i]);
    for (std::size_t s = 0; s < run.scans.size(); ++s) {
        const auto rank = static_cast<std::int64_t>(std::max<std::size_t>(run.scans[s].rank(), 1));
        const std::int64_t axis = plan.outputAxes[s];
        if (axis < -rank || axis >= rank)
            return context.error("scan output axis " + std::to_string(axis) + " is out of range");
        context.outputs[plan.states + s] = run.scans[s].joined(outputType(body, plan.states + s),
                                                              frontAxis(axis, static_cast<std::size_t>(rank)),
                                                              plan.outputDirections[s] != 0);
    }
    return {};
}

// A scan output of one example, with zeros behind the end of its sequence.
Tensor padded(const Tensor& part, std::int64_t length) {
    if (part.shape()[0] == length)
        return part;
    Shape shape = part.shape();
    shape[0] = length;
    Tensor result = Tensor::zeros(part.type(), shape);
    copyView(part, wholeView(part), result, {part.shape(), rowMajorStrides(shape), 0});
    return result;
}

Result<std::int64_t> sequenceLength(const EvalContext& context, std::int64_t example, std::int64_t longest) {
    if (!context.has(0))
        return longest;
    const Tensor& lengths = context.input(0);
    if (example >= lengths.count() || lengths.asInt(example) < 0 || lengths.asInt(example) > longest)
        return context.error("its sequence lengths do not fit the batch or sequences of " + std::to_string(longest));
    return lengths.asInt(example);
}

// One output of all examples, of which there is at least one. A sequence of no steps made nothing, and takes the shape
// of the others.
Result<Tensor> stackedExamples(const EvalContext& context, std::vector<Tensor> parts, const Tensor& ofNothing) {
    const auto made = std::ranges::find_if(parts, [](const Tensor& part) { return !part.absent(); });
    const Tensor like = made == parts.end() ? ofNothing : *made;
    ScanOutput examples;
    for (Tensor& part : parts)
        TS_TRY(examples.add(context, part.absent() ? Tensor::zeros(like.type(), like.shape()) : std::move(part)));
    return examples.joined(TensorType(like.type(), like.shape()), 0, false);
}

Status evalBatchedScan(EvalContext& context, const ScanPlan& plan, const Graph& body) {
    std::vector<std::vector<Tensor>> parts(context.outputs.size());
    const std::int64_t examples = context.input(plan.first).shape()[0];
    std::int64_t longest = 0;
    for (std::int64_t example = 0; example < examples; ++example) {
        std::vector<Tensor> state, scanned;
        for (std::size_t i = plan.first; i < context.inputs.size(); ++i) {
            const Tensor& input = context.input(i);
            if (input.shape()[0] != examples)
                return context.error("its inputs have batches of different sizes");
            (i < plan.first + plan.states ? state : scanned).push_back(sliceAt(input, 0, example));
        }
        TS_ASSIGN(longest, scanLength(context, plan, scanned));
        TS_ASSIGN(const std::int64_t length, sequenceLength(context, example, longest));
        TS_ASSIGN(ScanRun run, runScan(context, plan, body, std::move(state), scanned, length));
        for (std::size_t i = 0; i < plan.states; ++i)
            parts[i].push_back(std::move(run.state[i]));
        for (std::size_t s = 0; s < run.scans.size(); ++s)
            parts[plan.states + s].push_back(length == 0 ? Tensor() : padded(run.scans[s].joined({}, 0, false), longest));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const TensorType& declared = outputType(body, i);
        if (examples == 0) {
            context.outputs[i] = emptyScan(i < plan.states ? declared : withLeadingDim(declared, Dim(0)), 0);
            continue;
        }
        TS_ASSIGN(context.outputs[i], stackedExamples(context, std::move(parts[i]), padded(emptyScan(declared, 0), longest)));
    }
    return {};
}

Status evalScan(EvalContext& context, const std::vector<TensorType>&) {
    if (!context.runBody)
        return noRunner(context);
    const auto body = bodyOf(context.node, "body");
    const OpInputs in(context.node, context.opset, std::vector<TensorType>(context.inputs.size()), context.inputs);
    TS_ASSIGN(const ScanPlan plan, scanPlan(in, context.outputs.size()));
    if (isBatched(context.opset))
        return evalBatchedScan(context, plan, *body);
    const auto firstScanned = context.inputs.begin() + static_cast<std::ptrdiff_t>(plan.states);
    const std::vector<Tensor> scanned(firstScanned, context.inputs.end());
    TS_ASSIGN(const std::int64_t length, scanLength(context, plan, scanned));
    TS_ASSIGN(ScanRun run, runScan(context, plan, *body, {context.inputs.begin(), firstScanned}, scanned, length));
    return finishScan(context, plan, *body, std::move(run));
}

} // namespace

void registerControlFlow(OperatorList& list) {
    addMovement(list, "If", Fusion::opaque, 1, {1, 1, kVariadic}, inferIf, evalIf);
    list.back().expand = expandIf;
    addMovement(list, "Loop", Fusion::opaque, 1, {0, kVariadic, kVariadic}, inferLoop, evalLoop);
    list.back().expand = expandLoop;
    addMovement(list, "Scan", Fusion::opaque, 8, {0, kVariadic, kVariadic}, inferScan, evalScan);
    list.back().expand = expandScan;
}

} // namespace tunesmith::ops
