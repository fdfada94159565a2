// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/group.h"

#include <algorithm>

#include "core/ops/lower_node.h"
#include "core/schedule/view.h"

namespace tunesmith {
namespace {

constexpr std::size_t kLongestChain = 16, kMostForks = 4;

class Grouper {
public:
    explicit Grouper(const Graph& graph) : graph_(graph), taken_(graph.nodeCount(), false) {}

    std::vector<KernelGroup> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            if (!taken_[i])
                startGroup(NodeId(static_cast<std::int64_t>(i)));
        // A group runs where its last node stands: everything that it reads was computed before.
        std::stable_sort(groups_.begin(), groups_.end(),
                         [](const KernelGroup& a, const KernelGroup& b) { return a.nodes.back() < b.nodes.back(); });
        return std::move(groups_);
    }

private:
    void startGroup(NodeId first) {
        KernelGroup group;
        const Operator* op = findOperator(graph_.node(first).op, graph_.node(first).domain);
        if (op && op->fusion == Fusion::alias && sameBytes(first) && checkLowerable(graph_, first).ok()) {
            group.kind = KernelGroup::Kind::alias;
            take(group, first);
        } else if (const auto offset = viewOffset(graph_, first)) {
            group.kind = KernelGroup::Kind::alias;
            group.offset = *offset;
            take(group, first);
        } else if (!isKernel(first)) {
            group.kind = KernelGroup::Kind::reference;
            take(group, first);
        } else {
            take(group, first);
            for (auto next = followers(group); !next.empty(); next = followers(group))
                for (const NodeId id : next)
                    take(group, id);
        }
        finish(group);
        groups_.push_back(std::move(group));
    }

    bool isKernel(NodeId id) const { return checkLowerable(graph_, id).ok() && lowerNode(graph_, id).ok(); }

    bool sameBytes(NodeId id) const {
        const Node& node = graph_.node(id);
        if (!node.hasInput(0) || node.outputs.size() != 1)
            return false;
        const TensorType &from = graph_.value(node.inputs[0]).type, &to = graph_.value(node.outputs[0]).type;
        return from.dtype == to.dtype && from.isStatic() && to.isStatic() && elementCount(from.shape()) == elementCount(to.shape());
    }

    void take(KernelGroup& group, NodeId id) {
        taken_[id.index()] = true;
        group.nodes.push_back(id);
    }

    // The elementwise nodes that read the group's last value, and those that read what these make, up to where all of it has
    // come together again: one node, or both of x * sigmoid(x). None where something else reads a part of it.
    std::vector<NodeId> followers(const KernelGroup& group) const {
        const Node& last = graph_.node(group.nodes.back());
        if (last.outputs.size() != 1)
            return {};
        std::vector<NodeId> joined;
        std::vector<ValueId> open{last.outputs[0]}; // read by nodes that have not joined
        do {
            const NodeId next = firstReader(open, joined);
            if (!next.valid() || group.nodes.size() + joined.size() >= kLongestChain || !canJoin(next, last.outputs[0]))
                return {};
            if (std::ranges::any_of(open, [&](ValueId value) { return isGraphOutput(value); }))
                return {};
            joined.push_back(next);
            std::erase_if(open, [&](ValueId value) { return !firstReader({value}, joined).valid(); });
            open.push_back(graph_.node(next).outputs[0]);
        } while (open.size() > 1);
        return forks(group, joined) <= kMostForks ? joined : std::vector<NodeId>();
    }

    NodeId firstReader(const std::vector<ValueId>& values, const std::vector<NodeId>& without) const {
        NodeId first;
        for (const ValueId value : values)
            for (const NodeId reader : graph_.consumers(value))
                if (std::ranges::find(without, reader) == without.end() && (!first.valid() || reader < first))
                    first = reader;
        return first;
    }

    bool canJoin(NodeId next, ValueId value) const {
        const Node& node = graph_.node(next);
        const Operator* op = findOperator(node.op, node.domain);
        const bool fits = op && op->fusion == Fusion::elementwise && !taken_[next.index()] && node.outputs.size() == 1 &&
                          graph_.value(node.outputs[0]).type.isStatic() && graph_.value(value).type.isStatic() &&
                          graph_.value(node.outputs[0]).type.shape() == graph_.value(value).type.shape();
        return fits && checkLowerable(graph_, next).ok();
    }

    bool isGraphOutput(ValueId value) const { return std::ranges::find(graph_.outputs(), value) != graph_.outputs().end(); }

    // How often values inside are read more than once: each such reading writes the expression out again.
    std::size_t forks(const KernelGroup& group, const std::vector<NodeId>& joined) const {
        std::size_t count = 0;
        for (const auto* nodes : {&group.nodes, &joined})
            for (const NodeId id : *nodes)
                if (id != joined.back())
                    count += readings(graph_.node(id).outputs[0]) - 1;
        return count;
    }

    std::size_t readings(ValueId value) const {
        std::ptrdiff_t count = 0;
        for (const NodeId reader : graph_.consumers(value))
            count += std::ranges::count(graph_.node(reader).inputs, value);
        return static_cast<std::size_t>(count);
    }

    void finish(KernelGroup& group) const {
        std::vector<ValueId> inside;
        for (const NodeId id : group.nodes) {
            for (const ValueId input : graph_.node(id).inputs) {
                const auto known = [&](const std::vector<ValueId>& ids) { return std::find(ids.begin(), ids.end(), input) != ids.end(); };
                if (input.valid() && !known(inside) && !known(group.inputs))
                    group.inputs.push_back(input);
            }
            for (const ValueId output : graph_.node(id).outputs)
                inside.push_back(output);
        }
        for (const ValueId output : graph_.node(group.nodes.back()).outputs)
            if (output.valid())
                group.outputs.push_back(output);
    }

    const Graph& graph_;
    std::vector<bool> taken_;
    std::vector<KernelGroup> groups_;
};

} // namespace

std::vector<KernelGroup> groupNodes(const Graph& graph) { return Grouper(graph).run(); }

} // namespace tunesmith
