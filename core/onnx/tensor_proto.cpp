// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/tensor_proto.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/base/mapped_ranges.h"
#include "core/onnx/proto.h"
#include "core/onnx/utf8.h"

namespace tunesmith {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little endian and taken as it is");

constexpr std::size_t kSmall = 4096; // below: copied, aligned, one block less to keep
constexpr std::uint64_t kLargestDense = std::uint64_t{3} << 25; // bytes of all sparse tensors of a model
constexpr std::uint64_t kDataAlignment = 64;

Result<DType> readType(int number) {
    const DType type = dtypeFromNumber(number);
    if (type == DType::undefined)
        return unsupportedError(
            "its element type " +
            (onnx::TensorProto::DataType_IsValid(number)
                 ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(number))
                 : "number " + std::to_string(number)) +
            " is not supported");
    return type;
}

Result<Shape> readShape(const google::protobuf::RepeatedField<google::protobuf::int64>& dims, DType type) {
    Shape shape(dims.begin(), dims.end());
    const auto count = checkedElementCount(shape);
    std::int64_t bytes = 0;
    if (!count || __builtin_mul_overflow(
                      *count, static_cast<std::int64_t>(std::max<std::size_t>(byteSize(type), 1)), &bytes))
        return inputError("its shape is not possible");
    return shape;
}

Error sizeError(std::uint64_t held, const char* unit, const Shape& shape, std::uint64_t needed) {
    return inputError("it holds " + std::to_string(held) + unit + ", but its shape " + shapeText(shape) +
                      " needs " + std::to_string(needed));
}

// bool is one byte of 0 or 1; a file may hold anything.
Tensor withLegalBools(Tensor tensor) {
    const auto odd = [](std::byte byte) { return byte > std::byte{1}; };
    if (tensor.type() != DType::boolean || std::none_of(tensor.bytes().begin(), tensor.bytes().end(), odd))
        return tensor;
    Tensor result = Tensor::zeros(DType::boolean, tensor.shape());
    std::transform(tensor.bytes().begin(), tensor.bytes().end(), result.mutableBytes().begin(),
                   [](std::byte byte) { return std::byte{byte != std::byte{0}}; });
    return result;
}

// The bits of a packed tensor's last byte that are elements; a file may hold anything in the others.
std::byte lastBits(DType type, const Shape& shape) {
    const std::int64_t used = isPacked(type) ? elementCount(shape) * bitSize(type) % 8 : 0;
    return static_cast<std::byte>(used == 0 ? 0xff : (1 << used) - 1);
}
bool hasCleanEnd(DType type, const Shape& shape, std::span<const std::byte> bytes) {
    return bytes.empty() || (bytes.back() & ~lastBits(type, shape)) == std::byte{0};
}
void cleanEnd(Tensor& tensor) {
    if (isPacked(tensor.type()) && tensor.count() > 0)
        tensor.mutableBytes().back() &= lastBits(tensor.type(), tensor.shape());
}

Tensor wrapOrCopy(DType type, Shape shape, std::span<const std::byte> bytes,
                  std::shared_ptr<const void> owner) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % std::max<std::size_t>(byteSize(type), 1) == 0;
    if (bytes.size() > kSmall && aligned && hasCleanEnd(type, shape, bytes))
        return withLegalBools(Tensor::wrap(type, std::move(shape), bytes.data(), std::move(owner)));
    Tensor tensor = Tensor::zeros(type, std::move(shape));
    std::copy(bytes.begin(), bytes.end(), tensor.mutableBytes().begin());
    cleanEnd(tensor);
    return withLegalBools(std::move(tensor));
}

Result<Tensor> takeRaw(onnx::TensorProto& proto, DType type, Shape shape) {
    const std::size_t needed = storedBytes(type, elementCount(shape));
    if (proto.raw_data().size() != needed)
        return sizeError(proto.raw_data().size(), " bytes", shape, needed);
    const std::shared_ptr<const std::string> owner(proto.release_raw_data());
    return wrapOrCopy(type, std::move(shape), std::as_bytes(std::span(*owner)), owner);
}

