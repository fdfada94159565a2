// SPDX-License-Identifier: GPL-3.0-or-later
// Operators on sequences and optional values.
#include "core/ops/containers.h"

#include <algorithm>
#include <map>

#include "core/ops/body_types.h"
#include "core/ops/evaluate_node.h"
#include "core/ops/expand_sequences.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith {
namespace ops {
namespace {

using Kind = OpaqueType::Kind;

TensorType elementOf(const TensorType& type) { return type.is(Kind::sequence) ? *type.opaque->element : TensorType(); }

Status requireSequence(const OpInputs& in) {
    const TensorType& type = in.type(0);
    const bool unknown = !type.opaque && type.dtype == DType::undefined;
    return unknown || type.is(Kind::sequence) ? Status() : Status(in.error("wants a sequence, not " + type.text()));
}

Status requirePlace(const OpInputs& in, std::size_t input) { return in.has(input) ? requireIndexType(in, input) : Status(); }

// A place in a sequence, counted from the back when it is negative; `end` may be one behind the last.
Result<std::size_t> placeIn(const EvalContext& context, std::size_t input, std::size_t end, std::size_t byDefault) {
    if (!context.has(input))
        return byDefault;
    const Tensor& position = context.input(input);
    if (position.count() != 1)
        return context.error("the place in the sequence must be one number");
    const std::int64_t size = static_cast<std::int64_t>(context.input(0).elements().size()), place = position.asInt(0);
    const std::int64_t front = place < 0 ? place + size : place;
    if (front < 0 || front >= static_cast<std::int64_t>(end))
        return context.error("place " + std::to_string(place) + " is not in a sequence of " + std::to_string(size));
    return static_cast<std::size_t>(front);
}

Status inferSequenceEmpty(InferContext& in) {
    const DType type = dtypeFromNumber(in.node.intAttr("dtype", 1));
    if (type == DType::undefined)
        return in.unsupported("dtype " + std::to_string(in.node.intAttr("dtype", 1)) + " is no element type that is known");
    in.outputs[0] = TensorType::sequenceOf(TensorType(type));
    return {};
}
Status evalSequenceEmpty(EvalContext& context) {
    context.outputs[0] = Tensor::sequence({});
    return {};
}

Status inferSequenceConstruct(InferContext& in) {
    TensorType element = in.type(0);
    for (std::size_t i = 1; i < in.count(); ++i)
        element = commonType(element, in.type(i));
    in.outputs[0] = TensorType::sequenceOf(element);
    return {};
}
Status evalSequenceConstruct(EvalContext& context) {
    context.outputs[0] = Tensor::sequence(context.inputs);
    return {};
}

Status inferSequenceInsert(InferContext& in) {
    TS_TRY(requireSequence(in));
    TS_TRY(requirePlace(in, 2));
    const TensorType element = elementOf(in.type(0));
    in.outputs[0] = TensorType::sequenceOf(element.dtype == DType::undefined ? in.type(1) : commonType(element, in.type(1)));
    return {};
}
Status evalSequenceInsert(EvalContext& context) {
    std::vector<Tensor> elements = context.input(0).elements();
    TS_ASSIGN(const std::size_t place, placeIn(context, 2, elements.size() + 1, elements.size()));
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place), context.input(1));
    context.outputs[0] = Tensor::sequence(std::move(elements));
    return {};
}

Status inferSequenceErase(InferContext& in) {
    TS_TRY(requireSequence(in));
    TS_TRY(requirePlace(in, 1));
    in.outputs[0] = in.type(0);
    return {};
}
Status evalSequenceErase(EvalContext& context) {
    std::vector<Tensor> elements = context.input(0).elements();
    if (elements.empty())
        return context.error("nothing can be taken out of an empty sequence");
    TS_ASSIGN(const std::size_t place, placeIn(context, 1, elements.size(), elements.size() - 1));
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
    context.outputs[0] = Tensor::sequence(std::move(elements));
    return {};
}

Status inferSequenceAt(InferContext& in) {
    TS_TRY(requireSequence(in));
    TS_TRY(requirePlace(in, 1));
    in.outputs[0] = elementOf(in.type(0));
    return {};
}
Status evalSequenceAt(EvalContext& context) {
    TS_ASSIGN(const std::size_t place, placeIn(context, 1, context.input(0).elements().size(), 0));
    context.outputs[0] = context.input(0).elements()[place];
    return {};
}

