// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/sub_buffers.h"

#include <algorithm>

#include "core/schedule/view.h"

namespace tunesmith {

using loops::Layout;

std::optional<std::vector<std::int64_t>> concatSlices(const Graph& graph, const Node& concat, const LayoutPlan& layouts) {
    const TensorType& type = graph.value(concat.outputs[0]).type;
    const auto rank = static_cast<std::int64_t>(type.dims->size());
    std::int64_t axis = concat.intAttr("axis", 1);
    axis += axis < 0 ? rank : 0;
    const Layout layout = layoutOf(layouts, graph, concat.outputs[0]);
    const Shape physical = layout.physicalShape(type.shape());
    for (std::size_t i = 0; i < physical.size(); ++i) {
        if (layout.axes()[i].dim == static_cast<std::size_t>(axis))
            break;
        if (physical[i] != 1)
            return std::nullopt;
    }
    const std::int64_t block = axis == 1 ? channelBlock(layout) : 1;
    std::vector<std::int64_t> offsets;
    std::int64_t offset = 0;
    for (const ValueId input : concat.inputs) {
        const Shape shape = graph.value(input).type.shape();
        if (shape[static_cast<std::size_t>(axis)] % block != 0 || elementCount(shape) == 0 || offset % kBufferAlignment != 0)
            return std::nullopt;
        offsets.push_back(offset);
        offset += layout.elementCount(shape) * static_cast<std::int64_t>(byteSize(type.dtype));
    }
    return offsets;
}

bool isSlicedConcat(const Graph& graph, const KernelGroup& group, const LayoutPlan& layouts) {
    const Node& node = graph.node(group.nodes[0]);
    return group.kind == KernelGroup::Kind::kernel && group.nodes.size() == 1 && node.op == "Concat" && concatSlices(graph, node, layouts).has_value();
}

std::map<ValueId, SubBuffer> findSubBuffers(const Graph& graph, const std::vector<KernelGroup>& groups, const LayoutPlan& layouts) {
    std::map<ValueId, SubBuffer> found;
    std::map<ValueId, bool> writable; // made by a kernel as the only output of its group
    for (const KernelGroup& group : groups)
        if (group.kind == KernelGroup::Kind::kernel && group.outputs.size() == 1)
            writable[group.outputs[0]] = true;
    const auto isOutput = [&](ValueId id) { return std::find(graph.outputs().begin(), graph.outputs().end(), id) != graph.outputs().end(); };
    for (const KernelGroup& group : groups) {
        const Node& node = graph.node(group.nodes[0]);
        if (!isSlicedConcat(graph, group, layouts))
            continue;
        const auto slices = concatSlices(graph, node, layouts);
        const Layout layout = layoutOf(layouts, graph, node.outputs[0]);
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId input = node.inputs[i];
            if (writable.contains(input) && !found.contains(input) && !isOutput(input) && layoutOf(layouts, graph, input) == layout)
                found[input] = {node.outputs[0], (*slices)[i]};
        }
    }
    return found;
}

} // namespace tunesmith
