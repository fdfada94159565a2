// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/copied_size.h"

#include "core/graph/graph.h"

namespace tunesmith {
namespace {

constexpr std::size_t kUsualBytes = 512; // of a node's name and attributes

// Tensors are shared by copies.
struct Bytes {
    template <class T> std::size_t operator()(const T& /*number*/) const { return sizeof(T); }
    std::size_t operator()(const std::string& text) const { return text.size(); }
    template <class T> std::size_t operator()(const std::vector<T>& list) const {
        std::size_t sum = 0;
        for (const T& each : list)
            sum += sizeof(T) + (*this)(each);
        return sum;
    }
    std::size_t operator()(const std::shared_ptr<const Graph>& body) const { return kUsualBytes * copiedSize(*body); }
};

} // namespace

std::size_t copiedSize(const Node& node) {
    std::size_t bytes = node.name.size();
    for (const auto& [key, attribute] : node.attributes)
        bytes += key.size() + std::visit(Bytes(), attribute);
    return 1 + bytes / kUsualBytes;
}

std::size_t copiedSize(const Graph& body) {
    std::size_t size = 0;
    for (const auto& node : body.nodes())
        size += copiedSize(*node);
    for (const auto& value : body.values())
        size += value->name.size() / kUsualBytes;
    return size;
}

} // namespace tunesmith
