// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tunesmith::rewrite {

using NodeNo = std::uint32_t;

// Nodes of a draft by a hash of what they compute, so that a model of a million nodes becomes a draft in linear time. It is empty, and cheap to
// copy, in drafts of a search: their rewrites add a few nodes, which are compared one by one.
class FreshNodes {
public:
    std::size_t size() const { return size_; }
    void clear() { *this = {}; }

    void add(std::uint64_t key, NodeNo node) {
        if (2 * (size_ + 1) > slots_.size())
            grow();
        place(key, node);
        ++size_;
    }

    // The first node with this key for which isSame(node), or `none`.
    template <class IsSame> NodeNo find(std::uint64_t key, NodeNo none, IsSame isSame) const {
        for (std::size_t i = key & (slots_.size() - 1); slots_[i].second != kFree; i = (i + 1) & (slots_.size() - 1))
            if (slots_[i].first == key && isSame(slots_[i].second))
                return slots_[i].second;
        return none;
    }

private:
    static constexpr NodeNo kFree = static_cast<NodeNo>(-1);
    using Slot = std::pair<std::uint64_t, NodeNo>;

    void place(std::uint64_t key, NodeNo node) {
        std::size_t i = key & (slots_.size() - 1);
        while (slots_[i].second != kFree)
            i = (i + 1) & (slots_.size() - 1);
        slots_[i] = {key, node};
    }

    void grow() {
        const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 256 : 2 * slots_.size(), Slot(0, kFree)));
        for (const auto& [key, node] : old)
            if (node != kFree)
                place(key, node);
    }

    std::vector<Slot> slots_; // a power of two of them, at most half of them taken
    std::size_t size_ = 0;
};

} // namespace tunesmith::rewrite
