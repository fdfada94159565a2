// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/layouts.h"

#include <algorithm>
#include <set>

#include "core/ops/operator.h"

namespace tunesmith {

using loops::Layout;

std::int64_t channelBlock(const Layout& layout) {
    const auto& axes = layout.axes();
    return axes.size() == 5 && axes.back().dim == 1 ? axes.back().extent : 1;
}

bool sameOrder(const Layout& a, const Layout& b, const Shape& shape) {
    // Only pieces with more than one value decide where elements lie.
    const auto essential = [&](const Layout& layout) {
        std::vector<Layout::Axis> axes;
        const Shape physical = layout.physicalShape(shape);
        for (std::size_t i = 0; i < physical.size(); ++i)
            if (physical[i] > 1)
                axes.push_back({layout.axes()[i].dim, layout.axes()[i].divisor, physical[i]});
        std::vector<Layout::Axis> merged; // neighbouring pieces of one dimension are one piece
        for (const auto& axis : axes) {
            if (!merged.empty() && merged.back().dim == axis.dim && merged.back().divisor == axis.divisor * axis.extent)
                merged.back() = {axis.dim, axis.divisor, axis.extent * merged.back().extent};
            else
                merged.push_back(axis);
        }
        return merged;
    };
    return essential(a) == essential(b);
}

bool isRowMajorOrder(const Layout& layout, const Shape& shape) { return sameOrder(layout, Layout::rowMajor(shape.size()), shape); }

Layout layoutOf(const LayoutPlan& plan, const Graph& graph, ValueId value) {
    const auto found = plan.find(value);
    return found != plan.end() ? found->second : Layout::rowMajor(graph.value(value).type.dims->size());
}

namespace {

class Chooser {
public:
    Chooser(const Graph& graph, const Target& target) : graph_(graph), lanes_(target.floatLanes()) {
        for (std::size_t n = 0; n < graph.nodeCount(); ++n)
            if (const Node& node = graph.node(NodeId(static_cast<std::int64_t>(n))); node.op == "Concat")
                joined_.insert(node.inputs.begin(), node.inputs.end());
    }

    void visit(const KernelGroup& group) {
        if (group.kind == KernelGroup::Kind::alias || group.outputs.size() != 1)
            return;
        const TensorType& type = graph_.value(group.outputs[0]).type;
        if (type.dims->size() != 4 || type.dtype != DType::f32)
            return;
        const bool joined = joined_.contains(group.outputs[0]); // can be a part of the whole where blocks divide it
        const std::int64_t block = std::min(blockFor(group, type.shape()), joined ? widestDivisor(type.shape()[1]) : lanes_);
        if (block > 1)
            plan_[group.outputs[0]] = Layout::blocked(4, 1, block);
    }

    LayoutPlan take() { return std::move(plan_); }

private:
    std::int64_t widestDivisor(std::int64_t channels) const {
        for (std::int64_t block = lanes_; block >= 4; block /= 2)
            if (channels % block == 0)
                return block;
        return 1;
    }

    // The block with the fewest vectors, the narrowest of those: 24 channels are two vectors of 16, 8 are one of 8.
    std::int64_t widestBlock(std::int64_t channels) const {
        const auto vectors = [channels](std::int64_t block) { return (channels + block - 1) / block; };
        std::int64_t block = lanes_;
        while (block > 4 && vectors(block / 2) == vectors(block))
            block /= 2;
        return channels < 4 ? 1 : block;
    }

    std::int64_t blockFor(const KernelGroup& group, const Shape& shape) const {
        const Node& head = graph_.node(group.nodes.front());
        if (head.op == "Conv")
            return convBlock(head, shape[1]);
        if (head.op == "Concat")
            return concatBlock(head);
        const Operator* op = findOperator(head.op, head.domain);
        const bool keeps = (op && op->fusion == Fusion::elementwise) || head.op.ends_with("Pool") || head.op == "Resize" || head.op == "Upsample";
        return keeps ? inheritedBlock(group, shape[1]) : 1;
    }

    std::int64_t convBlock(const Node& conv, std::int64_t channels) const {
        const std::int64_t groups = conv.intAttr("group", 1);
        const std::int64_t inPerGroup = graph_.value(conv.inputs[1]).type.shape()[1];
        if (groups == channels && inPerGroup == 1) { // depthwise: as the input is, which is read lane by lane otherwise
            const std::int64_t block = channelBlock(layoutOf(plan_, graph_, conv.inputs[0]));
            return block > 1 ? block : widestBlock(channels);
        }
        return groups > 1 ? widestDivisor(channels / groups) : widestBlock(channels);
    }

    std::int64_t concatBlock(const Node& concat) const {
        const std::int64_t axis = concat.intAttr("axis", 1);
        if (axis != 1 && axis != -3)
            return channelBlock(layoutOf(plan_, graph_, concat.inputs[0]));
        std::int64_t block = lanes_;
        bool anyBlocked = false;
        for (const ValueId input : concat.inputs) {
            anyBlocked = anyBlocked || channelBlock(layoutOf(plan_, graph_, input)) > 1;
            block = std::min(block, widestDivisor(graph_.value(input).type.shape()[1]));
        }
        return anyBlocked ? block : 1;
    }

    std::int64_t inheritedBlock(const KernelGroup& group, std::int64_t channels) const {
        std::int64_t block = 1;
        for (const ValueId input : group.inputs)
            if (const TensorType& type = graph_.value(input).type; type.dims && type.dims->size() == 4 && type.shape()[1] == channels)
                block = std::max(block, channelBlock(layoutOf(plan_, graph_, input)));
        return block;
    }

    const Graph& graph_;
    std::int64_t lanes_;
    std::set<ValueId> joined_; // what a Concat reads
    LayoutPlan plan_;
};

} // namespace

LayoutPlan chooseLayouts(const Graph& graph, const std::vector<KernelGroup>& groups, const Target& target) {
    Chooser chooser(graph, target);
    for (const KernelGroup& group : groups)
        chooser.visit(group);
    return chooser.take();
}

} // namespace tunesmith
