// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/casts.h"

#include "core/codegen/llvm/integer_math.h"
#include "core/codegen/llvm/small_floats.h"
#include "core/codegen/llvm/value_types.h"

namespace tunesmith {
namespace {

using llvm::Value;

Value* plainCast(llvm::IRBuilder<>& builder, Value* value, const CastSource& from, DType to) {
    llvm::Type* type = likeLanesOf(value, valueTypeOf(builder, to));
    if (to == DType::boolean)
        return isFloat(from.type) ? builder.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()))
                                  : builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
    if (isFloat(from.type) && isFloat(to))
        return builder.CreateFPCast(value, type);
    if (isFloat(from.type) && byteSize(to) < 4 && from.isSaturated)
        return builder.CreateIntCast(builder.CreateFPToSI(value, likeLanesOf(value, builder.getInt32Ty())), type, true);
    if (isFloat(from.type))
        return emitFloatToInt(builder, value, to);
    if (isFloat(to))
        return isSigned(from.type) ? builder.CreateSIToFP(value, type) : builder.CreateUIToFP(value, type);
    return builder.CreateIntCast(value, type, isSigned(from.type));
}

} // namespace

Value* castValue(llvm::IRBuilder<>& builder, Value* value, const CastSource& from, DType to) {
    Value* cast = plainCast(builder, value, from, to);
    return isSmallFloat(to) ? widenSmallFloat(builder, roundToSmallFloat(builder, cast, to), to) : cast;
}

} // namespace tunesmith
