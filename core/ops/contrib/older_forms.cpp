// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/contrib/contrib.h"
#include "core/ops/movement.h"

// Operators that ONNX has in another form: ExpandDims (Unsqueeze), Range, whose step may be left out, Unique,
// which keeps the order of first occurrences, UnfoldTensor, windows along an axis, and
// ConvTransposeWithDynamicPads, whose pads are an input.
namespace tunesmith::ops {
namespace {

Status inferExpandDims(InferContext& in) {
    TS_TRY(requireInt32(in, 1));
    TS_TRY(requireOneElement(in, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims || !in.isConstant(1))
        return {};
    Dims dims = *in.type(0).dims;
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.constant(1).asInt(0), dims.size() + 1));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), Dim(1));
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalExpandDims(EvalContext& context, const std::vector<TensorType>& types) {
    context.outputs[0] = context.input(0).reshaped(types[0].shape());
    return {};
}

Status expandExpandDims(ExpandContext& context) {
    if (!context.isConstant(1) || !context.type(0).dims)
        return context.unsupported("its axis is known when it runs");
    TS_ASSIGN(const std::size_t axis,
              frontAxis(context, context.constant(1).asInt(0), context.type(0).dims->size() + 1));
    context.outputs[0] = context.unsqueeze(context.node.inputs[0], static_cast<std::int64_t>(axis));
    return {};
}

// Range with all of ONNX's inputs; the step has no value where its type is not known.
struct FullRange {
    Node node;
    std::vector<Tensor> values;
    FullRange(const Node& own, std::vector<Tensor> given, DType type) : node(own), values(std::move(given)) {
        node.inputs.resize(3);
        values.resize(3);
        if (!node.inputs[2].valid()) {
            node.inputs[2] = node.inputs[0];
            values[2] = type == DType::undefined ? Tensor() : Tensor::scalar(1.0).cast(type);
        }
    }
};

Status inferContribRange(InferContext& in) {
    TS_TRY(requireInputs(in, {0, 1}));
    TS_TRY(requireNumeric(in, 0));
    KnownInputs known(in, 3);
    known.types.resize(3);
    if (!in.has(2))
        known.types[2] = TensorType(in.type(0).dtype, Dims());
    const FullRange full(in.node, std::move(known.constants), in.type(0).dtype);
    InferContext range(full.node, in.opset, std::move(known.types), full.values);
    range.outputs = in.outputs;
    TS_TRY(inferAs(range, "Range", 3));
    in.outputs = std::move(range.outputs);
    return {};
}

Status evalContribRange(EvalContext& context, const std::vector<TensorType>&) {
    const FullRange full(context.node, context.inputs, context.input(0).type());
    EvalContext range(full.node, context.opset, full.values);
    TS_TRY(evalAs(range, "Range", 3));
    context.outputs = std::move(range.outputs);
    return {};
}

Status inferContribUnique(InferContext& in) {
    TS_TRY(requireRank(in, 0, 1, "a list of elements"));
    in.outputs[0] = TensorType(in.type(0).dtype, Dims(1));
    for (std::size_t i = 1; i < in.outputs.size(); ++i)
        in.outputs[i] = TensorType(DType::i64, Dims(1));
    if (in.outputs.size() > 1)
        in.outputs[1].dims = in.type(0).dims;
    return {};
}

// ONNX's outputs are the elements, where they stand first, which one each element is, and how often they
// occur.
Status evalContribUnique(EvalContext& context, const std::vector<TensorType>&) {
    Node node = context.node;
    node.attributes = {{"sorted", std::int64_t{0}}};
    node.outputs.assign(4, context.node.outputs[0]);
    EvalContext unique(node, context.opset, context.inputs);
    TS_TRY(evalAs(unique, "Unique", 1));
    constexpr std::size_t kFrom[] = {0, 2, 3};
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        context.outputs[i] = unique.outputs[kFrom[i]];
    return {};
}

// UnfoldTensor: windows of `size` elements, `step` apart, whose elements are the last dimension. A step
// beyond the axis counts as the axis: only the first window fits.
struct Windows {
    std::int64_t size, step, count;
    Windows(const Node& node, std::int64_t extent)
        : size(node.intAttr("size", 0)),
          step(std::min(node.intAttr("step", 1), std::max<std::int64_t>(extent, 1))),
          count(step > 0 ? (extent - size) / step + 1 : 0) {}
};

Status inferUnfold(InferContext& in) {
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("dim", -1), dims.size()));
    const bool known = dims[axis].known();
    const Windows windows(in.node, known ? dims[axis].extent : 0);
    if (windows.size < 1 || windows.step < 1 || (known && dims[axis].extent < windows.size))
        return in.error("windows of " + std::to_string(windows.size) + " elements, " +
                        std::to_string(windows.step) + " apart, do not fit " + in.type(0).text());
    dims[axis] = known ? Dim(windows.count) : Dim();
    dims.push_back(Dim(windows.size));
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalUnfold(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& x = context.input(0);
    const std::size_t axis = frontAxis(context.node.intAttr("dim", -1), x.rank());
    View view{types[0].shape(), rowMajorStrides(x.shape())};
    view.strides.push_back(view.strides[axis]);
    view.strides[axis] *= Windows(context.node, x.shape()[axis]).step;
    context.outputs[0] = gatherView(x, view, view.shape);
    return {};
}

