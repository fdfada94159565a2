// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// BatchNormalization as inference uses it: per channel (x - mean) / sqrt(var + epsilon) * scale + bias.
namespace tunesmith::ops {
namespace {

using namespace loops;

double epsilonOf(const Node& node) { return node.floatAttr("epsilon", 1e-5F); }

Status checkInference(const OpInputs& in) {
    if (in.node.intAttr("training_mode", 0) != 0)
        return in.unsupported("training_mode = 1 is not supported; export the model for inference");
    if (in.node.intAttr("spatial", 1) != 1)
        return in.unsupported("spatial = 0 is not supported");
    for (std::size_t i = 1; i < in.node.outputs.size(); ++i)
        if (in.node.outputs[i].valid())
            return in.unsupported("outputs of training are not supported; export the model for inference");
    return {};
}

Status inferBatchNorm(InferContext& in) {
    TS_TRY(checkInference(in));
    TS_TRY(requireFloat(in, 0));
    in.outputs[0] = in.type(0);
    for (std::size_t i = 1; i < 5; ++i)
        TS_TRY(requireFloat(in, i));
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    if (x.empty())
        return in.error("input " + in.type(0).text() + " has no dimensions");
    const Dim channels = x.size() > 1 ? x[1] : Dim(1);
    for (std::size_t i = 1; i < 5; ++i) {
        const auto& dims = in.type(i).dims;
        if (dims && (dims->size() != 1 || !mergeEqual((*dims)[0], channels)))
            return pairError(in, 0, i, "do not fit: one value per channel is needed");
    }
    return {};
}

Status evalBatchNorm(EvalContext& context) {
    const Tensor& input = context.input(0);
    const Shape& shape = input.shape();
    const std::int64_t channels = shape.size() > 1 ? shape[1] : 1;
    const std::int64_t positions = shape.size() > 1 ? rowMajorStrides(shape)[1] : input.count();
    const double epsilon = epsilonOf(context.node);
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        const T* x = input.data<T>().data();
        T* y = context.outputs[0].mutableData<T>().data();
        const std::int64_t planes = positions == 0 ? 0 : input.count() / positions;
        for (std::int64_t plane = 0; plane < planes; ++plane, x += positions, y += positions) {
            const std::int64_t c = plane % channels;
            const double scale = context.input(1).asDouble(c) / std::sqrt(context.input(4).asDouble(c) + epsilon);
            const double shift = context.input(2).asDouble(c) - context.input(3).asDouble(c) * scale;
            for (std::int64_t i = 0; i < positions; ++i)
                y[i] = static_cast<T>(static_cast<double>(x[i]) * scale + shift);
        }
    });
    return {};
}

// x * scale' + shift', where both depend on the channel only and can be taken out of the inner loops.
Status lowerBatchNorm(LowerContext& context) {
    const DType type = computeType(context.outputType());
    lowerElementwise(context, "batch_norm", [&](const Indices& i) {
        const Indices channel{i.size() > 1 ? i[1] : Expr(0)};
        const auto value = [&](std::size_t input) { return cast(type, read(context.inputs[input], channel)); };
        const Expr scale = value(1) / unary(Op::sqrt, value(4) + constantOf(type, epsilonOf(context.node)));
        return read(context.inputs[0], i) * scale + (value(2) - value(3) * scale);
    });
    return {};
}

} // namespace

void registerBatchNorm(OperatorList& list) {
    addOperator(list, "BatchNormalization", Fusion::elementwise, 7, {5, 5, 5}, inferBatchNorm, evalBatchNorm,
                lowerBatchNorm, checkInference);
}

} // namespace tunesmith::ops
