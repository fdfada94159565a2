// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/stored_types.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/quantize.h"
#include "core/te/graph.h"

// Unpack of our own domain: the bytes of a packed tensor as elements that kernels can read. Only expansions make such nodes.
// They are never folded, for that would undo what packing is for.
namespace tunesmith::ops {

DType unpackedType(DType type) { return type == DType::f4e2m1 ? DType::f8e4m3fn : widenedType(type); }

bool isPackedConstant(const OpInputs& in) {
    return isPacked(in.type(0).dtype) && in.isConstant(0) && in.constant(0).count() > 0;
}

ValueId unpackedConstant(ExpandContext& context) {
    Node unpack;
    unpack.name = context.derived("Unpack");
    unpack.op = "Unpack";
    unpack.domain = te::kDomain;
    unpack.attributes = {{"type", static_cast<std::int64_t>(context.type(0).dtype)}, {"shape", context.constant(0).shape()}};
    unpack.inputs = {context.addConstant(context.constant(0).packedBytes())};
    unpack.outputs = {context.to.addValue(unpack.name)};
    const ValueId elements = unpack.outputs[0];
    context.to.setOpset(te::kDomain, 1);
    context.to.addNode(std::move(unpack));
    return elements;
}

namespace {

using namespace loops;

DType packedType(const Node& node) { return dtypeFromNumber(node.intAttr("type", 0)); }

Status inferUnpack(InferContext& in) {
    const DType type = packedType(in.node);
    const Shape shape = in.node.intsAttr("shape");
    const auto count = checkedElementCount(shape);
    if (!isPacked(type) || !count)
        return in.error("needs a packed element type and a shape");
    if (in.type(0).isStatic() && in.type(0).shape() != Shape{static_cast<std::int64_t>(storedBytes(type, *count))})
        return in.error("its bytes " + in.type(0).text() + " do not fit " + TensorType(type, shape).text());
    in.outputs[0] = TensorType(unpackedType(type), shape);
    return requireType(in, 0, [](DType bytes) { return bytes == DType::u8; }, "uint8");
}

Status evalUnpack(EvalContext& context) {
    const Tensor& bytes = context.input(0);
    const Tensor packed = Tensor::wrap(packedType(context.node), context.node.intsAttr("shape"), bytes.bytes().data(), std::make_shared<Tensor>(bytes));
    context.outputs[0] = packed.cast(widenedType(packed.type())).cast(context.outputs[0].type());
    return {};
}

Status lowerUnpack(LowerContext& context) {
    const DType type = packedType(context.node);
    const int bits = bitSize(type), perByte = 8 / bits;
    const Shape strides = rowMajorStrides(context.outputShape());
    context.finish(0, compute("unpack", context.outputType(), context.outputShape(), [&](const Indices& i) {
        Expr place(0);
        for (std::size_t d = 0; d < i.size(); ++d)
            place = place + i[d] * Expr(strides[d]);
        const Expr byte = cast(DType::i32, load(context.inputs[0], {place / Expr(perByte)}));
        const auto number = [](int value) { return constantInt(DType::i32, value); };
        const Expr shift = cast(DType::i32, place % Expr(perByte)) * number(bits);
        Expr code = binary(Op::bitAnd, binary(Op::shiftRight, byte, shift), number((1 << bits) - 1));
        if (widenedType(type) == DType::i8)
            code = binary(Op::bitXor, code, number(1 << (bits - 1))) - number(1 << (bits - 1));
        if (type == DType::f4e2m1) { // the exponent moves from 2 to 4 bits: 0.5 is normal there
            const Expr size = binary(Op::bitAnd, code, number(7)), sign = binary(Op::shiftLeft, binary(Op::bitAnd, code, number(8)), number(4));
            const Expr normal = select(equal(size, number(1)), number(0x30), number(0x30) + size * number(4));
            code = sign + select(equal(size, number(0)), number(0), normal);
        }
        return cast(context.outputType(), code);
    }));
    return {};
}

} // namespace

void registerUnpack(OperatorList& list) {
    addOperator(list, "Unpack", Fusion::injective, 1, {1, 1}, inferUnpack, evalUnpack, lowerUnpack);
    list.back().domain = te::kDomain;
    list.back().deterministic = false;
}

} // namespace tunesmith::ops