Status expandUnfold(ExpandContext& context) {
    const Shape shape = context.type(0).shape();
    const auto axis = static_cast<std::int64_t>(frontAxis(context.node.intAttr("dim", -1), shape.size()));
    const Windows windows(context.node, shape[static_cast<std::size_t>(axis)]);
    TS_TRY(context.requireAtMost(ExpandContext::kMostPlaces, windows.count * windows.size, "places"));
    Tensor places = Tensor::zeros(DType::i64, {windows.count, windows.size});
    for (std::int64_t i = 0; i < places.count(); ++i)
        places.mutableData<std::int64_t>()[static_cast<std::size_t>(i)] = i / windows.size * windows.step + i % windows.size;
    std::vector<std::int64_t> order;
    for (std::int64_t d = 0; d <= std::ssize(shape); ++d)
        if (d != axis + 1)
            order.push_back(d);
    order.push_back(axis + 1);
    const ValueId indices = context.addConstant(std::move(places));
    context.outputs[0] =
        context.transpose(context.add("Gather", {context.node.inputs[0], indices}, {{"axis", axis}}), order);
    return {};
}

constexpr std::size_t kDynamicPads = 2, kTransposedBias = 3;

// ConvTranspose with the pads as its attribute and the bias behind the weights.
Node paddedNode(const Node& own, const Tensor& pads) {
    Node node = own;
    if (!pads.absent())
        node.attributes["pads"] = pads.asInts();
    node.inputs.erase(node.inputs.begin() + std::min<std::ptrdiff_t>(kDynamicPads, std::ssize(node.inputs)),
                      node.inputs.begin() +
                          std::min<std::ptrdiff_t>(kTransposedBias, std::ssize(node.inputs)));
    return node;
}

Status inferDynamicPads(InferContext& in) {
    TS_TRY(requireInputs(in, {0, 1}));
    if (in.has(kDynamicPads))
        TS_TRY(requireType(
            in, kDynamicPads, [](DType type) { return type == DType::i64; }, "int64"));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (in.has(kDynamicPads) && !in.isConstant(kDynamicPads))
        return {};
    const Node node = paddedNode(in.node, in.isConstant(kDynamicPads) ? in.constant(kDynamicPads) : Tensor());
    std::vector<TensorType> types{in.type(0), in.type(1)};
    if (in.has(kTransposedBias))
        types.push_back(in.type(kTransposedBias));
    const std::size_t count = types.size();
    InferContext conv(node, in.opset, std::move(types), std::vector<Tensor>(count));
    conv.outputs = in.outputs;
    TS_TRY(inferAs(conv, "ConvTranspose", count));
    in.outputs = std::move(conv.outputs);
    return {};
}

Status evalDynamicPads(EvalContext& context) {
    const Node node =
        paddedNode(context.node, context.has(kDynamicPads) ? context.input(kDynamicPads) : Tensor());
    std::vector<Tensor> inputs{context.input(0), context.input(1)};
    if (context.has(kTransposedBias))
        inputs.push_back(context.input(kTransposedBias));
    EvalContext conv(node, context.opset, inputs);
    TS_TRY(evalAs(conv, "ConvTranspose", inputs.size()));
    context.outputs = std::move(conv.outputs);
    return {};
}

Status expandDynamicPads(ExpandContext& context) {
    const bool given = context.has(kDynamicPads);
    if (given && !context.isConstant(kDynamicPads))
        return context.unsupported("its pads are known when it runs");
    const Node node = paddedNode(context.node, given ? context.constant(kDynamicPads) : Tensor());
    context.outputs[0] = context.add("ConvTranspose", node.inputs, node.attributes);
    return {};
}

} // namespace

void registerContribOlderForms(OperatorList& list) {
    const auto move = [&list](const char* name, const Arity& arity, const InferRule& infer,
                              const MoveKernel& kernel) {
        addMovement(list, name, Fusion::opaque, 1, arity, infer, kernel);
        list.back().domain = kMicrosoft;
    };
    move("ExpandDims", {2, 2}, inferExpandDims, evalExpandDims);
    list.back().expand = expandExpandDims;
    move("Range", {2, 3}, inferContribRange, evalContribRange);
    move("Unique", {1, 1, 3}, inferContribUnique, evalContribUnique);
    move("UnfoldTensor", {1, 1}, inferUnfold, evalUnfold);
    addExpansion(list, expandUnfold);
    addExpanded(list, "ConvTransposeWithDynamicPads", {2, 4}, inferDynamicPads, evalDynamicPads,
                expandDynamicPads);
}

} // namespace tunesmith::ops