template <class Field> Result<Tensor> takeTyped(Field& field, DType type, Shape shape) {
    const auto count = static_cast<std::size_t>(elementCount(shape));
    if (static_cast<std::size_t>(field.size()) != count)
        return sizeError(static_cast<std::size_t>(field.size()), " elements", shape, count);
    Tensor tensor = Tensor::zeros(type, std::move(shape));
    visitDType(type, [&](auto tag) {
        using T = decltype(tag);
        const auto target = tensor.mutableData<T>();
        for (std::size_t i = 0; i < count; ++i) {
            const auto value = field.Get(static_cast<int>(i));
            if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
                target[i] = T{static_cast<std::uint16_t>(value)};
            else
                target[i] = static_cast<T>(value);
        }
    });
    Field().Swap(&field); // Clear() would keep the memory
    return tensor;
}

// One byte for each number of the field: an element of 8 bits, or several smaller ones.
Result<Tensor> takeCodes(onnx::TensorProto& proto, DType type, Shape shape) {
    const std::size_t needed = storedBytes(type, elementCount(shape));
    if (static_cast<std::size_t>(proto.int32_data_size()) != needed)
        return sizeError(static_cast<std::size_t>(proto.int32_data_size()), " numbers", shape, needed);
    Tensor tensor = Tensor::zeros(type, std::move(shape));
    std::transform(proto.int32_data().begin(), proto.int32_data().end(), tensor.mutableBytes().begin(),
                   [](std::int32_t code) { return static_cast<std::byte>(code); });
    cleanEnd(tensor);
    google::protobuf::RepeatedField<google::protobuf::int32>().Swap(proto.mutable_int32_data());
    return tensor;
}

Result<Tensor> takeStrings(onnx::TensorProto& proto, Shape shape) {
    const auto count = static_cast<std::size_t>(elementCount(shape));
    if (static_cast<std::size_t>(proto.string_data_size()) != count)
        return sizeError(static_cast<std::size_t>(proto.string_data_size()), " strings", shape, count);
    std::vector<std::string> values(proto.string_data().begin(), proto.string_data().end());
    return Tensor::ofStrings(std::move(shape), std::move(values));
}

Result<Tensor> takeFields(onnx::TensorProto& proto, DType type, Shape shape) {
    if (isStored(type))
        return takeCodes(proto, type, std::move(shape));
    switch (type) {
    case DType::string:
        return takeStrings(proto, std::move(shape));
    case DType::f32:
        return takeTyped(*proto.mutable_float_data(), type, std::move(shape));
    case DType::f64:
        return takeTyped(*proto.mutable_double_data(), type, std::move(shape));
    case DType::i64:
        return takeTyped(*proto.mutable_int64_data(), type, std::move(shape));
    case DType::u32:
    case DType::u64:
        return takeTyped(*proto.mutable_uint64_data(), type, std::move(shape));
    default:
        return takeTyped(*proto.mutable_int32_data(), type, std::move(shape));
    }
}

Result<std::uint64_t> naturalNumber(const std::string& key, const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return inputError("its external data has a bad " + key);
    return value;
}

Result<ExternalPlace> readPlace(const onnx::TensorProto& proto) {
    ExternalPlace place;
    for (const auto& entry : proto.external_data()) {
        if (entry.key() == "location") {
            place.location = entry.value();
        } else if (entry.key() == "offset") {
            TS_ASSIGN(place.offset, naturalNumber("offset", entry.value()));
        } else if (entry.key() == "length") {
            TS_ASSIGN(place.length, naturalNumber("length", entry.value()));
            place.hasLength = true;
        }
    }
    return place;
}

Result<std::vector<std::int64_t>> flatIndices(const Tensor& indices, std::int64_t entries,
                                              const Shape& shape) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    const bool linear = indices.type() == DType::i64 && indices.shape() == Shape{entries};
    if (!linear && !(indices.type() == DType::i64 && indices.shape() == Shape{entries, rank}))
        return inputError("its indices do not fit its values");
    const Shape strides = rowMajorStrides(shape);
    const auto data = indices.data<std::int64_t>();
    std::vector<std::int64_t> flat(static_cast<std::size_t>(entries), 0);
    for (std::size_t i = 0; i < flat.size(); ++i) {
        for (std::size_t axis = 0; !linear && axis < shape.size(); ++axis) {
            const std::int64_t index = data[i * shape.size() + axis];
            if (index < 0 || index >= shape[axis])
                return inputError("it has an index outside its shape");
            flat[i] += index * strides[axis];
        }
        if (linear)
            flat[i] = data[i];
        if (flat[i] < 0 || flat[i] >= elementCount(shape))
            return inputError("it has an index outside its shape");
    }
    return flat;
}

