// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/copied_strings.h"

#include "core/base/memory_budget.h"

namespace tunesmith {
namespace {

using TextAt = std::function<const std::string&(std::int64_t)>;

std::size_t sizesOf(std::int64_t count, const TextAt& textAt) {
    std::size_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += sizeof(std::string) + textAt(i).size();
    return sum;
}

std::vector<std::string> copies(std::int64_t count, const TextAt& textAt) {
    const ValueMemoryClaim whileMade(sizesOf(count, textAt));
    std::vector<std::string> texts;
    texts.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        texts.push_back(textAt(i));
    return texts;
}

} // namespace

Tensor copyStrings(Shape shape, const TextAt& textAt) {
    auto texts = copies(elementCount(shape), textAt);
    return Tensor::ofStrings(std::move(shape), std::move(texts));
}

std::int64_t heldBytes(const Tensor& tensor) {
    if (tensor.type() != DType::string)
        return static_cast<std::int64_t>(tensor.byteCount());
    return static_cast<std::int64_t>(sizesOf(tensor.count(), [&](std::int64_t i) -> const std::string& { return tensor.strings()[static_cast<std::size_t>(i)]; }));
}

} // namespace tunesmith