Status inferSequenceLength(InferContext& in) {
    TS_TRY(requireSequence(in));
    in.outputs[0] = TensorType(DType::i64, Shape{});
    return {};
}
Status evalSequenceLength(EvalContext& context) {
    context.outputs[0] = Tensor::scalar(static_cast<std::int64_t>(context.input(0).elements().size()));
    return {};
}

Status inferSplitToSequence(InferContext& in) {
    if (in.has(1))
        TS_TRY(requireIndexType(in, 1));
    TensorType element = in.type(0);
    if (element.dims) {
        TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), element.dims->size()));
        if (in.has(1))
            (*element.dims)[axis] = Dim();
        else if (in.node.intAttr("keepdims", 1) != 0)
            (*element.dims)[axis] = Dim(1);
        else
            element.dims->erase(element.dims->begin() + static_cast<std::ptrdiff_t>(axis));
    }
    in.outputs[0] = TensorType::sequenceOf(std::move(element));
    return {};
}

// The part of a tensor from `start` on along an axis.
Tensor partOf(const Tensor& tensor, std::size_t axis, std::int64_t start, std::int64_t extent) {
    View view = wholeView(tensor);
    view.offset = start * view.strides[axis];
    view.shape[axis] = extent;
    return gatherView(tensor, view, view.shape);
}

Status evalSplitToSequence(EvalContext& context) {
    const Tensor& data = context.input(0);
    if (data.type() == DType::string)
        return unsupportedError(context.error("sequences of parts of strings are not supported").message);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), data.rank());
    const auto sizes = splitSizes(context.has(1) ? context.input(1) : Tensor(), data.shape()[axis]);
    if (!sizes)
        return context.error("the sizes of its parts do not fit an extent of " + std::to_string(data.shape()[axis]));
    std::vector<Tensor> parts;
    std::int64_t start = 0;
    for (const std::int64_t size : *sizes) {
        Tensor part = partOf(data, axis, start, size);
        Shape shape = part.shape();
        if (!context.has(1) && context.node.intAttr("keepdims", 1) == 0)
            shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
        parts.push_back(part.reshaped(std::move(shape)));
        start += size;
    }
    context.outputs[0] = Tensor::sequence(std::move(parts));
    return {};
}

Status inferConcatFromSequence(InferContext& in) {
    TS_TRY(requireSequence(in));
    TensorType type = elementOf(in.type(0));
    if (type.dims) {
        const bool fresh = in.node.intAttr("new_axis", 0) != 0;
        TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), type.dims->size() + (fresh ? 1 : 0)));
        if (fresh)
            type.dims->insert(type.dims->begin() + static_cast<std::ptrdiff_t>(axis), Dim());
        else
            (*type.dims)[axis] = Dim();
    }
    in.outputs[0] = std::move(type);
    return {};
}

// As Concat does it, which checks what fits.
Status evalConcatFromSequence(EvalContext& context) {
    std::vector<Tensor> parts = context.input(0).elements();
    if (parts.empty())
        return context.error("an empty sequence cannot be joined");
    const bool fresh = context.node.intAttr("new_axis", 0) != 0;
    const std::int64_t axis = context.node.intAttr("axis", 0), rank = static_cast<std::int64_t>(parts[0].rank()) + (fresh ? 1 : 0);
    if (axis < -rank || axis >= rank)
        return context.error("axis " + std::to_string(axis) + " is out of range");
    const std::size_t front = frontAxis(axis, static_cast<std::size_t>(rank));
    for (Tensor& part : parts)
        if (Shape shape = part.shape(); fresh && shape.size() >= front) {
            shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(front), 1);
            part = part.reshaped(std::move(shape));
        }
    Node concat;
    concat.name = context.node.name;
    concat.op = "Concat";
    for (std::size_t i = 0; i < parts.size(); ++i)
        concat.inputs.emplace_back(static_cast<std::int64_t>(i));
    concat.outputs = {ValueId(static_cast<std::int64_t>(parts.size()))};
    concat.attributes["axis"] = static_cast<std::int64_t>(front);
    TS_ASSIGN(std::vector<Tensor> joined, evaluateNode(concat, context.opset, parts));
    context.outputs[0] = std::move(joined[0]);
    return {};
}

