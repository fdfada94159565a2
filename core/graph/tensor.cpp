// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "core/base/hash.h"
#include "core/base/mapped_ranges.h"
#include "core/base/memory_budget.h"
#include "core/graph/float_to_int.h"
#include "core/graph/stored_types.h"

namespace tunesmith {
namespace {

constexpr std::size_t kAlignment = 64; // a cache line, and the widest vector

// Bytes that count in the budget of values as long as they live.
class OwnBytes {
public:
    explicit OwnBytes(std::size_t size) : claim_(size + sizeof(OwnBytes)), bytes_(std::aligned_alloc(kAlignment, size), std::free) {
        if (!bytes_)
            throw std::bad_alloc();
        std::memset(bytes_.get(), 0, size);
    }
    std::byte* data() const { return static_cast<std::byte*>(bytes_.get()); }

private:
    ValueMemoryClaim claim_;
    std::unique_ptr<void, decltype(&std::free)> bytes_;
};

struct OwnStrings {
    explicit OwnStrings(std::vector<std::string> strings) : claim(sizesOf(strings)), values(std::move(strings)) {}
    static std::size_t sizesOf(const std::vector<std::string>& strings) {
        std::size_t sum = 0;
        for (const std::string& text : strings)
            sum += sizeof text + text.capacity();
        return sum;
    }

    ValueMemoryClaim claim;
    std::vector<std::string> values;
};

template <class To, class From> To convert(From value) {
    if constexpr (std::is_same_v<From, Half>)
        return convert<To>(halfToFloat(value));
    else if constexpr (std::is_same_v<From, BFloat>)
        return convert<To>(bfloatToFloat(value));
    else if constexpr (std::is_same_v<To, Half>)
        return floatToHalf(static_cast<float>(value));
    else if constexpr (std::is_same_v<To, BFloat>)
        return floatToBfloat(static_cast<float>(value));
    else if constexpr (std::is_same_v<To, bool>)
        return value != From{};
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
        return floatToInt<To>(static_cast<double>(value));
    else
        return static_cast<To>(value);
}

} // namespace

std::optional<std::int64_t> checkedElementCount(std::span<const std::int64_t> shape) {
    std::int64_t count = 1;
    bool empty = false;
    for (const std::int64_t extent : shape) {
        if (extent < 0)
            return std::nullopt;
        if (extent == 0)
            empty = true;
        else if (__builtin_mul_overflow(count, extent, &count))
            return std::nullopt;
    }
    return empty ? 0 : count;
}

std::int64_t elementCount(std::span<const std::int64_t> shape) {
    const auto count = checkedElementCount(shape);
    assert(count);
    return count.value_or(0);
}

Shape rowMajorStrides(std::span<const std::int64_t> shape) {
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;)
        strides[i - 1] = strides[i] * shape[i];
    return strides;
}

std::string shapeText(std::span<const std::int64_t> shape) {
    if (shape.empty())
        return "scalar";
    std::string text;
    for (const std::int64_t extent : shape)
        text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text;
}

Tensor Tensor::zeros(DType type, Shape shape) {
    if (type == DType::string) {
        const auto size = static_cast<std::size_t>(elementCount(shape));
        return ofStrings(std::move(shape), std::vector<std::string>(size));
    }
    Tensor tensor;
    tensor.type_ = type;
    tensor.count_ = elementCount(shape);
    tensor.shape_ = std::move(shape);
    const std::size_t rounded = (std::max<std::size_t>(tensor.byteCount(), 1) + kAlignment - 1) / kAlignment * kAlignment;
    auto memory = std::make_shared<const OwnBytes>(rounded);
    tensor.bytes_ = memory->data();
    tensor.owner_ = std::move(memory);
    return tensor;
}

Tensor Tensor::wrap(DType type, Shape shape, const std::byte* bytes, std::shared_ptr<const void> owner) {
    Tensor tensor;
    tensor.type_ = type;
    tensor.count_ = elementCount(shape);
    tensor.shape_ = std::move(shape);
    tensor.bytes_ = bytes;
    tensor.owner_ = std::move(owner);
    return tensor;
}

