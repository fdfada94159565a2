// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/movement.h"

// BitCast: the same bits under another type of the same width.
namespace tunesmith::ops {
namespace {

Status inferBitCast(InferContext& in) {
    const std::int64_t code = in.node.intAttr("to", 0);
    const DType from = in.type(0).dtype, to = dtypeFromNumber(code);
    if (bitSize(to) == 0)
        return in.unsupported("element type " + std::to_string(code) + " has no bits to be seen as");
    if (from != DType::undefined && bitSize(from) != bitSize(to))
        return in.error("elements of " + std::string(dtypeName(from)) + " are not as wide as those of " + std::string(dtypeName(to)));
    in.outputs[0] = TensorType(to);
    in.outputs[0].dims = in.type(0).dims;
    return {};
}

Status evalBitCast(EvalContext& context, const std::vector<TensorType>& types) {
    const DType to = types[0].dtype;
    Tensor seen = context.input(0).viewedAs(to);
    if (to == DType::boolean) // a byte of 0 or 1
        seen = context.input(0).viewedAs(DType::u8).cast(DType::boolean);
    context.outputs[0] = std::move(seen);
    return {};
}

} // namespace

void registerBitCast(OperatorList& list) {
    addMovement(list, "BitCast", Fusion::alias, 26, {1, 1}, inferBitCast, evalBitCast);
}

} // namespace tunesmith::ops