Status inferOptional(InferContext& in) {
    in.outputs[0] = in.count() > 0 && in.has(0) ? TensorType::optionalOf(in.type(0)) : TensorType::optionalOf({});
    return {};
}
Status evalOptional(EvalContext& context) {
    context.outputs[0] = context.has(0) ? context.input(0) : Tensor::nothing();
    return {};
}

Status inferOptionalHasElement(InferContext& in) {
    in.outputs[0] = TensorType(DType::boolean, Shape{});
    return {};
}
Status evalOptionalHasElement(EvalContext& context) {
    context.outputs[0] = Tensor::scalar(context.has(0) && !context.input(0).isNothing());
    return {};
}

Status inferOptionalGetElement(InferContext& in) {
    in.outputs[0] = in.type(0).is(Kind::optional) ? *in.type(0).opaque->element : in.type(0);
    return {};
}
Status evalOptionalGetElement(EvalContext& context) {
    if (context.input(0).isNothing())
        return context.error("the optional value holds nothing");
    context.outputs[0] = context.input(0);
    return {};
}

Status inferSequenceMap(InferContext& in) {
    TS_TRY(requireSequence(in));
    const auto body = in.subgraph("body");
    if (!body || body->inputs().size() != in.count() || body->outputs().size() < in.outputs.size())
        return in.error("its body does not fit its inputs and outputs");
    for (std::size_t i = 0; i < in.outputs.size(); ++i)
        in.outputs[i] = TensorType::sequenceOf(body->value(body->outputs()[i]).type);
    return {};
}
Status evalSequenceMap(EvalContext& context) {
    const auto body = std::get<std::shared_ptr<const Graph>>(context.node.attributes.at("body"));
    if (!context.runBody)
        return context.error("control flow cannot be evaluated here");
    std::vector<std::vector<Tensor>> results(context.outputs.size());
    for (std::size_t turn = 0; turn < context.input(0).elements().size(); ++turn) {
        std::vector<Tensor> arguments;
        for (const Tensor& input : context.inputs) {
            if (input.isSequence() && turn >= input.elements().size())
                return context.error("its sequences have different lengths");
            arguments.push_back(input.isSequence() ? input.elements()[turn] : input);
        }
        TS_ASSIGN(std::vector<Tensor> given, context.runBody(*body, std::move(arguments)));
        for (std::size_t i = 0; i < results.size(); ++i)
            results[i].push_back(std::move(given[i]));
    }
    for (std::size_t i = 0; i < results.size(); ++i)
        context.outputs[i] = Tensor::sequence(std::move(results[i]));
    return {};
}

void add(OperatorList& list, const std::string& name, std::int64_t sinceOpset, std::size_t fewest, std::size_t most,
         std::function<Status(InferContext&)> infer, std::function<Status(EvalContext&)> eval) {
    Operator op;
    op.name = name;
    op.sinceOpset = sinceOpset;
    op.infer = [fewest, most, rule = std::move(infer)](InferContext& in) -> Status {
        if (in.count() < fewest || in.count() > most || in.outputs.empty())
            return in.error("has " + std::to_string(in.count()) + " inputs and " + std::to_string(in.outputs.size()) + " outputs");
        for (std::size_t i = 0; i < fewest; ++i)
            if (!in.has(i))
                return in.error("input " + std::to_string(i) + " is missing");
        return rule(in);
    };
    op.eval = std::move(eval);
    list.push_back(std::move(op));
}

} // namespace

std::optional<std::vector<std::int64_t>> splitSizes(const Tensor& split, std::int64_t extent) {
    constexpr std::int64_t kMostParts = 1 << 20;
    if (split.absent() || split.rank() == 0) {
        const std::int64_t size = split.absent() ? 1 : split.asInt(0);
        if (size < 1 || extent / size > kMostParts)
            return std::nullopt;
        std::vector<std::int64_t> sizes(static_cast<std::size_t>(extent / size), size);
        if (extent % size > 0)
            sizes.push_back(extent % size);
        return sizes;
    }
    std::vector<std::int64_t> sizes = split.asInts();
    std::int64_t left = extent;
    for (const std::int64_t size : sizes) {
        if (size < 0 || size > left)
            return std::nullopt;
        left -= size;
    }
    return left == 0 ? std::optional(std::move(sizes)) : std::nullopt;
}

