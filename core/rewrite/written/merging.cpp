// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/merging.h"

#include <algorithm>

#include "core/rewrite/written/inspect.h"

namespace tunesmith::rewrite {

std::string_view replaceAll(Draft& draft, std::span<const ValueNo> values, ValueNo firstPart) {
    if (firstPart == kNone)
        return "the shapes do not allow it";
    for (std::size_t i = 0; i < values.size(); ++i)
        if (draft.value(values[i]).type != draft.value(firstPart + static_cast<ValueNo>(i)).type)
            return "a part would have another shape";
    for (std::size_t i = 0; i < values.size(); ++i)
        draft.replace(values[i], firstPart + static_cast<ValueNo>(i));
    return {};
}

NodeNo splitOf(const Draft& draft, std::span<const ValueNo> parts) {
    const NodeNo split = parts.empty() ? kNone : madeBy(draft, parts[0], "Split");
    if (split == kNone || draft.node(split).outputs != parts.size())
        return kNone;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i] != draft.output(split, i))
            return kNone;
    return split;
}

std::size_t axisOf(const Draft& draft, NodeNo node) {
    const std::int64_t axis = draft.op(node).intAttr("axis", 0);
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(draft.shape(draft.operand(node, 0)).size()) : axis);
}

std::vector<std::int64_t> extentsOf(const Draft& draft, NodeNo split) {
    std::vector<std::int64_t> extents;
    const std::size_t axis = axisOf(draft, split);
    for (std::size_t i = 0; i < draft.node(split).outputs; ++i)
        extents.push_back(draft.shape(draft.output(split, i))[axis]);
    return extents;
}

NodeNo onlyReader(const Draft& draft, ValueNo value) {
    const auto readers = draft.consumers(value);
    return readers.size() == 1 && !draft.isOutput(value) ? readers[0] : kNone;
}

ValueNo randomWeight(Draft& draft, const Shape& shape, Rng& rng) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& x : tensor.mutableData<float>())
        x = static_cast<float>(static_cast<std::int64_t>(rng.below(7)) - 3);
    return draft.constant(tensor);
}

} // namespace tunesmith::rewrite
