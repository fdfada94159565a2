// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/movement.h"
#include "core/ops/rules.h"

// MaxUnpool: elements go back to where MaxPool's Indices say that they came from; everything else is zero. Indices count
// elements of the output, whose shape is `output_shape` or else what the attributes imply.
namespace tunesmith::ops {
namespace {

Result<Dims> impliedDims(const OpInputs& in) {
    const Dims& x = *in.type(0).dims;
    const std::size_t spatial = x.size() < 2 ? 0 : x.size() - 2;
    const auto list = [&](const char* name, std::size_t size, std::int64_t fallback) {
        return in.node.intsAttr(name, std::vector<std::int64_t>(size, fallback));
    };
    const auto kernel = in.node.intsAttr("kernel_shape"), strides = list("strides", spatial, 1), pads = list("pads", 2 * spatial, 0);
    if (spatial == 0 || kernel.size() != spatial || strides.size() != spatial || pads.size() != 2 * spatial)
        return in.error("kernel_shape, strides or pads do not fit input " + in.type(0).text());
    Dims dims(x.begin(), x.begin() + 2);
    for (std::size_t d = 0; d < spatial; ++d) {
        if (strides[d] < 1 || kernel[d] < 1)
            return in.error("kernel_shape and strides must be above 0");
        std::int64_t extent = 0;
        const bool tooLarge = __builtin_mul_overflow(x[d + 2].known() ? x[d + 2].extent - 1 : 0, strides[d], &extent) ||
                              __builtin_sub_overflow(extent, pads[d], &extent) ||
                              __builtin_sub_overflow(extent, pads[d + spatial], &extent) ||
                              __builtin_add_overflow(extent, kernel[d], &extent);
        if (tooLarge || (x[d + 2].known() && extent < 0))
            return in.error("its output would have no possible size");
        dims.push_back(x[d + 2].known() ? Dim(extent) : Dim());
    }
    return dims;
}

// ONNX Runtime takes any shape that has as many elements as the attributes imply, or more.
Status takeStatedShape(InferContext& in, const Dims& implied) {
    TS_TRY(requireType(in, 2, [](DType type) { return type == DType::i64; }, "int64"));
    in.outputs[0].dims = Dims(implied.size());
    if (!in.isConstant(2))
        return {};
    const Shape stated = in.constant(2).asInts();
    const auto count = checkedElementCount(stated);
    if (stated.size() != implied.size() || !count)
        return in.error("output_shape " + shapeText(stated) + " does not fit input " + in.type(0).text());
    in.outputs[0].dims = knownDims(stated);
    const TensorType covered(in.type(0).dtype, implied);
    const auto least = covered.isStatic() ? checkedElementCount(covered.shape()) : 0;
    if (!least || *count < *least)
        return in.error("output_shape " + shapeText(stated) + " has fewer elements than the kernel covers");
    return {};
}

Status inferMaxUnpool(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireType(in, 1, [](DType type) { return type == DType::i64; }, "int64"));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(const Dims implied, impliedDims(in));
    if (in.type(1).dims && in.type(1).isStatic() && in.type(0).isStatic() && in.type(1).shape() != in.type(0).shape())
        return pairError(in, 0, 1, "do not fit: every element needs its index");
    if (in.has(2))
        return takeStatedShape(in, implied);
    in.outputs[0].dims = implied;
    return {};
}

Status evalMaxUnpool(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& x = context.input(0);
    Tensor result = Tensor::zeros(x.type(), types[0].shape());
    const auto where = context.input(1).data<std::int64_t>();
    for (const std::int64_t index : where)
        if (index < 0 || index >= result.count())
            return context.error("index " + std::to_string(index) + " is out of range for " + std::to_string(result.count()) +
                                 " elements");
    visitWidth(x.type(), [&](auto tag) {
        using T = decltype(tag);
        for (std::size_t i = 0; i < where.size(); ++i)
            rawData<T>(result)[where[i]] = rawData<T>(x)[i];
    });
    context.outputs[0] = std::move(result);
    return {};
}

} // namespace

void registerMaxUnpool(OperatorList& list) {
    addMovement(list, "MaxUnpool", Fusion::opaque, 9, {2, 3}, inferMaxUnpool, evalMaxUnpool);
}

} // namespace tunesmith::ops
