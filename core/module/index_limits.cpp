// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/index_limits.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace tunesmith {
namespace {

bool isIndexType(DType type) { return type == DType::i32 || type == DType::i64; }

bool keepsValues(const Node& node) {
    constexpr std::array<std::string_view, 6> kKeeping{"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
    const bool cast = node.op == "Cast" && isIndexType(static_cast<DType>(node.intAttr("to", 0)));
    return node.domain.empty() && (cast || std::ranges::find(kKeeping, node.op) != kKeeping.end());
}

IndexRange common(const IndexRange& a, const IndexRange& b) { return {std::max(a.least, b.least), std::min(a.most, b.most)}; }

IndexRange limitOf(const Graph& graph, ValueId input) {
    IndexRange limit;
    std::set<ValueId> seen{input};
    std::vector<ValueId> left{input};
    while (!left.empty()) {
        const ValueId id = left.back();
        left.pop_back();
        for (const NodeId consumer : graph.consumers(id)) {
            const Node& node = graph.node(consumer);
            for (const IndexInput& index : indexInputs(graph, node))
                if (node.inputs[index.input] == id)
                    limit = common(limit, index.range);
            if (keepsValues(node) && node.hasInput(0) && node.inputs[0] == id && seen.insert(node.outputs[0]).second)
                left.push_back(node.outputs[0]);
        }
    }
    return limit;
}

} // namespace

std::vector<IndexRange> indexLimits(const Graph& model) {
    std::vector<IndexRange> limits;
    for (const ValueId input : model.inputs())
        limits.push_back(isIndexType(model.value(input).type.dtype) ? limitOf(model, input) : IndexRange());
    return limits;
}

Status checkIndices(const Graph& model, const std::vector<Tensor>& inputs) {
    const std::vector<IndexRange> limits = indexLimits(model);
    for (std::size_t i = 0; i < limits.size(); ++i)
        for (std::int64_t element = 0; !limits[i].isOpen() && element < inputs[i].count(); ++element)
            if (const std::int64_t index = inputs[i].asInt(element); index < limits[i].least || index > limits[i].most)
                return inputError("input '" + model.value(model.inputs()[i]).name + "': index " + std::to_string(index) + " (element " +
                                  std::to_string(element) + ") is out of range: it must be from " + std::to_string(limits[i].least) + " to " +
                                  std::to_string(limits[i].most));
    return {};
}

} // namespace tunesmith
