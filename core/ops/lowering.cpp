// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/lowering.h"

#include <algorithm>

#include "core/ops/kernel.h"

namespace tunesmith::ops {

using namespace loops;

Expr widen(const Expr& x) {
    const DType wanted = computeType(x->type);
    return wanted == x->type ? x : cast(wanted, x);
}

Expr narrow(DType type, const Expr& x) { return x->type == type ? x : cast(type, x); }

Expr read(const TensorRef& tensor, Indices indices) { return widen(load(tensor, std::move(indices))); }

Indices broadcastIndices(const Shape& operand, const Shape& output, const Indices& indices) {
    Indices own;
    const std::size_t offset = output.size() - operand.size();
    for (std::size_t i = 0; i < operand.size(); ++i)
        own.push_back(operand[i] == output[offset + i] ? indices[offset + i] : Expr(0));
    return own;
}

Expr operand(const LowerContext& context, std::size_t index, const Indices& indices) {
    const TensorRef& tensor = context.inputs[index];
    if (context.isConstant(index) && context.constant(index).count() == 1 && tensor->type != DType::boolean) {
        const DType type = computeType(tensor->type);
        return isFloat(type) ? constantOf(type, context.constant(index).asDouble(0))
                             : constantInt(type, context.constant(index).asInt(0));
    }
    return read(tensor, broadcastIndices(tensor->shape, context.outputShape(), indices));
}

void lowerElementwise(LowerContext& context, const std::string& name,
                      const std::function<Expr(const Indices&)>& body) {
    const DType type = context.outputType();
    context.finish(0, compute(name, type, context.outputShape(),
                              [&](const Indices& indices) { return narrow(type, body(indices)); }));
}

bool isLongSum(DType type, Reduction reduction, const Shape& shape, const std::vector<std::size_t>& axes) {
    constexpr std::int64_t kLong = 4096;
    return reduction == Reduction::sum && type == DType::f32 && axes.size() > 1 && countOver(shape, axes) > kLong;
}

TensorRef reduceOver(LowerContext& context, const std::string& name, DType type, Reduction reduction, const Shape& shape,
                     const std::vector<std::size_t>& axes, const std::function<Expr(const Indices&)>& body) {
    if (axes.empty())
        return context.add(compute(name, type, shape, body));
    if (isLongSum(type, reduction, shape, axes)) {
        const TensorRef part = reduceOver(context, name + "_part", DType::f64, reduction, shape, {axes.back()},
                                          [&](const Indices& i) { return cast(DType::f64, body(i)); });
        const TensorRef whole = reduceOver(context, name + "_wide", DType::f64, reduction, part->shape,
                                           {axes.begin(), axes.end() - 1}, [&](const Indices& i) { return load(part, i); });
        return context.add(compute(name, type, whole->shape, [&](const Indices& i) { return cast(type, load(whole, i)); }));
    }
    Shape kept = shape, extents;
    for (const std::size_t axis : axes) {
        kept[axis] = 1;
        extents.push_back(shape[axis]);
    }
    return context.add(reduce(name, type, kept, reduction, extents, [&](const Indices& out, const Indices& reduced) {
        Indices indices = out;
        for (std::size_t i = 0; i < axes.size(); ++i)
            indices[axes[i]] = reduced[i];
        return ReductionBody{body(indices), {}};
    }));
}

Expr readReduced(const TensorRef& tensor, Indices indices, const std::vector<std::size_t>& axes) {
    for (const std::size_t axis : axes)
        indices[axis] = Expr(0);
    return read(tensor, std::move(indices));
}

Expr isExtreme(const Expr& element, const Expr& extreme) {
    const Expr same = equal(element, extreme);
    return isFloat(element->type) ? same || unary(Op::isNan, element) : same;
}

void finishReduction(LowerContext& context, Stage stage) {
    const DType type = context.outputType();
    const TensorRef sum = context.add(std::move(stage));
    if (sum->type == type)
        context.outputs[0] = sum;
    else
        context.finish(0, compute("narrow", type, sum->shape,
                                  [&](const Indices& indices) { return narrow(type, load(sum, indices)); }));
}

std::int64_t countOver(const Shape& shape, const std::vector<std::size_t>& axes) {
    std::int64_t count = 1;
    for (const std::size_t axis : axes)
        count *= shape[axis];
    return count;
}

} // namespace tunesmith::ops
