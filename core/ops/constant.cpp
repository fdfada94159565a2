// SPDX-License-Identifier: GPL-3.0-or-later
// Values made from attributes and shapes: Constant, ConstantOfShape, Shape, Size, Range, EyeLike.
#include <algorithm>
#include <cmath>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

template <class T> bool isList(const Node& node, const char* key) {
    const auto found = node.attributes.find(key);
    return found != node.attributes.end() && std::holds_alternative<T>(found->second);
}

const Tensor* tensorAttribute(const Node& node, const char* key) {
    const auto found = node.attributes.find(key);
    return found == node.attributes.end() ? nullptr : std::get_if<Tensor>(&found->second);
}

Tensor constantValue(const Node& node) {
    if (const Tensor* value = tensorAttribute(node, "value"))
        return *value;
    if (isList<float>(node, "value_float"))
        return Tensor::scalar(node.floatAttr("value_float", 0));
    if (isList<std::int64_t>(node, "value_int"))
        return Tensor::scalar(node.intAttr("value_int", 0));
    if (isList<std::string>(node, "value_string"))
        return Tensor::ofStrings({}, {node.stringAttr("value_string")});
    if (isList<std::vector<std::int64_t>>(node, "value_ints"))
        return Tensor::ofInts(node.intsAttr("value_ints"));
    if (isList<std::vector<float>>(node, "value_floats")) {
        const auto values = node.floatsAttr("value_floats");
        return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
    }
    const auto strings = node.attributes.find("value_strings");
    if (strings != node.attributes.end())
        if (const auto* texts = std::get_if<std::vector<std::string>>(&strings->second))
            return Tensor::ofStrings({static_cast<std::int64_t>(texts->size())}, *texts);
    return {};
}

Status inferConstant(InferContext& in) {
    const Tensor value = constantValue(in.node);
    if (value.absent())
        return in.unsupported(in.node.has("sparse_value") ? "sparse values are not supported" : "has no value");
    in.outputs[0] = TensorType(value.type(), value.shape());
    in.values[0] = value;
    return {};
}

Status evalConstant(EvalContext& context, const std::vector<TensorType>&) {
    context.outputs[0] = constantValue(context.node);
    return {};
}

Tensor fillValue(const Node& node) {
    const Tensor* value = tensorAttribute(node, "value");
    return value ? *value : Tensor::scalar(0.0f);
}

Status inferConstantOfShape(InferContext& in) {
    const Tensor fill = fillValue(in.node);
    if (fill.count() != 1 || fill.type() == DType::string)
        return in.error("its value must be one number");
    TS_TRY(requireIndexType(in, 0));
    in.outputs[0].dtype = fill.type();
    if (in.isConstant(0)) {
        const Shape shape = in.constant(0).asInts();
        if (!checkedElementCount(shape))
            return in.error("cannot make a tensor of shape " + shapeText(shape));
        in.outputs[0].dims = knownDims(shape);
    } else if (in.type(0).dims && in.type(0).dims->size() == 1 && in.type(0).dims->front().known()) {
        TS_ASSIGN(in.outputs[0].dims, openDims(in, 0));
    }
    return {};
}

Status evalConstantOfShape(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor fill = fillValue(context.node);
    const Shape shape = types[0].shape();
    context.outputs[0] = gatherView(fill, {shape, Shape(shape.size(), 0), 0}, shape);
    return {};
}

Status lowerConstantOfShape(LowerContext& context) {
    context.finish(0, loops::compute("fill", context.outputType(), context.outputShape(), [&](const loops::Indices&) {
        return elementConstant(fillValue(context.node));
    }));
    return {};
}