Tensor Tensor::ofStrings(Shape shape, std::vector<std::string> values) {
    Tensor tensor;
    tensor.type_ = DType::string;
    tensor.count_ = elementCount(shape);
    assert(values.size() == static_cast<std::size_t>(tensor.count_));
    tensor.shape_ = std::move(shape);
    tensor.owner_ = std::make_shared<const OwnStrings>(std::move(values));
    return tensor;
}

Tensor Tensor::ofInts(const std::vector<std::int64_t>& values) {
    return of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Tensor Tensor::sequence(std::vector<Tensor> elements) {
    Tensor tensor;
    tensor.holding_ = Holding::sequence;
    tensor.owner_ = std::make_shared<const std::vector<Tensor>>(std::move(elements));
    return tensor;
}

Tensor Tensor::nothing() {
    Tensor tensor;
    tensor.holding_ = Holding::nothing;
    return tensor;
}

const std::vector<Tensor>& Tensor::elements() const {
    assert(isSequence());
    return *static_cast<const std::vector<Tensor>*>(owner_.get());
}

std::span<std::byte> Tensor::mutableBytes() { return {const_cast<std::byte*>(bytes_), byteCount()}; }

const std::vector<std::string>& Tensor::strings() const {
    assert(type_ == DType::string);
    return static_cast<const OwnStrings*>(owner_.get())->values;
}

double Tensor::asDouble(std::int64_t index) const {
    assert(index >= 0 && index < count_);
    if (isStored(type_))
        return storedNumber(*this, index);
    return visitDType(type_, [&](auto tag) {
        using T = decltype(tag);
        return convert<double>(reinterpret_cast<const T*>(bytes_)[index]);
    });
}

std::int64_t Tensor::asInt(std::int64_t index) const {
    assert(index >= 0 && index < count_);
    if (isStored(type_))
        return convert<std::int64_t>(storedNumber(*this, index));
    return visitDType(type_, [&](auto tag) {
        using T = decltype(tag);
        return convert<std::int64_t>(reinterpret_cast<const T*>(bytes_)[index]);
    });
}

std::vector<std::int64_t> Tensor::asInts() const {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count_));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = asInt(static_cast<std::int64_t>(i));
    return values;
}

Tensor Tensor::reshaped(Shape shape) const {
    assert(elementCount(shape) == count_);
    Tensor tensor = *this;
    tensor.shape_ = std::move(shape);
    return tensor;
}

Tensor Tensor::viewedAs(DType type) const {
    assert(bitSize(type) == bitSize(type_));
    Tensor tensor = *this;
    tensor.type_ = type;
    return tensor;
}

Tensor Tensor::packedBytes() const {
    Tensor tensor = *this;
    tensor.type_ = DType::u8;
    tensor.count_ = static_cast<std::int64_t>(byteCount());
    tensor.shape_ = {tensor.count_};
    return tensor;
}

Tensor Tensor::cast(DType type) const {
    if (type == type_)
        return *this;
    if (isStored(type_))
        return widenStored(*this).cast(type);
    if (isStored(type))
        return narrowStored(*this, type);
    Tensor result = zeros(type, shape_);
    visitDType(type_, [&](auto from) {
        using From = decltype(from);
        visitDType(type, [&](auto to) {
            using To = decltype(to);
            const auto source = data<From>();
            const auto target = result.mutableData<To>();
            for (std::size_t i = 0; i < source.size(); ++i)
                target[i] = convert<To>(source[i]);
        });
    });
    return result;
}

std::uint64_t Tensor::hash() const {
    Hasher hasher;
    hasher.add(type_).add(shape_);
    if (isSequence())
        for (const Tensor& element : elements())
            hasher.add(element.hash());
    else if (type_ == DType::string)
        for (const auto& text : strings())
            hasher.add(std::string_view(text));
    else
        hasher.bytes(bytes_, byteCount());
    dropMappedPages(bytes());
    return hasher.value();
}

} // namespace tunesmith
