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

constexpr std::size_t kAlignment = 64;                            // a cache line, and the widest vector
constexpr std::int64_t kMostElements = std::int64_t{1} << 57; // whose bytes can be counted

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

constinit const Tensor::Body Tensor::kAbsent;

Tensor Tensor::zeros(DType type, Shape shape) {
    const auto count = checkedElementCount(shape);
    if (!count || *count > kMostElements)
        throw OutOfValueMemory();
    if (type == DType::undefined)
        return {};
    if (type == DType::string)
        return ofStrings(std::move(shape), std::vector<std::string>(static_cast<std::size_t>(*count)));
    const std::size_t rounded = (std::max<std::size_t>(storedBytes(type, *count), 1) + kAlignment - 1) / kAlignment * kAlignment;
    auto memory = std::make_shared<const OwnBytes>(rounded);
    const std::byte* const bytes = memory->data();
    return Tensor({type, Holding::tensor, std::move(shape), *count, bytes, std::move(memory)});
}

Tensor Tensor::wrap(DType type, Shape shape, const std::byte* bytes, std::shared_ptr<const void> owner) {
    const std::int64_t count = elementCount(shape);
    return Tensor({type, Holding::tensor, std::move(shape), count, bytes, std::move(owner)});
}

Tensor Tensor::ofStrings(Shape shape, std::vector<std::string> values) {
    const std::int64_t count = elementCount(shape);
    assert(values.size() == static_cast<std::size_t>(count));
    return Tensor({DType::string, Holding::tensor, std::move(shape), count, nullptr, std::make_shared<const OwnStrings>(std::move(values))});
}

Tensor Tensor::ofInts(const std::vector<std::int64_t>& values) {
    return of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Tensor Tensor::sequence(std::vector<Tensor> elements) {
    Body body;
    body.holding = Holding::sequence;
    body.owner = std::make_shared<const std::vector<Tensor>>(std::move(elements));
    return Tensor(std::move(body));
}

Tensor Tensor::nothing() {
    Body body;
    body.holding = Holding::nothing;
    return Tensor(std::move(body));
}

const std::vector<Tensor>& Tensor::elements() const {
    static const std::vector<Tensor> none;
    return isSequence() ? *static_cast<const std::vector<Tensor>*>(body().owner.get()) : none;
}

std::span<std::byte> Tensor::mutableBytes() { return {const_cast<std::byte*>(body().bytes), byteCount()}; }

const std::vector<std::string>& Tensor::strings() const {
    assert(type() == DType::string);
    return static_cast<const OwnStrings*>(body().owner.get())->values;
}

double Tensor::asDouble(std::int64_t index) const {
    if (!holdsNumbers())
        return 0;
    assert(index >= 0 && index < count());
    if (isStored(type()))
        return storedNumber(*this, index);
    return visitDType(type(), [&](auto tag) {
        using T = decltype(tag);
        return convert<double>(reinterpret_cast<const T*>(body().bytes)[index]);
    });
}

std::int64_t Tensor::asInt(std::int64_t index) const {
    if (!holdsNumbers())
        return 0;
    assert(index >= 0 && index < count());
    if (isStored(type()))
        return convert<std::int64_t>(storedNumber(*this, index));
    return visitDType(type(), [&](auto tag) {
        using T = decltype(tag);
        return convert<std::int64_t>(reinterpret_cast<const T*>(body().bytes)[index]);
    });
}

std::vector<std::int64_t> Tensor::asInts() const {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = asInt(static_cast<std::int64_t>(i));
    return values;
}

Tensor Tensor::reshaped(Shape shape) const {
    assert(elementCount(shape) == count());
    Body changed = body();
    changed.shape = std::move(shape);
    return Tensor(std::move(changed));
}

Tensor Tensor::viewedAs(DType type) const {
    assert(bitSize(type) == bitSize(this->type()));
    Body changed = body();
    changed.type = type;
    return Tensor(std::move(changed));
}

Tensor Tensor::packedBytes() const {
    const auto count = static_cast<std::int64_t>(byteCount());
    return wrap(DType::u8, {count}, body().bytes, body().owner);
}

Tensor Tensor::cast(DType type) const {
    if (type == this->type())
        return *this;
    if (!holdsNumbers() || type == DType::string || type == DType::undefined)
        return zeros(type, shape());
    if (isStored(this->type()))
        return widenStored(*this).cast(type);
    if (isStored(type))
        return narrowStored(*this, type);
    Tensor result = zeros(type, shape());
    visitDType(this->type(), [&](auto from) {
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
    hasher.add(type()).add(shape());
    if (isSequence())
        for (const Tensor& element : elements())
            hasher.add(element.hash());
    else if (type() == DType::string)
        for (const auto& text : strings())
            hasher.add(std::string_view(text));
    else
        hasher.bytes(body().bytes, byteCount());
    dropMappedPages(bytes());
    return hasher.value();
}

} // namespace tunesmith
