// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/graph/stored_types.h"
#include "core/ops/contrib/contrib.h"
#include "core/ops/lowering.h"
#include "core/ops/movement.h"

// GatherBlockQuantized: rows of a table in blocks of small numbers with a scale and a zero point each, as
// (stored - zero) * scale. uint8 tables hold `bits` for each element, the first in the lowest bits, along the
// last dimension; so do their zero points, and each row of those starts on a byte of its own. Tables of int4
// and uint4 compile as such bytes.
namespace tunesmith::ops {
namespace {

using namespace loops;

constexpr std::size_t kTable = 0, kPicked = 1, kBlockScales = 2, kBlockZeros = 3;

struct BlockTable {
    std::int64_t bits, block, perByte = 1;
    std::size_t gatherAxis = 0, quantizeAxis = 0;
    bool packed;
    BlockTable(const Node& node, DType type, std::size_t rank)
        : bits(node.intAttr("bits", 4)), block(node.intAttr("block_size", 128)), packed(type == DType::u8) {
        if (packed)
            perByte = 8 / bits;
        gatherAxis = frontAxis(node.intAttr("gather_axis", 0), rank);
        quantizeAxis = frontAxis(node.intAttr("quantize_axis", 1), rank);
    }
    // How many rows an index counts, of a table whose last dimension may hold several in a byte.
    std::int64_t rows(const Shape& shape) const {
        return shape[gatherAxis] * (gatherAxis + 1 == shape.size() ? perByte : 1);
    }
    double defaultZero() const { return packed ? static_cast<double>(std::int64_t{1} << (bits - 1)) : 0; }
};

bool isBlockStored(DType type) {
    return type == DType::u8 || type == DType::u4 || type == DType::i4;
}

Status checkBlockTable(const OpInputs& in) {
    const std::int64_t bits = in.node.intAttr("bits", 4), block = in.node.intAttr("block_size", 128);
    if (bits != 2 && bits != 4 && bits != 8)
        return in.unsupported("numbers of " + std::to_string(bits) +
                              " bits are not supported; those of 2, 4 and 8 are");
    if (block < 16 || (block & (block - 1)) != 0)
        return in.error("block_size is " + std::to_string(block) +
                        " but must be a power of 2 and at least 16");
    if (!isBlockStored(in.type(kTable).dtype) && in.type(kTable).dtype != DType::undefined)
        return in.unsupported("tables of " + std::string(dtypeName(in.type(kTable).dtype)) +
                              " are not supported; those of uint8, uint4 and int4 are");
    if (isPacked(in.type(kTable).dtype) && bits != 4)
        return in.error("bits is " + std::to_string(bits) + ", but its table has elements of 4");
    TS_TRY(requireIndexType(in, kPicked));
    TS_TRY(requireFloat(in, kBlockScales));
    return in.has(kBlockZeros) ? requireSameType(in, kTable, kBlockZeros) : Status();
}

Status inferGatherBlocks(InferContext& in) {
    TS_TRY(checkBlockTable(in));
    in.outputs[0] = TensorType(in.type(kBlockScales).dtype);
    if (!in.type(kTable).dims)
        return {};
    Dims dims = *in.type(kTable).dims;
    for (const auto& [name, fallback] : {std::pair("gather_axis", 0), std::pair("quantize_axis", 1)})
        if (const auto axis = frontAxis(in, in.node.intAttr(name, fallback), dims.size()); !axis.ok())
            return axis.error();
    const BlockTable table(in.node, in.type(kTable).dtype, dims.size());
    if (table.gatherAxis == table.quantizeAxis)
        return in.error("gather_axis and quantize_axis are the same");
    if (table.packed)
        dims.back() = dims.back().known() ? Dim(dims.back().extent * table.perByte) : Dim();
    Dims blocks = dims, zeros;
    Dim& count = blocks[table.quantizeAxis];
    count = count.known() ? Dim((count.extent + table.block - 1) / table.block) : Dim();
    zeros = blocks;
    if (table.packed && zeros.back().known())
        zeros.back() = Dim((zeros.back().extent + table.perByte - 1) / table.perByte);
    TS_TRY(requireDims(in, kBlockScales, blocks, "one scale for each block"));
    TS_TRY(requireDims(in, kBlockZeros, zeros, "one zero point for each block"));
    if (!in.type(kPicked).dims)
        return {};
    const auto at = dims.begin() + static_cast<std::ptrdiff_t>(table.gatherAxis);
    dims.insert(dims.erase(at), in.type(kPicked).dims->begin(), in.type(kPicked).dims->end());
    in.outputs[0].dims = std::move(dims);
    return {};
}

// The stored number at an index into rows of `tensor`, whose last dimension may hold several in a byte.
std::int64_t storedAt(const Tensor& tensor, const BlockTable& table, const Shape& index) {
    const Shape strides = rowMajorStrides(tensor.shape());
    std::int64_t offset = index.back() / table.perByte;
    for (std::size_t d = 0; d + 1 < index.size(); ++d)
        offset += index[d] * strides[d];
    const std::int64_t stored = tensor.asInt(offset);
    return table.packed ? stored >> (index.back() % table.perByte * table.bits) & ((1 << table.bits) - 1)
                        : stored;
}

Status evalGatherBlocks(EvalContext& context) {
    const Tensor &data = context.input(kTable), &picked = context.input(kPicked),
                 &scales = context.input(kBlockScales);
    const BlockTable table(context.node, data.type(), data.rank());
    const Shape out = context.outputs[0].shape(), strides = rowMajorStrides(out),
                scaleStrides = rowMajorStrides(scales.shape());
    const std::int64_t rows = table.rows(data.shape());
    Tensor y = Tensor::zeros(DType::f64, out);
    for (std::int64_t element = 0; element < y.count(); ++element) {
        Shape index; // into the table
        std::int64_t picks = 0;
        for (std::size_t d = 0; d < out.size(); ++d) {
            const std::int64_t at = element / strides[d] % out[d];
            const bool ofPicks = d >= table.gatherAxis && d < table.gatherAxis + picked.rank();
            if (ofPicks)
                picks = picks * out[d] + at;
            if (!ofPicks)
                index.push_back(at);
        }
        const std::int64_t row = picked.asInt(picks);
        if (row < -rows || row >= rows)
            return context.error("index " + std::to_string(row) + " is out of range for " +
                                 std::to_string(rows) + " rows");
        index.insert(index.begin() + static_cast<std::ptrdiff_t>(table.gatherAxis),
                     row < 0 ? row + rows : row);
        const auto stored = static_cast<double>(storedAt(data, table, index));
        index[table.quantizeAxis] /= table.block;
        double zero = table.defaultZero();
        if (context.has(kBlockZeros))
            zero = static_cast<double>(storedAt(context.input(kBlockZeros), table, index));
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < index.size(); ++d)
            offset += index[d] * scaleStrides[d];
        y.mutableData<double>()[element] = (stored - zero) * scales.asDouble(offset);
    }
    context.outputs[0] = y.cast(context.outputs[0].type());
    return {};
}

Status blocksLowerable(const OpInputs& in) {
    return isPacked(in.type(kTable).dtype)
               ? Status(in.unsupported(
                     "a table of 4-bit elements compiles where it is constant and has even rows"))
               : Status();
}

// Rows of codes, each from a byte of its own.
Tensor rowsOfBytes(const Tensor& codes, std::int64_t perRow) {
    const std::int64_t bytes = (perRow + 1) / 2;
    Shape shape = codes.shape();
    shape.back() = bytes;
    Tensor rows = Tensor::zeros(DType::u8, shape);
    for (std::int64_t i = 0; i < codes.count(); ++i) {
        const auto code = static_cast<std::uint8_t>(codes.asInt(i) << (i % perRow % 2 * 4));
        rows.mutableData<std::uint8_t>()[i / perRow * bytes + i % perRow / 2] |= code;
    }
    return rows;
}

// Bytes of pairs of int4 as bytes of pairs of uint4, 8 above them.
Tensor raised(const Tensor& bytes) {
    Tensor above = Tensor::zeros(DType::u8, bytes.shape());
    std::ranges::transform(bytes.data<std::uint8_t>(), above.mutableData<std::uint8_t>().begin(),
                           [](std::uint8_t pair) { return static_cast<std::uint8_t>(pair ^ 0x88); });
    return above;
}

// The table's bytes as a table of uint8, and zero points as they have them; where int4 has none, 8 is
// uint8's.
Status expandGatherBlocks(ExpandContext& context) {
    const DType type = context.type(kTable).dtype;
    if (!isPacked(type))
        return context.unsupported("it is compiled as it is");
    if (!context.isConstant(kTable) || (context.has(kBlockZeros) && !context.isConstant(kBlockZeros)) ||
        context.constant(kTable).count() == 0 || context.constant(kTable).shape().back() % 2 != 0)
        return blocksLowerable(context);
    const Tensor& table = context.constant(kTable);
    const auto asUnsigned = [type](const Tensor& bytes) { return type == DType::i4 ? raised(bytes) : bytes; };
    Shape shape = table.shape();
    shape.back() /= 2;
    std::vector<ValueId> inputs = context.node.inputs;
    inputs[kTable] = context.addConstant(asUnsigned(table.packedBytes()).reshaped(shape));
    inputs.resize(kBlockZeros + 1);
    const Shape blocks = context.type(kBlockScales).shape();
    Tensor zeros = Tensor::zeros(DType::u8, blocks);
    if (context.has(kBlockZeros))
        zeros = unpackCodes(context.constant(kBlockZeros));
    inputs[kBlockZeros] = context.addConstant(asUnsigned(rowsOfBytes(zeros, blocks.back())));
    context.outputs[0] = addMicrosoft(context, "GatherBlockQuantized", inputs, context.node.attributes);
    return {};
}

Expr storedAt(const TensorRef& tensor, const BlockTable& table, Indices index) {
    const Expr last = index.back();
    index.back() = last / Expr(table.perByte);
    const Expr stored = cast(DType::i32, load(tensor, index));
    if (!table.packed)
        return stored;
    const Expr shift = cast(DType::i32, last % Expr(table.perByte) * Expr(table.bits));
    return binary(Op::bitAnd, binary(Op::shiftRight, stored, shift),
                  constantInt(DType::i32, (1 << table.bits) - 1));
}

Status lowerGatherBlocks(LowerContext& context) {
    const TensorRef& data = context.inputs[kTable];
    const BlockTable table(context.node, data->type, data->shape.size());
    const std::size_t picks = context.inputShape(kPicked).size();
    lowerElementwise(context, "gather_block_quantized", [&](const Indices& i) {
        const auto first = i.begin() + static_cast<std::ptrdiff_t>(table.gatherAxis),
                   last = first + static_cast<std::ptrdiff_t>(picks);
        Indices index(i.begin(), first);
        index.push_back(
            safeIndex(load(context.inputs[kPicked], Indices(first, last)), table.rows(data->shape)));
        index.insert(index.end(), last, i.end());
        const Expr stored = storedAt(data, table, index);
        index[table.quantizeAxis] = index[table.quantizeAxis] / Expr(table.block);
        const Expr scale = read(context.inputs[kBlockScales], index);
        const Expr zero = context.has(kBlockZeros)
                              ? cast(scale->type, storedAt(context.inputs[kBlockZeros], table, index))
                              : constantOf(scale->type, table.defaultZero());
        return (cast(scale->type, stored) - zero) * scale;
    });
    return {};
}

} // namespace

void registerContribGatherBlockQuantized(OperatorList& list) {
    addLowered(list, "GatherBlockQuantized", Fusion::opaque, {3, 4}, inferGatherBlocks, evalGatherBlocks,
               lowerGatherBlocks, blocksLowerable);
    addExpansion(list, expandGatherBlocks);
}

} // namespace tunesmith::ops
