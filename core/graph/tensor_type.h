// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace tunesmith {

// One dimension of a tensor as a model states it: a number, a name ("batch"), or not known at all (both empty).
struct Dim {
    std::int64_t extent = -1; // >= 0 when known
    std::string symbol;       // the name of a symbolic dimension

    Dim() = default;
    Dim(std::int64_t value) : extent(value) {}
    static Dim named(std::string name) {
        Dim dim;
        dim.symbol = std::move(name);
        return dim;
    }
    bool known() const { return extent >= 0; }
    bool operator==(const Dim&) const = default;
};

using Dims = std::vector<Dim>;

std::string dimText(const Dim& dim); // "224", "batch" or "?"
Dims knownDims(const Shape& shape);

struct TensorType;

// A value that is no tensor. Sequences and optional values are computed by the reference engine; maps and the like are carried
// along as they are.
struct OpaqueType {
    enum class Kind : std::uint8_t { other, sequence, optional };
    std::string text;    // "a sequence of float32[2,?]"
    std::string encoded; // as the model has it, an onnx.TypeProto; empty where no model states it
    Kind kind = Kind::other;
    std::shared_ptr<const TensorType> element; // of a sequence or an optional value
};

// What is known of a value before it is computed. No dims: not even the rank is known.
struct TensorType {
    DType dtype = DType::undefined;
    std::optional<Dims> dims;
    std::shared_ptr<const OpaqueType> opaque; // then there is neither dtype nor dims

    TensorType() = default;
    TensorType(DType type) : dtype(type) {}
    TensorType(DType type, Dims dimensions) : dtype(type), dims(std::move(dimensions)) {}
    TensorType(DType type, const Shape& shape) : dtype(type), dims(knownDims(shape)) {}

    static TensorType sequenceOf(TensorType element);
    static TensorType optionalOf(TensorType element);
    bool is(OpaqueType::Kind kind) const { return opaque && opaque->kind == kind; }

    bool isStatic() const;    // rank and every extent known
    bool nestsTooDeep() const; // more containers in each other than models need: what goes through them recurses
    Shape shape() const;      // of a static type
    std::string text() const; // "float32[1,3,H,224]", "int64[?]" for an unknown rank
    bool operator==(const TensorType& other) const;
};

} // namespace tunesmith
