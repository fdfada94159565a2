// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/layout_candidates.h"

#include <algorithm>

namespace tunesmith {

using loops::Layout;

namespace {

void addOnce(std::vector<Layout>& layouts, const Layout& layout) {
    if (std::ranges::find(layouts, layout) == layouts.end())
        layouts.push_back(layout);
}

std::vector<std::int64_t> blocksByWork(std::int64_t channels, const Target& target) {
    std::vector<std::int64_t> blocks;
    for (std::int64_t block = target.floatLanes(); block >= 4 && channels >= 4; block /= 2)
        blocks.push_back(block);
    std::ranges::stable_sort(blocks, {}, [&](std::int64_t block) { return busyLanes(channels, block, target); });
    return blocks;
}

} // namespace

std::int64_t busyLanes(std::int64_t channels, std::int64_t block, const Target& target) {
    return (channels + block - 1) / block * std::max<std::int64_t>(block, target.floatLanes() / 2);
}

std::vector<Layout> outputCandidates(const Graph& graph, const KernelGroup& group, const Layout& given, const Target& target, std::size_t most) {
    std::vector<Layout> layouts{given};
    if (!carriesChannels(graph, group))
        return layouts;
    for (const std::int64_t block : blocksByWork(graph.value(group.outputs[0]).type.shape()[1], target))
        addOnce(layouts, Layout::blocked(4, 1, block));
    const bool convolves = graph.node(group.nodes.front()).op == "Conv";
    const std::size_t place = convolves ? layouts.size() : std::min<std::size_t>(layouts.size(), 2); // only there it costs little
    if (given != Layout::rowMajor(4))
        layouts.insert(layouts.begin() + static_cast<std::ptrdiff_t>(place), Layout::rowMajor(4));
    layouts.resize(std::min(layouts.size(), std::max<std::size_t>(most, 1)), given);
    return layouts;
}

std::vector<Layout> readCandidates(const Graph& graph, const KernelGroup& group, ValueId input, const Layout& given,
                                   const std::vector<Layout>& made, const Target& target, std::size_t most) {
    std::vector<Layout> layouts{given};
    for (const Layout& layout : made)
        addOnce(layouts, layout);
    const Node& head = graph.node(group.nodes.front());
    if (head.op == "Conv" && head.inputs[0] == input && given.isRowMajor())
        if (const auto blocks = blocksByWork(graph.value(input).type.shape()[1], target); !blocks.empty())
            addOnce(layouts, Layout::blocked(4, 1, blocks.front()));
    layouts.resize(std::min(layouts.size(), std::max<std::size_t>(most, 1)), given);
    return layouts;
}

} // namespace tunesmith