Error named(const Error& error, const std::string& what) {
    return error.within(what);
}

} // namespace

Result<Tensor> TensorReader::readExternal(const onnx::TensorProto& proto, DType type, Shape shape) {
    if (type == DType::string)
        return unsupportedError("strings cannot be external data");
    TS_ASSIGN(const ExternalPlace place, readPlace(proto));
    const std::uint64_t size = storedBytes(type, elementCount(shape));
    TS_ASSIGN(MappedBytes mapped, files_.map(place, size));
    return wrapOrCopy(type, std::move(shape), mapped.bytes, std::move(mapped.owner));
}

Result<Tensor> TensorReader::read(onnx::TensorProto& proto, const std::string& what) {
    const auto body = [&]() -> Result<Tensor> {
        TS_ASSIGN(const DType type, readType(proto.data_type()));
        TS_ASSIGN(Shape shape, readShape(proto.dims(), type));
        if (proto.has_segment())
            return unsupportedError("it is stored in segments, which is not supported");
        if (proto.data_location() == onnx::TensorProto::EXTERNAL)
            return readExternal(proto, type, std::move(shape));
        if (proto.has_raw_data() && type != DType::string)
            return takeRaw(proto, type, std::move(shape));
        return takeFields(proto, type, std::move(shape));
    };
    auto tensor = body();
    return tensor.ok() ? std::move(tensor) : named(tensor.error(), what);
}

Result<Tensor> TensorReader::readSparse(onnx::SparseTensorProto& proto, const std::string& what) {
    const auto body = [&]() -> Result<Tensor> {
        TS_ASSIGN(const Tensor values, read(*proto.mutable_values(), "values"));
        TS_ASSIGN(const Tensor indices, read(*proto.mutable_indices(), "indices"));
        TS_ASSIGN(const Shape shape, readShape(proto.dims(), values.type()));
        const std::size_t size = byteSize(values.type());
        if (size == 0 || values.rank() != 1)
            return unsupportedError("this kind of sparse tensor is not supported");
        const std::uint64_t bytes = static_cast<std::uint64_t>(elementCount(shape)) * size;
        if (bytes > kLargestDense - std::min(dense_, kLargestDense))
            return unsupportedError("as a dense tensor of shape " + shapeText(shape) +
                                    " it would be too large" + (dense_ > 0 ? " together with the sparse tensors before it" : ""));
        dense_ += bytes;
        TS_ASSIGN(const std::vector<std::int64_t> places, flatIndices(indices, values.count(), shape));
        Tensor dense = Tensor::zeros(values.type(), shape);
        for (std::size_t i = 0; i < places.size(); ++i)
            std::memcpy(dense.mutableBytes().data() + static_cast<std::size_t>(places[i]) * size,
                        values.bytes().data() + i * size, size);
        return dense;
    };
    auto tensor = body();
    return tensor.ok() ? std::move(tensor) : named(tensor.error(), what);
}

std::uint64_t ExternalSink::add(const Tensor& tensor) {
    const auto [known, added] = offsets_.try_emplace({tensor.bytes().data(), tensor.byteCount()});
    if (!added)
        return known->second;
    const std::uint64_t offset = (end_ + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    entries_.push_back({offset, tensor});
    end_ = offset + tensor.byteCount();
    return known->second = offset;
}

void writeTensorProto(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto,
                      ExternalSink* sink) {
    if (!name.empty())
        proto.set_name(name);
    proto.set_data_type(static_cast<int>(tensor.type()));
    for (const std::int64_t extent : tensor.shape())
        proto.add_dims(extent);
    if (tensor.type() == DType::string) {
        for (const std::string& text : tensor.strings())
            proto.add_string_data(text);
        return;
    }
    if (!sink || !sink->wants(tensor)) {
        proto.set_raw_data(tensor.bytes().data(), tensor.byteCount());
        dropMappedPages(tensor.bytes());
        return;
    }
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
        auto* pair = proto.add_external_data();
        pair->set_key(key);
        pair->set_value(value);
    };
    entry("location", sink->location());
    entry("offset", std::to_string(sink->add(tensor)));
    entry("length", std::to_string(tensor.byteCount()));
}

} // namespace tunesmith
