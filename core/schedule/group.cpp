// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/group.h"

#include <algorithm>

#include "core/ops/lower_node.h"
#include "core/schedule/view.h"

namespace tunesmith {
namespace {

constexpr std::size_t kLongestChain = 16;

class Grouper {
public:
    explicit Grouper(const Graph& graph) : graph_(graph), taken_(graph.nodeCount(), false) {}

    Result<std::vector<KernelGroup>> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            if (!taken_[i])
                TS_TRY(startGroup(NodeId(static_cast<std::int64_t>(i))));
        // A group runs where its last node stands: everything that it reads was computed before.
        std::stable_sort(groups_.begin(), groups_.end(),
                         [](const KernelGroup& a, const KernelGroup& b) { return a.nodes.back() < b.nodes.back(); });
        return std::move(groups_);
    }

private:
    Status startGroup(NodeId first) {
        KernelGroup group;
        const Operator* op = findOperator(graph_.node(first).op, graph_.node(first).domain);
        if (op && op->fusion == Fusion::alias && sameBytes(first) && checkLowerable(graph_, first).ok()) {
            group.kind = KernelGroup::Kind::alias;
            take(group, first);
        } else if (const auto offset = viewOffset(graph_, first)) {
            group.kind = KernelGroup::Kind::alias;
            group.offset = *offset;
            take(group, first);
        } else {
            TS_TRY(checkLowerable(graph_, first));
            take(group, first);
            for (NodeId next = follower(group); next.valid(); next = follower(group))
                take(group, next);
        }
        finish(group);
        groups_.push_back(std::move(group));
        return {};
    }

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

    NodeId follower(const KernelGroup& group) const {
        const Node& last = graph_.node(group.nodes.back());
        if (last.outputs.size() != 1 || group.nodes.size() >= kLongestChain)
            return {};
        const ValueId value = last.outputs[0];
        const auto& outputs = graph_.outputs();
        if (graph_.consumers(value).size() != 1 || std::find(outputs.begin(), outputs.end(), value) != outputs.end())
            return {};
        const NodeId next = graph_.consumers(value)[0];
        const Node& node = graph_.node(next);
        const Operator* op = findOperator(node.op, node.domain);
        const bool fits = op && op->fusion == Fusion::elementwise && !taken_[next.index()] && node.outputs.size() == 1 &&
                          graph_.value(node.outputs[0]).type.isStatic() && graph_.value(value).type.isStatic() &&
                          graph_.value(node.outputs[0]).type.shape() == graph_.value(value).type.shape();
        return fits && checkLowerable(graph_, next).ok() ? next : NodeId();
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

Result<std::vector<KernelGroup>> groupNodes(const Graph& graph) { return Grouper(graph).run(); }

} // namespace tunesmith
