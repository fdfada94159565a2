// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>

#include "core/ops/contrib/contrib.h"
#include "core/ops/lowering.h"

// MatMulBnb4: y = A * W', where W [N, K] holds 4-bit codes of one of two tables, two in a byte with the first
// in the high half, and a run of block_size elements, in the order of memory, has one scale.
namespace tunesmith::ops {
namespace {

using namespace loops;
using CodeTable = std::array<float, 16>;

constexpr CodeTable kFp4{0, 0.0052083333F,  0.66666667F,  1,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
                         0, -0.0052083333F, -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
// Quantiles of the normal distribution (Dettmers and others, QLoRA, 2023).
constexpr CodeTable kNf4{
    -1,         -0.6961928F, -0.52507305F, -0.3949175F, -0.28444138F, -0.18477343F, -0.091050036F, 0,
    0.0795803F, 0.1609302F,  0.24611230F,  0.33791524F, 0.44070983F,  0.562617F,    0.72295684F,   1};

struct CodedWeights {
    std::int64_t k, n, block;
    const CodeTable& table;
    explicit CodedWeights(const Node& node)
        : k(node.intAttr("K", 0)), n(node.intAttr("N", 0)), block(node.intAttr("block_size", 0)),
          table(node.intAttr("quant_type", 1) == 0 ? kFp4 : kNf4) {}
    std::int64_t bytes() const { return (n * k + 1) / 2; }
    std::int64_t scales() const { return (n * k - 1) / block + 1; }
};

Status inferMatMulBnb4(InferContext& in) {
    const CodedWeights w(in.node);
    if (w.k < 1 || w.n < 1 || w.block < 1)
        return in.error("the attributes K, N and block_size must be there and above 0");
    if (const std::int64_t kind = in.node.intAttr("quant_type", 1); kind != 0 && kind != 1)
        return in.error("quant_type is " + std::to_string(kind) + " but must be 0 (FP4) or 1 (NF4)");
    if (in.node.intAttr("transB", 1) == 0)
        return in.unsupported("weights that are not transposed (transB = 0) are not supported");
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireType(
        in, 1, [](DType type) { return type == DType::u8; }, "uint8"));
    TS_TRY(requireSameType(in, 0, 2));
    TS_TRY(requireDims(in, 1, {Dim(w.bytes())}, "two codes in each byte"));
    TS_TRY(requireDims(in, 2, {Dim(w.scales())}, "one scale for each block"));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    if (dims.empty() || !mergeEqual(dims.back(), Dim(w.k)))
        return in.error("input 0 is " + in.type(0).text() +
                        ", whose last dimension is not K = " + std::to_string(w.k));
    dims.back() = Dim(w.n);
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalMatMulBnb4(EvalContext& context) {
    const CodedWeights w(context.node);
    const Tensor x = context.input(0).cast(DType::f64);
    const auto codes = context.input(1).data<std::uint8_t>();
    Tensor y = Tensor::zeros(DType::f64, context.outputs[0].shape());
    const std::int64_t rows = x.count() / w.k;
    for (std::int64_t element = 0; element < w.n * w.k; ++element) {
        const int byte = codes[element / 2], code = element % 2 == 0 ? byte >> 4 : byte & 15;
        const double weight =
            static_cast<double>(w.table[code]) * context.input(2).asDouble(element / w.block);
        for (std::int64_t row = 0; row < rows; ++row)
            y.mutableData<double>()[row * w.n + element / w.k] +=
                x.data<double>()[row * w.k + element % w.k] * weight;
    }
    context.outputs[0] = y.cast(context.outputs[0].type());
    return {};
}

// The entry of a table as a tree of choices, one for each bit of the code.
Expr entryOf(const CodeTable& table, const Expr& code, DType type, int first = 0, int count = 16) {
    if (count == 1)
        return constantOf(type, static_cast<double>(table[first]));
    const int half = count / 2;
    return select(code < constantInt(DType::i32, first + half), entryOf(table, code, type, first, half),
                  entryOf(table, code, type, first + half, half));
}

Status lowerMatMulBnb4(LowerContext& context) {
    const CodedWeights w(context.node);
    const DType type = computeType(context.outputType());
    Stage stage = reduce("matmul_bnb4", type, context.outputShape(), Reduction::sum, {w.k},
                         [&](const Indices& o, const Indices& r) {
                             Indices left(o.begin(), o.end() - 1);
                             left.push_back(r[0]);
                             const Expr element = o.back() * Expr(w.k) + r[0];
                             const Expr byte = cast(DType::i32, load(context.inputs[1], {element / Expr(2)}));
                             const Expr shift = cast(DType::i32, Expr(4) - element % Expr(2) * Expr(4));
                             const Expr code = binary(Op::bitAnd, binary(Op::shiftRight, byte, shift),
                                                      constantInt(DType::i32, 15));
                             const Expr weight = entryOf(w.table, code, type) *
                                                 read(context.inputs[2], {element / Expr(w.block)});
                             return ReductionBody{read(context.inputs[0], left) * weight, {}};
                         });
    finishReduction(context, std::move(stage));
    return {};
}

} // namespace

void registerContribMatMulBnb4(OperatorList& list) {
    addLowered(list, "MatMulBnb4", Fusion::anchor, {3, 3}, inferMatMulBnb4, evalMatMulBnb4, lowerMatMulBnb4);
}

} // namespace tunesmith::ops