std::pair<std::int64_t, std::int64_t> shapeRange(const Node& node, std::size_t dimensions) {
    const auto rank = static_cast<std::int64_t>(dimensions);
    const auto front = [&](std::int64_t axis) { return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
    const std::int64_t start = front(node.intAttr("start", 0));
    return {start, std::max(start, front(node.intAttr("end", rank)))};
}

Status inferShape(InferContext& in) {
    in.outputs[0] = TensorType(DType::i64, Dims(1));
    if (!in.type(0).dims)
        return {};
    const auto [start, end] = shapeRange(in.node, in.type(0).dims->size());
    in.outputs[0].dims->front() = end - start;
    std::vector<std::int64_t> extents;
    for (std::int64_t d = start; d < end; ++d)
        extents.push_back((*in.type(0).dims)[d].extent);
    if (std::count(extents.begin(), extents.end(), -1) == 0)
        in.values[0] = Tensor::ofInts(extents);
    return {};
}

Status evalShape(EvalContext& context, const std::vector<TensorType>&) {
    const Shape& shape = context.input(0).shape();
    const auto [start, end] = shapeRange(context.node, shape.size());
    context.outputs[0] = Tensor::ofInts(Shape(shape.begin() + start, shape.begin() + end));
    return {};
}

Status inferSize(InferContext& in) {
    in.outputs[0] = TensorType(DType::i64, Dims());
    if (!in.type(0).isStatic())
        return {};
    const auto count = checkedElementCount(in.type(0).shape());
    if (!count)
        return in.error("its input " + in.type(0).text() + " is too large");
    in.values[0] = Tensor::scalar(*count);
    return {};
}

Status evalSize(EvalContext& context, const std::vector<TensorType>&) {
    context.outputs[0] = Tensor::scalar(context.input(0).count());
    return {};
}

Result<std::int64_t> rangeLength(const OpInputs& in) {
    for (std::size_t i = 0; i < 3; ++i)
        if (in.constant(i).count() != 1)
            return in.error("start, limit and delta must be single numbers");
    const Tensor &start = in.constant(0), &limit = in.constant(1), &delta = in.constant(2);
    if (delta.asDouble(0) == 0)
        return in.error("its step is 0");
    double length = std::ceil((limit.asDouble(0) - start.asDouble(0)) / delta.asDouble(0));
    if (isInteger(start.type())) {
        const std::int64_t step = delta.asInt(0);
        std::int64_t span = 0, negated = 0;
        if (__builtin_sub_overflow(limit.asInt(0), start.asInt(0), &span) || __builtin_sub_overflow(std::int64_t{0}, span, &negated))
            return in.error("its result is too large"); // by a step of -1 there is no quotient
        length = static_cast<double>(span / step + (span % step != 0 && (span < 0) == (step < 0)));
    }
    if (!(length < 1e12))
        return in.error("its result is too large");
    return static_cast<std::int64_t>(std::max(length, 0.0));
}

Status inferRange(InferContext& in) {
    TS_TRY(requireSameType(in, 0, 1));
    TS_TRY(requireSameType(in, 0, 2));
    TS_TRY(requireNumeric(in, 0));
    in.outputs[0] = TensorType(in.type(0).dtype, Dims(1));
    if (!in.isConstant(0) || !in.isConstant(1) || !in.isConstant(2))
        return {};
    TS_ASSIGN(in.outputs[0].dims->front(), rangeLength(in));
    return {};
}

Status evalRange(EvalContext& context, const std::vector<TensorType>& types) {
    const std::int64_t count = types[0].dims->front().extent;
    const DType type = context.input(0).type();
    Tensor values = Tensor::zeros(isFloat(type) && type != DType::f64 ? DType::f32 : type, {count});
    visitNumeric(values.type(), [&](auto tag) {
        using T = decltype(tag);
        const Tensor start = context.input(0).cast(values.type()), delta = context.input(2).cast(values.type());
        const T first = start.data<T>()[0], step = delta.data<T>()[0];
        for (std::int64_t i = 0; i < count; ++i)
            values.mutableData<T>()[i] = static_cast<T>(first + static_cast<T>(i) * step);
    });
    context.outputs[0] = values.cast(type);
    return {};
}

Status inferEyeLike(InferContext& in) {
    in.outputs[0] = in.type(0);
    const bool stated = in.node.has("dtype");
    if (stated)
        in.outputs[0].dtype = dtypeFromNumber(in.node.intAttr("dtype", 1));
    if (bitSize(in.outputs[0].dtype) == 0 && (stated || in.outputs[0].dtype != DType::undefined))
        return in.unsupported("cannot make elements of its type");
    if (in.type(0).dims && in.type(0).dims->size() != 2)
        return in.error("wants a matrix, not " + in.type(0).text());
    return {};
}

Status evalEyeLike(EvalContext& context, const std::vector<TensorType>& types) {
    const Shape shape = types[0].shape();
    Tensor eye = Tensor::zeros(DType::u8, shape);
    const std::int64_t k = context.node.intAttr("k", 0);
    for (std::int64_t row = 0; row < shape[0]; ++row)
        if (k >= -row && k < shape[1] - row)
            eye.mutableData<std::uint8_t>()[row * shape[1] + row + k] = 1;
    context.outputs[0] = eye.cast(types[0].dtype);
    return {};
}

Status lowerEyeLike(LowerContext& context) {
    const DType type = context.outputType();
    context.finish(0, loops::compute("eye", type, context.outputShape(), [&](const loops::Indices& i) {
        const loops::Expr k(context.node.intAttr("k", 0));
        return loops::select(loops::equal(i[1] - i[0], k), oneOf(type), zeroOf(type));
    }));
    return {};
}

} // namespace

void registerConstant(OperatorList& list) {
    addMovement(list, "Constant", Fusion::opaque, 1, {0, 0}, inferConstant, evalConstant);
    addMovement(list, "ConstantOfShape", Fusion::injective, 9, {1, 1}, inferConstantOfShape, evalConstantOfShape,
                lowerConstantOfShape);
    addMovement(list, "Shape", Fusion::opaque, 1, {1, 1}, inferShape, evalShape);
    addMovement(list, "Size", Fusion::opaque, 1, {1, 1}, inferSize, evalSize);
    addMovement(list, "Range", Fusion::opaque, 11, {3, 3}, inferRange, evalRange);
    addMovement(list, "EyeLike", Fusion::injective, 9, {1, 1}, inferEyeLike, evalEyeLike, lowerEyeLike);
}

} // namespace tunesmith::ops
