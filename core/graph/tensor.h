// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cassert>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/dtype.h"

namespace tunesmith {

using Shape = std::vector<std::int64_t>; // concrete, outermost first; {} is a scalar

// Number of elements, or nullopt when a dimension is negative or the product leaves 63 bits.
std::optional<std::int64_t> checkedElementCount(std::span<const std::int64_t> shape);
std::int64_t elementCount(std::span<const std::int64_t> shape); // of a shape that is known to be legal
Shape rowMajorStrides(std::span<const std::int64_t> shape);
std::string shapeText(std::span<const std::int64_t> shape);     // "1x3x224x224", "scalar"

// A dense row-major tensor. Copies share the bytes, so weights are cheap to pass around and can live in a mapped file.
// A tensor is filled by whoever made it and is never changed once it was handed on.
class Tensor {
public:
    Tensor() = default; // "absent", as an optional input of a node is

    static Tensor zeros(DType type, Shape shape); // throws OutOfValueMemory (base/memory_budget.h); of no type: absent
    // Bytes owned by someone else (a mapped file), kept alive by `owner`; `bytes` holds at least the tensor's size.
    static Tensor wrap(DType type, Shape shape, const std::byte* bytes, std::shared_ptr<const void> owner);
    static Tensor ofStrings(Shape shape, std::vector<std::string> values);
    template <class T> static Tensor of(Shape shape, std::span<const T> values) {
        Tensor tensor = zeros(dtypeOf<T>, std::move(shape));
        assert(values.size() == static_cast<std::size_t>(tensor.count()));
        std::copy(values.begin(), values.end(), tensor.mutableData<T>().begin());
        return tensor;
    }
    template <class T> static Tensor of(Shape shape, const std::vector<T>& values) {
        return of<T>(std::move(shape), std::span<const T>(values));
    }
    template <class T> static Tensor scalar(T value) { return of<T>({}, std::span<const T>(&value, 1)); }
    static Tensor ofInts(const std::vector<std::int64_t>& values); // 1-D int64

    // The same handle also holds values that are no tensors, without a type or a shape: a sequence of tensors, or an optional value
    // that holds nothing. An optional value that holds something is what it holds.
    static Tensor sequence(std::vector<Tensor> elements);
    static Tensor nothing();
    bool isSequence() const { return body().holding == Holding::sequence; }
    bool isNothing() const { return body().holding == Holding::nothing; }
    const std::vector<Tensor>& elements() const; // of a sequence; others have none

    bool absent() const { return !body_ || (body_->type == DType::undefined && body_->holding == Holding::tensor); }
    DType type() const { return body().type; }
    const Shape& shape() const { return body().shape; }
    std::size_t rank() const { return shape().size(); }
    std::int64_t count() const { return body().count; }
    std::size_t byteCount() const { return storedBytes(type(), count()); }

    std::span<const std::byte> bytes() const { return {body().bytes, byteCount()}; }
    std::span<std::byte> mutableBytes();
    template <class T> std::span<const T> data() const {
        assert(holds<T>());
        return {reinterpret_cast<const T*>(body().bytes), static_cast<std::size_t>(holdsNumbers() ? count() : 0)};
    }
    template <class T> std::span<T> mutableData() {
        assert(holds<T>());
        return {reinterpret_cast<T*>(mutableBytes().data()), static_cast<std::size_t>(count())};
    }
    const std::vector<std::string>& strings() const;

    // Elements read as another type, whatever the stored type: for indices, axes, scalars and checks. Texts, sequences and
    // nothing are no numbers, and read as 0: who wants a sentence asks for the type first.
    double asDouble(std::int64_t index) const;
    std::int64_t asInt(std::int64_t index) const;
    std::vector<std::int64_t> asInts() const;

    Tensor reshaped(Shape shape) const; // same bytes; the counts must agree
    Tensor viewedAs(DType type) const;  // same bytes; the elements must be as wide
    Tensor packedBytes() const;         // same bytes, as uint8 in one dimension
    // C++ conversion per element; float -> bool is "!= 0"; saturates nothing but what only stores (stored_types.h). What holds no
    // numbers gives zeros (ops/string_cast.h reads texts), and a cast to no type nothing at all.
    Tensor cast(DType type) const;
    std::uint64_t hash() const;         // of type, shape and bytes

private:
    // Floats of 8 bits are seen as their codes.
    template <class T> bool holds() const { return dtypeOf<T> == type() || (isStored(type()) && !isPacked(type()) && sizeof(T) == 1); }

    enum class Holding : std::uint8_t { tensor, sequence, nothing };
    struct Body {
        DType type = DType::undefined;
        Holding holding = Holding::tensor;
        Shape shape;
        std::int64_t count = 0;
        const std::byte* bytes = nullptr;
        std::shared_ptr<const void> owner;
    };
    static const Body kAbsent;

    explicit Tensor(Body body) : body_(std::make_shared<const Body>(std::move(body))) {}
    const Body& body() const { return body_ ? *body_ : kAbsent; }
    bool holdsNumbers() const { return body().bytes != nullptr; }

    std::shared_ptr<const Body> body_; // none: absent. A graph of a million values has two tensors for each.
};

// Calls `visitor` with a value of the C++ type that holds elements of `type` (Half and BFloat included; for
// floats of 8 bits that of their codes). Packed types have none: unpackCodes() comes first.
template <class Visitor> decltype(auto) visitDType(DType type, Visitor&& visitor) {
    switch (type) {
    case DType::f64: return visitor(double{});
    case DType::f16: return visitor(Half{});
    case DType::bf16: return visitor(BFloat{});
    case DType::i8: return visitor(std::int8_t{});
    case DType::i16: return visitor(std::int16_t{});
    case DType::i32: return visitor(std::int32_t{});
    case DType::i64: return visitor(std::int64_t{});
    case DType::u8: return visitor(std::uint8_t{});
    case DType::u16: return visitor(std::uint16_t{});
    case DType::u32: return visitor(std::uint32_t{});
    case DType::u64: return visitor(std::uint64_t{});
    case DType::boolean: return visitor(bool{});
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0: return visitor(std::uint8_t{});
    default: return visitor(float{});
    }
}

} // namespace tunesmith
