// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/draft_kernels.h"

#include <algorithm>

#include "core/schedule/view.h"

namespace tunesmith::optimize {
namespace {

constexpr std::size_t kLongestChain = 16;

// Whether the parts are runs of bytes of the whole, aligned like buffers of their own.
bool splitsInRows(const Draft& draft, NodeNo node) {
    const Shape& whole = draft.shape(draft.operand(node, 0));
    std::int64_t axis = draft.op(node).intAttr("axis", 0);
    axis += axis < 0 ? static_cast<std::int64_t>(whole.size()) : 0;
    if (whole.size() == 4 || std::any_of(whole.begin(), whole.begin() + axis, [](std::int64_t extent) { return extent != 1; }))
        return false;
    for (std::size_t i = 0; i < draft.node(node).outputs; ++i) {
        const std::int64_t bytes = elementCount(draft.shape(draft.output(node, i))) * static_cast<std::int64_t>(byteSize(draft.dtype(draft.output(node, i))));
        if (bytes % kBufferAlignment != 0)
            return false;
    }
    return true;
}

} // namespace

KernelFinder::Role KernelFinder::roleOf(const Draft& draft, NodeNo node) {
    const rewrite::OperatorNo number = draft.node(node).op;
    if (roles_.size() <= number)
        roles_.resize(number + 1, Role::unknown);
    if (roles_[number] != Role::unknown)
        return roles_[number];
    const Node& node_ = draft.op(node);
    const Operator* const op = findOperator(node_.op, node_.domain);
    Role role = Role::kernel;
    if (op && op->fusion == Fusion::elementwise)
        role = Role::elementwise;
    else if (op && op->fusion == Fusion::alias)
        role = Role::alias;
    else if (draft.is(node, "Split"))
        role = Role::split;
    return roles_[number] = role;
}

bool KernelFinder::isFree(const Draft& draft, NodeNo node) {
    switch (roleOf(draft, node)) {
    case Role::alias: return draft.node(node).outputs == 1;
    case Role::split: return splitsInRows(draft, node);
    default: return false;
    }
}

void KernelFinder::find(const Draft& draft, Kernels& kernels) {
    kernels.nodes.clear();
    kernels.ends.clear();
    taken_.assign(draft.nodes(), false);
    for (const NodeNo node : draft.order()) {
        if (taken_[node] || draft.isWeight(draft.output(node)) || isFree(draft, node))
            continue;
        const std::size_t begin = kernels.nodes.size();
        taken_[node] = true;
        kernels.nodes.push_back(node);
        follow(draft, kernels, begin);
        kernels.ends.push_back(static_cast<std::uint32_t>(kernels.nodes.size()));
    }
}

void KernelFinder::follow(const Draft& draft, Kernels& kernels, std::size_t begin) {
    while (joinNext(draft, kernels, begin)) {
    }
}

// The elementwise nodes that read the kernel's last value, up to where all of it has come together again.
bool KernelFinder::joinNext(const Draft& draft, Kernels& kernels, std::size_t begin) {
    const NodeNo last = kernels.nodes.back();
    if (draft.node(last).outputs != 1)
        return false;
    const ValueNo value = draft.output(last);
    const std::size_t before = kernels.nodes.size();
    std::vector<ValueNo> open{value};
    const auto joined = [&](NodeNo node) { return std::find(kernels.nodes.begin() + static_cast<std::ptrdiff_t>(before), kernels.nodes.end(), node) != kernels.nodes.end(); };
    const auto firstReader = [&](ValueNo of) {
        for (const NodeNo reader : draft.consumers(of))
            if (!joined(reader))
                return reader;
        return rewrite::kNone;
    };
    do {
        NodeNo next = rewrite::kNone;
        bool fits = kernels.nodes.size() - begin < kLongestChain;
        for (const ValueNo of : open) {
            fits = fits && !draft.isOutput(of);
            next = next == rewrite::kNone ? firstReader(of) : next;
        }
        fits = fits && next != rewrite::kNone && !taken_[next] && roleOf(draft, next) == Role::elementwise && draft.node(next).outputs == 1 &&
               draft.shape(draft.output(next)) == draft.shape(value);
        if (!fits) {
            kernels.nodes.resize(before);
            return false;
        }
        kernels.nodes.push_back(next);
        std::erase_if(open, [&](ValueNo of) { return firstReader(of) == rewrite::kNone; });
        open.push_back(draft.output(next));
    } while (open.size() > 1);
    for (std::size_t i = before; i < kernels.nodes.size(); ++i)
        taken_[kernels.nodes[i]] = true;
    return true;
}

} // namespace tunesmith::optimize
