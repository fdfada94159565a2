// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/registry.h"

namespace tunesmith::ops {

// How the compute operators are put together: each gives a shape rule, a kernel that only fills outputs, and a lowering.
// addOperator() adds what they share: the number of inputs is checked before any rule looks at them, and before a kernel
// runs, the shape rule is applied to the concrete tensors, so that a kernel never sees shapes that do not fit.

inline constexpr std::size_t kVariadic = static_cast<std::size_t>(-1);
struct Arity {
    std::size_t minInputs, maxInputs, maxOutputs = 1;
};

using InferRule = std::function<Status(InferContext&)>;
// Outputs are allocated (zeros) as the shape rule says. float16 and bfloat16 inputs and outputs are seen as float32.
using Kernel = std::function<Status(EvalContext&)>;
using LowerRule = std::function<Status(LowerContext&)>;
using LowerableRule = std::function<Status(const OpInputs&)>;

void addOperator(OperatorList& list, const std::string& name, Fusion fusion, std::int64_t sinceOpset, Arity arity,
                 const InferRule& infer, const Kernel& kernel, LowerRule lower = {}, LowerableRule lowerable = {});

// The type that a kernel or a lowering computes in: float32 for the 16-bit floats, the type itself otherwise.
DType computeType(DType type);

// Calls visitor with a value of the C++ type, for the types that kernels compute in.
template <class Visitor> void visitFloat(DType type, Visitor&& visitor) {
    if (type == DType::f64)
        visitor(double{});
    else
        visitor(float{});
}

template <class Visitor> void visitNumeric(DType type, Visitor&& visitor) {
    switch (type) {
    case DType::i8: return visitor(std::int8_t{});
    case DType::i16: return visitor(std::int16_t{});
    case DType::i32: return visitor(std::int32_t{});
    case DType::i64: return visitor(std::int64_t{});
    case DType::u8: return visitor(std::uint8_t{});
    case DType::u16: return visitor(std::uint16_t{});
    case DType::u32: return visitor(std::uint32_t{});
    case DType::u64: return visitor(std::uint64_t{});
    default: return visitFloat(type, visitor);
    }
}

// Integers wrap around in tensors; in C++ only unsigned ones may.
template <class T, class Fn> T wrapping(T a, T b, Fn fn) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(fn(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
    else
        return fn(a, b);
}

} // namespace tunesmith::ops
