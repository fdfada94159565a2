// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/write_nodes.h"

#include <algorithm>

namespace tunesmith::rewrite {

ValueNo addSplit(Draft& draft, ValueNo value, std::int64_t axis, const std::vector<std::int64_t>& extents) {
    if (value == kNone)
        return kNone;
    if (draft.table().opset() < 13)
        return draft.add("Split", {value}, {{"axis", axis}, {"split", extents}}, extents.size());
    return draft.add("Split", {value, draft.constant(Tensor::ofInts(extents))}, {{"axis", axis}}, extents.size());
}

ValueNo addConcat(Draft& draft, const std::vector<ValueNo>& values, std::int64_t axis) {
    return values.size() == 1 ? values[0] : draft.add(draft.table().add("Concat", {{"axis", axis}}), values);
}

ValueNo addReshape(Draft& draft, ValueNo value, const Shape& shape) {
    if (value == kNone || elementCount(shape) != elementCount(draft.shape(value)))
        return kNone;
    return draft.shape(value) == shape ? value : draft.add("Reshape", {value, draft.constant(Tensor::ofInts(shape))});
}

ValueNo addTranspose(Draft& draft, ValueNo value, const std::vector<std::int64_t>& perm) {
    return std::ranges::is_sorted(perm) ? value : draft.add("Transpose", {value}, {{"perm", perm}});
}

ValueNo addZeros(Draft& draft, ValueNo value, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end) {
    std::vector<std::int64_t> pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    if (value == kNone || std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; }))
        return value;
    if (draft.table().opset() < 11)
        return draft.add("Pad", {value}, {{"pads", pads}});
    return draft.add("Pad", {value, draft.constant(Tensor::ofInts(pads))});
}

ValueNo scalar(Draft& draft, DType type, double number) { return draft.constant(Tensor::scalar(number).cast(type)); }

ValueNo addRelu(Draft& draft, ValueNo value) { return draft.add("Relu", {value}); }

} // namespace tunesmith::rewrite
