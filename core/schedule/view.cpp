// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/view.h"

#include <algorithm>

#include "core/ops/lower_node.h"
#include "core/ops/movement.h"

namespace tunesmith {
namespace {

struct Run {
    std::size_t axis;
    std::int64_t first; // index on the axis
};

std::int64_t fromFront(std::int64_t index, std::int64_t extent) { return index < 0 ? index + extent : index; }

std::optional<Run> gatheredRun(const OpInputs& in, const Shape& shape) {
    const auto axis = static_cast<std::size_t>(fromFront(in.node.intAttr("axis", 0), static_cast<std::int64_t>(shape.size())));
    if (!in.isConstant(1) || in.constant(1).count() != 1 || axis >= shape.size())
        return std::nullopt;
    const std::int64_t index = fromFront(in.constant(1).asInt(0), shape[axis]);
    return index >= 0 && index < shape[axis] ? std::optional(Run{axis, index}) : std::nullopt;
}

std::optional<Run> slicedRun(const OpInputs& in, const Shape& shape) {
    const auto starts = ops::intList(in, "starts", 1), axes = ops::intList(in, "axes", 3), steps = ops::intList(in, "steps", 4);
    const auto known = [](const Result<ops::IntList>& list) { return list.ok() && list->known; };
    const bool plain = known(starts) && known(axes) && known(steps) && starts->values.size() == 1 && axes->values.size() <= 1 &&
                       (!steps->given || steps->values == std::vector<std::int64_t>{1});
    if (!plain)
        return std::nullopt;
    const std::int64_t given = axes->given ? axes->values[0] : 0;
    const auto axis = static_cast<std::size_t>(fromFront(given, static_cast<std::int64_t>(shape.size())));
    if (axis >= shape.size())
        return std::nullopt;
    return Run{axis, std::clamp<std::int64_t>(fromFront(starts->values[0], shape[axis]), 0, shape[axis])};
}

// Whether a kernel computes the value, perhaps seen through nodes that move nothing.
bool computed(const Graph& graph, ValueId id) {
    for (;;) {
        const Value& value = graph.value(id);
        if (value.isConstant() || !value.producer.valid())
            return false;
        const Node& node = graph.node(value.producer);
        const Operator* op = findOperator(node.op, node.domain);
        const bool moves = op && (op->fusion == Fusion::alias || node.op == "Gather" || node.op == "Slice" || node.op == "Split");
        if (!moves)
            return true;
        id = node.inputs[0];
    }
}

bool isOutermost(const Shape& shape, std::size_t axis) {
    return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis), [](std::int64_t extent) { return extent == 1; });
}

} // namespace

bool splitsIntoViews(const Graph& graph, const Node& split) {
    const auto isStatic = [&](ValueId id) { return id.valid() && graph.value(id).type.isStatic(); };
    if (split.op != "Split" || !split.domain.empty() || !isStatic(split.inputs[0]) || !std::ranges::all_of(split.outputs, isStatic))
        return false;
    const Shape shape = graph.value(split.inputs[0]).type.shape();
    const auto axis = static_cast<std::size_t>(fromFront(split.intAttr("axis", 0), static_cast<std::int64_t>(shape.size())));
    const auto aligned = [&](ValueId id) {
        const TensorType& type = graph.value(id).type;
        const std::int64_t bytes = elementCount(type.shape()) * static_cast<std::int64_t>(byteSize(type.dtype));
        return bytes > 0 && bytes % kBufferAlignment == 0;
    };
    return shape.size() != 4 && isOutermost(shape, axis) && std::ranges::all_of(split.outputs, aligned) && computed(graph, split.inputs[0]);
}

std::optional<std::int64_t> viewOffset(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    if ((node.op != "Gather" && node.op != "Slice") || !node.domain.empty() || !checkLowerable(graph, id).ok())
        return std::nullopt;
    const TensorType &from = graph.value(node.inputs[0]).type, &to = graph.value(node.outputs[0]).type;
    if (!from.isStatic() || !to.isStatic() || from.dims->size() == 4 || elementCount(to.shape()) == 0 || !computed(graph, node.inputs[0]))
        return std::nullopt;
    const Shape shape = from.shape();
    const OpInputs in(graph, node);
    const auto run = node.op == "Gather" ? gatheredRun(in, shape) : slicedRun(in, shape);
    if (!run || !isOutermost(shape, run->axis))
        return std::nullopt;
    const std::int64_t inner = elementCount(std::span(shape).subspan(run->axis + 1));
    const std::int64_t offset = run->first * inner * static_cast<std::int64_t>(byteSize(from.dtype));
    return offset % kBufferAlignment == 0 ? std::optional(offset) : std::nullopt;
}

} // namespace tunesmith
