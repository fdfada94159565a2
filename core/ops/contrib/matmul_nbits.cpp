// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/matmul_nbits.h"

#include <algorithm>

#include "core/ops/contrib/contrib.h"
#include "core/ops/lowering.h"

namespace tunesmith::ops {

using namespace loops;

Result<BlockedWeights> BlockedWeights::of(const Node& node) {
    BlockedWeights w;
    w.k = node.intAttr("K", 0);
    w.n = node.intAttr("N", 0);
    w.bits = node.intAttr("bits", 4);
    w.block = node.intAttr("block_size", 0);
    if (w.k < 1 || w.n < 1)
        return inputError("the attributes K and N must be there and above 0");
    if (w.bits != 2 && w.bits != 4 && w.bits != 8)
        return unsupportedError("weights of " + std::to_string(w.bits) +
                                " bits are not supported; those of 2, 4 and 8 are");
    if (w.block < 16 || (w.block & (w.block - 1)) != 0)
        return inputError("block_size is " + std::to_string(w.block) +
                          " but must be a power of 2 and at least 16");
    w.blocks = (w.k - 1) / w.block + 1;
    w.perByte = 8 / w.bits;
    w.blockBytes = w.block / w.perByte;
    w.zeroBytes = (w.blocks - 1) / w.perByte + 1;
    return w;
}

namespace {

enum NBitsInput : std::size_t { kActivations, kWeights, kScales, kZeros, kGroups, kBias };

// A vector, or the same elements as one row for each column of the result.
Status requireVectorOrRows(const OpInputs& in, std::size_t index, std::int64_t rows, std::int64_t perRow,
                           const char* meaning) {
    const bool vector = in.has(index) && in.type(index).dims && in.type(index).dims->size() == 1;
    return requireDims(in, index, vector ? Dims{Dim(rows * perRow)} : Dims{Dim(rows), Dim(perRow)}, meaning);
}

Status checkZeros(const OpInputs& in, const BlockedWeights& w) {
    if (!in.has(kZeros))
        return {};
    if (in.type(kZeros).dtype == DType::u8)
        return requireVectorOrRows(in, kZeros, w.n, w.zeroBytes, "packed zero points, one for each block");
    TS_TRY(requireSameType(in, kActivations, kZeros));
    return requireVectorOrRows(in, kZeros, w.n, w.blocks, "one zero point for each block");
}

Status inferMatMulNBits(InferContext& in) {
    const auto weights = BlockedWeights::of(in.node);
    if (!weights.ok())
        return weights.error().kind == ErrorKind::unsupported ? in.unsupported(weights.error().message)
                                                              : in.error(weights.error().message);
    const BlockedWeights& w = *weights;
    TS_TRY(requireFloat(in, kActivations));
    TS_TRY(requireType(
        in, kWeights, [](DType type) { return type == DType::u8; }, "uint8"));
    TS_TRY(requireSameType(in, kActivations, kScales));
    TS_TRY(refuseInput(in, kGroups, "g_idx"));
    if (in.node.intAttr("weight_prepacked", 0) != 0)
        return in.unsupported(
            "its weights are packed for a GPU (weight_prepacked); export the model with plain weights");
    TS_TRY(requireDims(in, kWeights, {Dim(w.n), Dim(w.blocks), Dim(w.blockBytes)},
                       "packed blocks of each column of the result"));
    TS_TRY(requireVectorOrRows(in, kScales, w.n, w.blocks, "one scale for each block"));
    TS_TRY(checkZeros(in, w));
    if (in.has(kBias))
        TS_TRY(requireSameType(in, kActivations, kBias));
    TS_TRY(requireDims(in, kBias, {Dim(w.n)}, "one bias for each column of the result"));
    in.outputs[0] = TensorType(in.type(kActivations).dtype);
    if (!in.type(kActivations).dims)
        return {};
    Dims dims = *in.type(kActivations).dims;
    if (dims.empty() || !mergeEqual(dims.back(), Dim(w.k)))
        return in.error("input 0 is " + in.type(kActivations).text() +
                        ", whose last dimension is not K = " + std::to_string(w.k));
    dims.back() = Dim(w.n);
    in.outputs[0].dims = std::move(dims);
    return {};
}

// The bits of one number, the first of which lies lowest in its byte.
int packedNumber(const BlockedWeights& w, std::int64_t byte, std::int64_t part) {
    return static_cast<int>(byte >> part * w.bits & ((1 << w.bits) - 1));
}

double blockZero(const EvalContext& context, const BlockedWeights& w, std::int64_t n, std::int64_t block) {
    if (!context.has(kZeros))
        return static_cast<double>(std::int64_t{1} << (w.bits - 1));
    const Tensor& zeros = context.input(kZeros);
    return zeros.type() == DType::u8 ? packedNumber(w, zeros.asInt(n * w.zeroBytes + block / w.perByte), block % w.perByte)
                                     : zeros.asDouble(n * w.blocks + block);
}

// Column n of the product's right operand, block by block as they lie one after the other.
void readColumn(const EvalContext& context, const BlockedWeights& w, std::int64_t n, std::vector<double>& column) {
    const std::uint8_t* const packed = context.input(kWeights).data<std::uint8_t>().data() + n * w.blocks * w.blockBytes;
    for (std::int64_t block = 0; block < w.blocks; ++block) {
        const double zero = blockZero(context, w, n, block), scale = context.input(kScales).asDouble(n * w.blocks + block);
        const std::int64_t first = block * w.block, last = std::min(first + w.block, w.k);
        for (std::int64_t k = first; k < last; ++k)
            column[static_cast<std::size_t>(k)] = (packedNumber(w, packed[k / w.perByte], k % w.perByte) - zero) * scale;
    }
}

Status evalMatMulNBits(EvalContext& context) {
    TS_ASSIGN(const BlockedWeights w, BlockedWeights::of(context.node));
    const Tensor& a = context.input(kActivations);
    const std::int64_t rows = a.count() / w.k;
    visitFloat(a.type(), [&](auto tag) {
        using T = decltype(tag);
        const auto x = a.data<T>();
        const auto y = context.outputs[0].mutableData<T>();
        std::vector<double> column(static_cast<std::size_t>(w.k));
        for (std::int64_t n = 0; n < w.n; ++n) {
            readColumn(context, w, n, column);
            for (std::int64_t m = 0; m < rows; ++m) {
                double sum = context.has(kBias) ? context.input(kBias).asDouble(n) : 0;
                for (std::int64_t k = 0; k < w.k; ++k)
                    sum += static_cast<double>(x[m * w.k + k]) * column[k];
                y[m * w.n + n] = static_cast<T>(sum);
            }
        }
    });
    return {};
}

// Reads (n, at) of a parameter that is a vector or has rows.
Expr rowElement(const TensorRef& tensor, const Expr& n, const Expr& at, std::int64_t perRow) {
    return tensor->shape.size() == 1 ? load(tensor, {n * Expr(perRow) + at}) : load(tensor, {n, at});
}

Expr packedField(const BlockedWeights& w, const Expr& byte, const Expr& part) {
    const Expr moved = binary(Op::shiftRight, cast(DType::i32, byte), cast(DType::i32, part * Expr(w.bits)));
    return binary(Op::bitAnd, moved, constantInt(DType::i32, (1 << w.bits) - 1));
}

Expr zeroPoint(const LowerContext& context, const BlockedWeights& w, DType type, const Expr& n,
               const Expr& block) {
    if (!context.has(kZeros))
        return constantOf(type, static_cast<double>(std::int64_t{1} << (w.bits - 1)));
    const TensorRef& zeros = context.inputs[kZeros];
    if (zeros->type != DType::u8)
        return widen(rowElement(zeros, n, block, w.blocks));
    const Expr byte = rowElement(zeros, n, block / Expr(w.perByte), w.zeroBytes);
    return cast(type, packedField(w, byte, block % Expr(w.perByte)));
}

Status lowerMatMulNBits(LowerContext& context) {
    TS_ASSIGN(const BlockedWeights w, BlockedWeights::of(context.node));
    const TensorRef &a = context.inputs[kActivations], &packed = context.inputs[kWeights],
                    &scales = context.inputs[kScales];
    const DType type = computeType(context.outputType());
    const auto body = [&](const Indices& o, const Indices& r) {
        const Expr &n = o.back(), &block = r[0];
        Indices left(o.begin(), o.end() - 1);
        const Expr k = (block * Expr(w.blockBytes) + r[1]) * Expr(w.perByte) + r[2];
        left.push_back(k);
        const Expr stored = cast(type, packedField(w, load(packed, {n, block, r[1]}), r[2]));
        const Expr weight =
            (stored - zeroPoint(context, w, type, n, block)) * widen(rowElement(scales, n, block, w.blocks));
        return ReductionBody{read(a, left) * weight, w.k % w.block == 0 ? Expr() : k < Expr(w.k)};
    };
    Stage stage = reduce("matmul_nbits", type, context.outputShape(), Reduction::sum,
                         {w.blocks, w.blockBytes, w.perByte}, body);
    if (!context.has(kBias)) {
        finishReduction(context, std::move(stage));
        return {};
    }
    const TensorRef product = context.add(std::move(stage));
    lowerElementwise(context, "bias", [&](const Indices& i) {
        return load(product, i) + read(context.inputs[kBias], {i.back()});
    });
    return {};
}

} // namespace

void registerContribMatMulNBits(OperatorList& list) {
    addLowered(list, "MatMulNBits", Fusion::anchor, {3, 6}, inferMatMulNBits, evalMatMulNBits,
               lowerMatMulNBits);
}

} // namespace tunesmith::ops
