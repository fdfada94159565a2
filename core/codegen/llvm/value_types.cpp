// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/value_types.h"

#include "core/codegen/llvm/small_floats.h"

namespace tunesmith {

llvm::Type* valueTypeOf(llvm::IRBuilder<>& builder, DType type) {
    switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return builder.getFloatTy();
    case DType::f64: return builder.getDoubleTy();
    case DType::boolean: return builder.getInt1Ty();
    default: return builder.getIntNTy(static_cast<unsigned>(byteSize(type) * 8));
    }
}

llvm::Type* memoryTypeOf(llvm::IRBuilder<>& builder, DType type) {
    if (isSmallFloat(type))
        return smallFloatMemory(builder, type);
    return type == DType::boolean ? builder.getInt8Ty() : valueTypeOf(builder, type);
}

} // namespace tunesmith
