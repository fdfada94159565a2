// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/draft_kernels.h"

#include <algorithm>

#include "core/rewrite/written/inspect.h"
#include "core/schedule/view.h"

namespace tunesmith::optimize {
namespace {

constexpr std::size_t kLongestChain = 16;

std::size_t fromFront(std::int64_t axis, std::size_t rank) { return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis); }

bool isOutermost(const Shape& shape, std::size_t axis) {
    return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis), [](std::int64_t extent) { return extent == 1; });
}

// Whether a kernel computes the value, perhaps seen through nodes that move nothing.
bool isComputed(const Draft& draft, ValueNo value) {
    for (NodeNo node = draft.value(value).maker; node != rewrite::kNone; node = draft.value(draft.operand(node, 0)).maker) {
        const Operator* const op = findOperator(draft.op(node).op, draft.op(node).domain);
        const bool moves = op && (op->fusion == Fusion::alias || draft.is(node, "Gather") || draft.is(node, "Slice") || draft.is(node, "Split"));
        if (!moves)
            return !draft.isWeight(value);
    }
    return false;
}

std::int64_t bufferBytes(const Draft& draft, ValueNo value) { return elementCount(draft.shape(value)) * static_cast<std::int64_t>(byteSize(draft.dtype(value))); }

// Whether the parts are runs of bytes of the whole, aligned like buffers of their own (schedule/view.h).
bool splitsInRows(const Draft& draft, NodeNo node) {
    const Shape& whole = draft.shape(draft.operand(node, 0));
    if (whole.size() == 4 || !isOutermost(whole, fromFront(draft.op(node).intAttr("axis", 0), whole.size())))
        return false;
    for (std::size_t i = 0; i < draft.node(node).outputs; ++i)
        if (const std::int64_t bytes = bufferBytes(draft, draft.output(node, i)); bytes == 0 || bytes % kBufferAlignment != 0)
            return false;
    return isComputed(draft, draft.operand(node, 0));
}

// The same of one run that a Gather of one index or a Slice cuts out.
bool takesRows(const Draft& draft, NodeNo node) {
    const ValueNo from = draft.operand(node, 0);
    const Shape& whole = draft.shape(from);
    const bool slice = draft.is(node, "Slice");
    const Tensor *first = draft.constant(draft.operand(node, 1)), *axes = slice ? draft.constant(draft.operand(node, 3)) : nullptr;
    const Tensor* const steps = slice ? draft.constant(draft.operand(node, 4)) : nullptr;
    const bool plain = first && first->count() == 1 && whole.size() != 4 && (!axes || axes->count() == 1) && (!steps || steps->asInt(0) == 1) &&
                       (!slice || draft.operand(node, 3) == rewrite::kNone || axes);
    if (!plain)
        return false;
    const std::size_t axis = fromFront(axes ? axes->asInt(0) : draft.op(node).intAttr("axis", 0), whole.size());
    if (axis >= whole.size() || !isOutermost(whole, axis) || bufferBytes(draft, from) == 0 || bufferBytes(draft, draft.output(node)) == 0)
        return false;
    const std::int64_t row = bufferBytes(draft, from) / whole[axis], start = first->asInt(0);
    return (start < 0 ? start + whole[axis] : start) * row % kBufferAlignment == 0 && isComputed(draft, from);
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
    else if (draft.is(node, "Gather") || draft.is(node, "Slice"))
        role = Role::cut;
    return roles_[number] = role;
}

bool KernelFinder::isFree(const Draft& draft, NodeNo node) {
    const Role role = roleOf(draft, node);
    if (role == Role::kernel || role == Role::elementwise || !rewrite::isPlain(draft, node))
        return false;
    switch (role) {
    case Role::alias: return draft.node(node).outputs == 1;
    case Role::split: return splitsInRows(draft, node);
    case Role::cut: return takesRows(draft, node);
    default: return false;
    }
}

void KernelFinder::find(const Draft& draft, Kernels& kernels) {
    kernels.nodes.clear();
    kernels.ends.clear();
    taken_.assign(draft.nodes(), false);
    places_.resize(draft.nodes());
    for (std::uint32_t place = 0; place < draft.order().size(); ++place)
        places_[draft.order()[place]] = place;
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
            if (const NodeNo reader = firstReader(of); reader != rewrite::kNone && (next == rewrite::kNone || places_[reader] < places_[next]))
                next = reader;
        }
        fits = fits && next != rewrite::kNone && !taken_[next] && roleOf(draft, next) == Role::elementwise && draft.node(next).outputs == 1 &&
               draft.shape(draft.output(next)) == draft.shape(value) && rewrite::isPlain(draft, next);
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
