// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/index_limits.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace tunesmith {
namespace {

bool keepsValues(const Node& node) {
    constexpr std::array<std::string_view, 6> kKeeping{"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
    return node.domain.empty() && std::ranges::find(kKeeping, node.op) != kKeeping.end();
}

bool gathers(const Node& node) { return node.domain.empty() && (node.op == "Gather" || node.op == "GatherElements"); }

// Along its axis; 0 where that is not known.
std::int64_t extentOf(const Graph& graph, const Node& node) {
    const std::optional<Dims>& dims = graph.value(node.inputs[0]).type.dims;
    if (!dims || dims->empty())
        return 0;
    const auto rank = static_cast<std::int64_t>(dims->size());
    const std::int64_t asked = node.intAttr("axis", 0), axis = asked < 0 ? asked + rank : asked;
    return axis >= 0 && axis < rank && (*dims)[static_cast<std::size_t>(axis)].known() ? (*dims)[static_cast<std::size_t>(axis)].extent : 0;
}

std::int64_t limitOf(const Graph& graph, ValueId input) {
    std::int64_t limit = 0;
    std::set<ValueId> seen{input};
    std::vector<ValueId> left{input};
    while (!left.empty()) {
        const ValueId id = left.back();
        left.pop_back();
        for (const NodeId consumer : graph.consumers(id)) {
            const Node& node = graph.node(consumer);
            if (gathers(node) && node.hasInput(1) && node.inputs[1] == id)
                if (const std::int64_t extent = extentOf(graph, node); extent > 0)
                    limit = limit == 0 ? extent : std::min(limit, extent);
            if (keepsValues(node) && node.hasInput(0) && node.inputs[0] == id && seen.insert(node.outputs[0]).second)
                left.push_back(node.outputs[0]);
        }
    }
    return limit;
}

} // namespace

std::vector<std::int64_t> indexLimits(const Graph& model) {
    std::vector<std::int64_t> limits;
    for (const ValueId input : model.inputs()) {
        const DType type = model.value(input).type.dtype;
        limits.push_back(type == DType::i32 || type == DType::i64 ? limitOf(model, input) : 0);
    }
    return limits;
}

} // namespace tunesmith
