// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/tensor_type.h"

#include <algorithm>

namespace tunesmith {

std::string dimText(const Dim& dim) {
    if (dim.known())
        return std::to_string(dim.extent);
    return dim.symbol.empty() ? "?" : dim.symbol;
}

Dims knownDims(const Shape& shape) { return {shape.begin(), shape.end()}; }

bool TensorType::isStatic() const {
    return dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known(); });
}

Shape TensorType::shape() const {
    assert(isStatic());
    Shape shape;
    for (const Dim& dim : *dims)
        shape.push_back(dim.extent);
    return shape;
}

bool TensorType::nestsTooDeep() const {
    constexpr int kDeepest = 8;
    int depth = 0;
    for (const TensorType* inner = this; inner->opaque && inner->opaque->element && depth <= kDeepest; inner = inner->opaque->element.get())
        ++depth;
    return depth > kDeepest;
}

bool TensorType::operator==(const TensorType& other) const {
    if (!opaque || !other.opaque)
        return opaque == other.opaque && dtype == other.dtype && dims == other.dims;
    if (opaque->kind != OpaqueType::Kind::other)
        return opaque->kind == other.opaque->kind && *opaque->element == *other.opaque->element;
    return opaque->kind == other.opaque->kind && opaque->encoded == other.opaque->encoded;
}

namespace {

TensorType containerOf(OpaqueType::Kind kind, const char* words, TensorType element) {
    const bool known = element.opaque || element.dtype != DType::undefined;
    std::string text = words + (known ? element.text() : std::string("something unknown"));
    TensorType type;
    type.opaque = std::make_shared<const OpaqueType>(
        OpaqueType{std::move(text), {}, kind, std::make_shared<const TensorType>(std::move(element))});
    return type;
}

} // namespace

TensorType TensorType::sequenceOf(TensorType element) {
    return containerOf(OpaqueType::Kind::sequence, "a sequence of ", std::move(element));
}

TensorType TensorType::optionalOf(TensorType element) {
    return containerOf(OpaqueType::Kind::optional, "an optional value: ", std::move(element));
}

std::string TensorType::text() const {
    if (opaque)
        return opaque->text;
    std::string text(dtypeName(dtype));
    if (!dims)
        return text + "[...]";
    constexpr std::size_t kShown = 64; // no model has more
    text += '[';
    for (std::size_t i = 0; i < std::min(dims->size(), kShown); ++i)
        text += (i ? "," : "") + dimText((*dims)[i]);
    return text + (dims->size() > kShown ? ",...] of " + std::to_string(dims->size()) + " dimensions" : "]");
}

} // namespace tunesmith