void registerContainers(OperatorList& list) {
    constexpr std::size_t any = static_cast<std::size_t>(-1);
    add(list, "SequenceEmpty", 11, 0, 0, inferSequenceEmpty, evalSequenceEmpty);
    add(list, "SequenceConstruct", 11, 1, any, inferSequenceConstruct, evalSequenceConstruct);
    add(list, "SequenceInsert", 11, 2, 3, inferSequenceInsert, evalSequenceInsert);
    add(list, "SequenceErase", 11, 1, 2, inferSequenceErase, evalSequenceErase);
    add(list, "SequenceAt", 11, 2, 2, inferSequenceAt, evalSequenceAt);
    add(list, "SequenceLength", 11, 1, 1, inferSequenceLength, evalSequenceLength);
    add(list, "SplitToSequence", 11, 1, 2, inferSplitToSequence, evalSplitToSequence);
    add(list, "ConcatFromSequence", 11, 1, 1, inferConcatFromSequence, evalConcatFromSequence);
    add(list, "SequenceMap", 17, 1, any, inferSequenceMap, evalSequenceMap);
    add(list, "Optional", 15, 0, 1, inferOptional, evalOptional);
    add(list, "OptionalHasElement", 15, 0, 1, inferOptionalHasElement, evalOptionalHasElement);
    add(list, "OptionalGetElement", 15, 1, 1, inferOptionalGetElement, evalOptionalGetElement);
}

} // namespace ops

namespace {

constexpr std::size_t kAny = static_cast<std::size_t>(-1);

// Operators on sequences and optional values, and which of their inputs may be ones: from `first` on, before `end`.
struct ContainerInputs {
    std::size_t first, end;
};
const std::map<std::string, ContainerInputs>& containerInputs() {
    static const std::map<std::string, ContainerInputs> inputs = {
        {"SequenceEmpty", {0, 0}},      {"SequenceConstruct", {0, kAny}}, {"SequenceInsert", {0, 2}},
        {"SequenceErase", {0, 1}},      {"SequenceAt", {0, 1}},           {"SequenceLength", {0, 1}},
        {"SplitToSequence", {0, 0}},    {"ConcatFromSequence", {0, 1}},   {"SequenceMap", {0, kAny}},
        {"Optional", {0, 1}},           {"OptionalHasElement", {0, 1}},   {"OptionalGetElement", {0, 1}},
        {"Identity", {0, 1}},           {"If", {0, 0}},                   {"Loop", {2, kAny}}};
    return inputs;
}

} // namespace

TensorType typeOf(const Tensor& value) {
    if (value.isNothing())
        return TensorType::optionalOf({});
    if (!value.isSequence())
        return value.absent() ? TensorType() : TensorType(value.type(), value.shape());
    TensorType element = value.elements().empty() ? TensorType() : typeOf(value.elements().front());
    for (const Tensor& other : value.elements())
        element = commonType(element, typeOf(other));
    return TensorType::sequenceOf(std::move(element));
}

bool takesContainers(const Node& node) { return node.domain.empty() && containerInputs().contains(node.op); }

bool takesContainers(const Node& node, std::size_t input) {
    if (!takesContainers(node))
        return false;
    const auto [first, end] = containerInputs().at(node.op);
    return input >= first && input < end;
}

bool isOfType(const Tensor& value, const TensorType& type) {
    if (type.is(OpaqueType::Kind::optional))
        return value.isNothing() || isOfType(value, *type.opaque->element);
    if (type.opaque)
        return type.is(OpaqueType::Kind::sequence) && value.isSequence();
    if (type.dtype == DType::undefined && !type.dims)
        return true;
    if (value.isSequence() || value.isNothing() || (type.dtype != DType::undefined && type.dtype != value.type()))
        return false;
    if (!type.dims)
        return true;
    if (type.dims->size() != value.rank())
        return false;
    for (std::size_t i = 0; i < value.rank(); ++i)
        if ((*type.dims)[i].known() && (*type.dims)[i].extent != value.shape()[i])
            return false;
    return true;
}

} // namespace tunesmith
