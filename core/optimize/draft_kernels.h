// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"
#include "core/rewrite/draft.h"

namespace tunesmith::optimize {

using rewrite::Draft;
using rewrite::DraftNode;
using rewrite::NodeNo;
using rewrite::ValueNo;

// Which nodes of a draft share a kernel, as the compiler will have it (schedule/group.h): an operator and the elementwise ones that follow.
// What only renames bytes, and what depends on constants only, needs no kernel. Remembers what operators are: keep one for many drafts
// of one table.
class KernelFinder {
public:
    // Nodes of all kernels in one list; `ends` says where each ends.
    struct Kernels {
        std::vector<NodeNo> nodes;
        std::vector<std::uint32_t> ends;
        std::size_t size() const { return ends.size(); }
        std::span<const NodeNo> operator[](std::size_t kernel) const {
            const std::uint32_t begin = kernel == 0 ? 0 : ends[kernel - 1];
            return {nodes.data() + begin, ends[kernel] - begin};
        }
    };
    void find(const Draft& draft, Kernels& kernels);
    bool isFree(const Draft& draft, NodeNo node); // needs no kernel, whatever is around it; what has shapes that are not static does
    bool mayJoin(const Draft& draft, NodeNo node) { return roleOf(draft, node) == Role::elementwise; } // the kernel of what it reads

private:
    enum class Role : std::uint8_t { unknown, kernel, elementwise, alias, split, cut };
    Role roleOf(const Draft& draft, NodeNo node);
    void follow(const Draft& draft, Kernels& kernels, std::size_t begin);
    bool joinNext(const Draft& draft, Kernels& kernels, std::size_t begin);

    std::vector<Role> roles_; // by operator
    std::vector<bool> taken_; // by node
    std::vector<std::uint32_t> places_; // by node, in the draft's order
};

} // namespace tunesmith::optimize
