// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <vector>

#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// BatchNormalization: per channel (x - mean) / sqrt(var + epsilon) * scale + bias. Training normalises by the statistics of
// the batch and yields the running ones; since opset 14 an attribute asks for it, before it was who read those outputs.
namespace tunesmith::ops {
namespace {

using namespace loops;

double epsilonOf(const Node& node) { return node.floatAttr("epsilon", 1e-5F); }

bool yieldsStatistics(const Node& node) {
    std::size_t i = 1;
    while (i < node.outputs.size() && !node.outputs[i].valid())
        ++i;
    return i < node.outputs.size();
}

bool trains(const Node& node, std::int64_t opset) {
    return opset >= 14 ? node.intAttr("training_mode", 0) != 0 : yieldsStatistics(node);
}

Status inferStatistics(InferContext& in) {
    if (in.opset >= 14 && in.outputs.size() > 3)
        return in.error("has " + std::to_string(in.outputs.size()) + " outputs; at most 3 are possible");
    for (std::size_t i = 1; i < in.outputs.size(); ++i)
        in.outputs[i] = in.type(i % 2 == 1 ? 3 : 4); // the mean, the variance, and both of the batch
    if (yieldsStatistics(in.node) && !trains(in.node, in.opset))
        return in.error("has outputs of training, but training_mode is 0");
    return {};
}

Status inferBatchNorm(InferContext& in) {
    if (in.node.intAttr("spatial", 1) != 1)
        return in.unsupported("spatial = 0 is not supported");
    TS_TRY(requireFloat(in, 0));
    in.outputs[0] = in.type(0);
    TS_TRY(inferStatistics(in));
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

// Elements of a channel lie in runs of `positions`, one for each of the batch.
struct Runs {
    std::int64_t channels, positions, planes;
    explicit Runs(const Shape& shape)
        : channels(shape.size() > 1 ? shape[1] : 1), positions(shape.size() > 1 ? rowMajorStrides(shape)[1] : elementCount(shape)),
          planes(positions == 0 ? 0 : elementCount(shape) / positions) {}
};

struct Statistics {
    std::vector<double> mean, variance; // of each channel
};

Statistics stated(const EvalContext& context) {
    Statistics of;
    for (std::int64_t c = 0; c < context.input(3).count(); ++c) {
        of.mean.push_back(context.input(3).asDouble(c));
        of.variance.push_back(context.input(4).asDouble(c));
    }
    return of;
}

template <class T> Statistics ofBatch(const Tensor& input, const Runs& runs) {
    const auto channels = static_cast<std::size_t>(runs.channels);
    Statistics of{std::vector<double>(channels), std::vector<double>(channels)};
    const double count = static_cast<double>(input.count()) / static_cast<double>(runs.channels);
    for (const bool squares : {false, true}) {
        const T* x = input.data<T>().data();
        std::vector<double>& sums = squares ? of.variance : of.mean;
        for (std::int64_t plane = 0; plane < runs.planes; ++plane, x += runs.positions) {
            const auto c = static_cast<std::size_t>(plane % runs.channels);
            const double mean = squares ? of.mean[c] : 0;
            for (std::int64_t i = 0; i < runs.positions; ++i) {
                const double distance = static_cast<double>(x[i]) - mean;
                sums[c] += squares ? distance * distance : distance;
            }
        }
        for (double& sum : sums)
            sum /= count;
    }
    return of;
}

void storeStatistics(EvalContext& context, const Statistics& batch) {
    const double momentum = context.node.floatAttr("momentum", 0.9F);
    for (std::size_t i = 1; i < context.outputs.size(); ++i) {
        if (!context.wanted(i))
            continue;
        const std::vector<double>& now = i % 2 == 1 ? batch.mean : batch.variance;
        const Tensor& before = context.input(i % 2 == 1 ? 3 : 4);
        Tensor values = Tensor::of<double>({static_cast<std::int64_t>(now.size())}, now);
        if (i < 3)
            for (std::size_t c = 0; c < now.size(); ++c)
                values.mutableData<double>()[c] =
                    before.asDouble(static_cast<std::int64_t>(c)) * momentum + now[c] * (1 - momentum);
        context.outputs[i] = values.cast(context.outputs[i].type());
    }
}

Status evalBatchNorm(EvalContext& context) {
    const Tensor& input = context.input(0);
    const Runs runs(input.shape());
    const double epsilon = epsilonOf(context.node);
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        const bool training = trains(context.node, context.opset);
        const Statistics used = training ? ofBatch<T>(input, runs) : stated(context);
        if (training)
            storeStatistics(context, used);
        const T* x = input.data<T>().data();
        T* y = context.outputs[0].mutableData<T>().data();
        for (std::int64_t plane = 0; plane < runs.planes; ++plane, x += runs.positions, y += runs.positions) {
            const std::int64_t c = plane % runs.channels;
            const auto at = static_cast<std::size_t>(c);
            const double scale = context.input(1).asDouble(c) / std::sqrt(used.variance[at] + epsilon);
            const double shift = context.input(2).asDouble(c) - used.mean[at] * scale;
            for (std::int64_t i = 0; i < runs.positions; ++i)
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

Status batchNormLowerable(const OpInputs& in) {
    return trains(in.node, in.opset) ? Status(in.unsupported("training is not compiled; export the model for inference")) : Status();
}

} // namespace

void registerBatchNorm(OperatorList& list) {
    addOperator(list, "BatchNormalization", Fusion::elementwise, 7, {5, 5, 5}, inferBatchNorm, evalBatchNorm,
                lowerBatchNorm, batchNormLowerable);
}

} // namespace tunesmith::ops
