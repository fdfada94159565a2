// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/contrib/qlinear.h"

// EmbedLayerNormalization: the norm of word[id] + position[p] + segment[s]. Output 1 counts the ones in each
// row of the mask wherever they stand, as ONNX Runtime's CPU kernel does; output 2 is the sum. The tables,
// gamma and beta of QEmbedLayerNormalization are bytes with one scale and one zero point each.
namespace tunesmith::ops {
namespace {

enum EmbedInput : std::size_t {
    kIds,
    kSegmentIds,
    kWords,
    kPositions,
    kSegments,
    kEmbedGamma,
    kEmbedBeta,
    kMask,
    kPositionIds
};
constexpr std::size_t kQEmbedInputs = 8; // those that both have
constexpr QuantisedInput kQEmbedTables[] = {
    {kWords, 8, 13}, {kPositions, 9, 14}, {kSegments, 10, 15}, {kEmbedGamma, 11, 16}, {kEmbedBeta, 12, 17}};
constexpr float kEmbedEpsilon = 1e-12F; // ONNX Runtime's where the attribute is missing

Status checkEmbedShapes(const OpInputs& in) {
    const std::optional<Dim> hidden = dimOf(in, kWords, 1), batch = dimOf(in, kIds, 0),
                             length = dimOf(in, kIds, 1);
    for (const std::size_t i : {kWords, kPositions, kSegments})
        TS_TRY(requireRank(in, i, 2, "a row for each index"));
    TS_TRY(requireRank(in, kIds, 2, "batch and sequence"));
    if (hidden) {
        for (const std::size_t i : {kPositions, kSegments})
            if (const auto width = dimOf(in, i, 1))
                TS_TRY(requireEqual(in, *width, *hidden,
                                    "inputs " + in.type(kWords).text() + " and " + in.type(i).text() +
                                        " must have rows of one length"));
        for (const std::size_t i : {kEmbedGamma, kEmbedBeta})
            TS_TRY(requireDims(in, i, {*hidden}, "one value for each hidden unit"));
    }
    if (!batch || !length)
        return {};
    for (const std::size_t i : {kSegmentIds, kMask})
        TS_TRY(requireDims(in, i, {*batch, *length}, "one for each word"));
    const auto rows = dimOf(in, kPositionIds, 0);
    return requireDims(in, kPositionIds, {rows == Dim(1) ? Dim(1) : *batch, *length},
                       "one position for each word");
}

Status inferEmbedNorm(InferContext& in) {
    TS_TRY(requireInputs(in, {kIds, kWords, kPositions, kEmbedGamma, kEmbedBeta}));
    for (const std::size_t i : {kIds, kSegmentIds, kMask, kPositionIds})
        if (in.has(i))
            TS_TRY(requireInt32(in, i));
    TS_TRY(requireFloat(in, kWords));
    for (const std::size_t i : {kPositions, kSegments, kEmbedGamma, kEmbedBeta})
        if (in.has(i))
            TS_TRY(requireSameType(in, kWords, i));
    if (in.has(kSegmentIds) != in.has(kSegments))
        return in.error("segment ids and segment embeddings must be given together");
    TS_TRY(checkEmbedShapes(in));
    in.outputs[0] = TensorType(in.type(kWords).dtype);
    const auto hidden = dimOf(in, kWords, 1), batch = dimOf(in, kIds, 0), length = dimOf(in, kIds, 1);
    if (hidden && batch && length)
        in.outputs[0].dims = Dims{*batch, *length, *hidden};
    if (in.outputs.size() > 1) {
        in.outputs[1] = TensorType(DType::i32);
        if (batch)
            in.outputs[1].dims = Dims{*batch};
    }
    if (in.outputs.size() > 2)
        in.outputs[2] = in.outputs[0];
    return {};
}

// Adds the row that an index names; says which index has none.
Status addEmbedding(const EvalContext& context, std::size_t table, std::int64_t row,
                    std::vector<double>& sum) {
    const Tensor& rows = context.input(table);
    if (row < 0 || row >= rows.shape()[0])
        return context.error("index " + std::to_string(row) + " is out of range for " +
                             std::to_string(rows.shape()[0]) + " embeddings");
    for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += rows.asDouble(row * rows.shape()[1] + static_cast<std::int64_t>(i));
    return {};
}

Status evalEmbedNorm(EvalContext& context) {
    const Shape ids = context.input(kIds).shape();
    const std::int64_t width = context.input(kWords).shape()[1], length = ids[1];
    const double epsilon = context.node.floatAttr("epsilon", kEmbedEpsilon);
    Tensor y = Tensor::zeros(DType::f64, {ids[0], length, width}),
           sums = Tensor::zeros(DType::f64, {ids[0], length, width});
    for (std::int64_t word = 0; word < ids[0] * length; ++word) {
        std::vector<double> sum(static_cast<std::size_t>(width));
        const bool positioned = context.has(kPositionIds);
        const std::int64_t place =
            positioned && context.input(kPositionIds).shape()[0] == 1 ? word % length : word;
        TS_TRY(addEmbedding(context, kWords, context.input(kIds).asInt(word), sum));
        TS_TRY(addEmbedding(context, kPositions,
                            positioned ? context.input(kPositionIds).asInt(place) : word % length, sum));
        if (context.has(kSegments))
            TS_TRY(addEmbedding(context, kSegments, context.input(kSegmentIds).asInt(word), sum));
        double mean = 0, variance = 0;
        for (const double value : sum)
            mean += value / static_cast<double>(width);
        for (const double value : sum)
            variance += (value - mean) * (value - mean) / static_cast<double>(width);
        for (std::int64_t i = 0; i < width; ++i) {
            const double normal = (sum[i] - mean) / std::sqrt(variance + epsilon);
            y.mutableData<double>()[word * width + i] =
                normal * context.input(kEmbedGamma).asDouble(i) + context.input(kEmbedBeta).asDouble(i);
            sums.mutableData<double>()[word * width + i] = sum[i];
        }
    }
    context.outputs[0] = y.cast(context.outputs[0].type());
    if (context.wanted(2))
        context.outputs[2] = sums.cast(context.outputs[2].type());
    for (std::int64_t b = 0; b < ids[0] && context.wanted(1) && context.has(kMask); ++b) {
        const auto row = context.input(kMask).data<std::int32_t>().subspan(b * length, length);
        context.outputs[1].mutableData<std::int32_t>()[b] =
            static_cast<std::int32_t>(std::ranges::count(row, 1));
    }
    return {};
}

Node withoutParameters(Node node) {
    node.inputs.resize(std::min(node.inputs.size(), kQEmbedInputs));
    return node;
}

Status inferQEmbedNorm(InferContext& in) {
    TS_TRY(requireInputs(in, {kIds, kWords, kPositions, kEmbedGamma, kEmbedBeta}));
    KnownInputs known(in, kQEmbedInputs);
    for (const QuantisedInput& table : kQEmbedTables)
        if (in.has(table.value)) {
            TS_TRY(checkQuantised(in, table));
            known.types[table.value].dtype = in.type(table.scale).dtype;
            known.constants[table.value] = {};
        }
    const Node node = withoutParameters(in.node);
    InferContext real(node, in.opset, std::move(known.types), std::move(known.constants));
    real.outputs = in.outputs;
    TS_TRY(inferEmbedNorm(real));
    in.outputs = std::move(real.outputs);
    return {};
}

Status evalQEmbedNorm(EvalContext& context) {
    std::vector<Tensor> inputs(context.inputs.begin(),
                               context.inputs.begin() +
                                   std::min<std::ptrdiff_t>(std::ssize(context.inputs), kQEmbedInputs));
    for (const QuantisedInput& table : kQEmbedTables) {
        if (!context.has(table.value))
            continue;
        const ScaleAndZero from = parametersOf(context, table);
        const Tensor stored = inputs[table.value].cast(DType::i32);
        Tensor real = Tensor::zeros(DType::f32, stored.shape());
        std::ranges::transform(
            stored.data<std::int32_t>(), real.mutableData<float>().begin(),
            [&](std::int32_t code) { return static_cast<float>(code - from.zero) * from.scale; });
        inputs[table.value] = real;
    }
    const Node node = withoutParameters(context.node);
    EvalContext plain(node, context.opset, inputs);
    plain.outputs = context.outputs;
    TS_TRY(evalEmbedNorm(plain));
    context.outputs = std::move(plain.outputs);
    return {};
}

ValueId countedOnes(ExpandContext& context, const Shape& ids) {
    if (!context.has(kMask))
        return context.addConstant(Tensor::zeros(DType::i32, {ids[0]}));
    const ValueId one = context.addConstant(Tensor::scalar(std::int32_t{1}));
    const ValueId ones = context.cast(context.add("Equal", context.node.inputs[kMask], one), DType::i32);
    const std::vector<std::int64_t> axes{1};
    if (context.onnxOpset < 13)
        return context.add("ReduceSum", {ones}, {{"axes", axes}, {"keepdims", std::int64_t{0}}});
    return context.add("ReduceSum", {ones, context.addConstant(Tensor::ofInts(axes))},
                       {{"keepdims", std::int64_t{0}}});
}

Status expandEmbedNorm(ExpandContext& context, bool quantised) {
    const Shape ids = context.type(kIds).shape();
    const std::int64_t known = context.type(kPositions).shape()[0];
    if ((quantised || !context.has(kPositionIds)) && known < ids[1])
        return context.unsupported("there are " + std::to_string(known) + " positions for " +
                                   std::to_string(ids[1]) + " words");
    const auto real = [&](EmbedInput table, ValueId stored) { // what is left of a table once rows are taken
        for (const QuantisedInput& own : kQEmbedTables)
            if (quantised && own.value == table)
                return dequantized(context, own, stored);
        return stored;
    };
    const auto rows = [&](EmbedInput table, EmbedInput index) {
        return real(table, context.add("Gather", {context.node.inputs[table], context.node.inputs[index]},
                                       {{"axis", std::int64_t{0}}}));
    };
    const auto whole = [&](EmbedInput table) { return real(table, context.node.inputs[table]); };
    const ValueId positions =
        context.has(kPositionIds) && !quantised
            ? rows(kPositions, kPositionIds)
            : real(kPositions, context.slice(context.node.inputs[kPositions], 0, 0, ids[1]));
    ValueId sum = context.add("Add", rows(kWords, kIds), positions);
    if (context.has(kSegments))
        sum = context.add("Add", sum, rows(kSegments, kSegmentIds));
    context.outputs[0] = context.add(
        "LayerNormalization", {sum, whole(kEmbedGamma), whole(kEmbedBeta)},
        {{"axis", std::int64_t{-1}}, {"epsilon", context.node.floatAttr("epsilon", kEmbedEpsilon)}});
    if (context.wanted(1))
        context.outputs[1] = countedOnes(context, ids);
    if (context.wanted(2))
        context.outputs[2] = sum;
    return {};
}

} // namespace

void registerContribEmbedNorm(OperatorList& list) {
    addExpanded(list, "EmbedLayerNormalization", {1, 9, 3}, inferEmbedNorm, evalEmbedNorm,
                [](ExpandContext& context) { return expandEmbedNorm(context, false); });
    addExpanded(list, "QEmbedLayerNormalization", {1, 18, 2}, inferQEmbedNorm, evalQEmbedNorm,
                [](ExpandContext& context) { return expandEmbedNorm(context, true); });
}

} // namespace tunesmith::ops
