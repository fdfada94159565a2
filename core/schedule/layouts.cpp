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
    const auto found = plan.values.find(value);
    return found != plan.values.end() ? found->second : Layout::rowMajor(graph.value(value).type.dims->size());
}

Layout readLayoutOf(const LayoutPlan& plan, const Graph& graph, const KernelGroup& group, ValueId value) {
    const auto found = plan.reads.find({group.nodes.front(), value});
    return found != plan.reads.end() ? found->second : layoutOf(plan, graph, value);
}

bool mayLieBetweenKernels(const Layout& layout, std::size_t rank) {
    const std::int64_t block = channelBlock(layout);
    const bool width = block == 4 || block == 8 || block == 16;
    return layout == Layout::rowMajor(rank) || (width && rank == 4 && layout == Layout::blocked(4, 1, block));
}

bool isFeatureMap(const Value& value) {
    return !value.isConstant() && value.type.isStatic() && value.type.dims->size() == 4 && value.type.dtype == DType::f32;
}

bool mayChooseLayout(const Graph& graph, const KernelGroup& group) {
    return group.kind == KernelGroup::Kind::kernel && group.outputs.size() == 1 && isFeatureMap(graph.value(group.outputs[0]));
}

bool carriesChannels(const Graph& graph, const KernelGroup& group) {
    const Node& head = graph.node(group.nodes.front());
    const Operator* op = findOperator(head.op, head.domain);
    return head.op == "Conv" || head.op == "Concat" || head.op == "Resize" || head.op == "Upsample" || head.op.ends_with("Pool") ||
           (op && op->fusion == Fusion::elementwise);
}

std::size_t differencesOf(const LayoutPlan& a, const LayoutPlan& b) {
    const auto count = [](const auto& from, const auto& to) {
        std::size_t differing = 0;
        for (const auto& [key, layout] : from) {
            const auto found = to.find(key);
            differing += found == to.end() || found->second != layout ? 1 : 0;
        }
        for (const auto& [key, layout] : to)
            differing += from.contains(key) ? 0 : 1;
        return differing;
    };
    return count(a.values, b.values) + count(a.reads, b.reads);
}

Status checkLayoutPlan(const LayoutPlan& plan, const Graph& graph, const std::vector<KernelGroup>& groups, const Target& target) {
    const auto sound = [&](const Layout& layout) { return mayLieBetweenKernels(layout, 4) && channelBlock(layout) <= target.floatLanes(); };
    std::set<ValueId> free;
    std::set<std::pair<NodeId, ValueId>> readings;
    for (const KernelGroup& group : groups) {
        if (mayChooseLayout(graph, group))
            free.insert(group.outputs[0]);
        for (const ValueId input : group.inputs)
            if (group.kind == KernelGroup::Kind::kernel && isFeatureMap(graph.value(input)))
                readings.emplace(group.nodes.front(), input);
    }
    const auto wrong = [&](ValueId id) {
        const bool known = id.valid() && id.index() < graph.valueCount();
        return inputError("the layout plan does not fit the model" + (known ? " at '" + graph.value(id).name + "'" : std::string()));
    };
    for (const auto& [id, layout] : plan.values)
        if (!free.contains(id) || !sound(layout))
            return wrong(id);
    for (const auto& [reading, layout] : plan.reads)
        if (!readings.contains(reading) || !sound(layout))
            return wrong(reading.second);
    return {};
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
        if (!mayChooseLayout(graph_, group))
            return;
        const TensorType& type = graph_.value(group.outputs[0]).type;
        std::int64_t block = blockFor(group, type.shape());
        if (joined_.contains(group.outputs[0]) && !outweighsCopy(group, block))
            block = std::min(block, widestDivisor(type.shape()[1])); // it can be a part of the whole where blocks divide it
        if (block <= 1)
            return;
        plan_.values[group.outputs[0]] = Layout::blocked(4, 1, block);
        const Node& head = graph_.node(group.nodes.front());
        if (readsOften(head) && isFeatureMap(graph_.value(head.inputs[0])) && channelBlock(layoutOf(plan_, graph_, head.inputs[0])) == 1)
            plan_.reads[{group.nodes.front(), head.inputs[0]}] = Layout::blocked(4, 1, block);
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
            return convBlock(head, group.outputs[0], shape[1]);
        if (head.op == "Concat")
            return concatBlock(head);
        const std::int64_t block = carriesChannels(graph_, group) ? inheritedBlock(group, shape[1]) : 1;
        return block == 1 && isSlidingPool(head) ? blockOfStrewn(shape[1], 1) : block;
    }

    // Windows over single channels that read each value so often that a copy in blocks, lanes side by side, costs less than gathering lanes:
    // 7x7 over 96 channels of 56x56 takes 0.48 ms without one and 0.16 with it.
    bool readsOften(const Node& head) const {
        constexpr std::int64_t kOften = 25;
        if (head.op == "Conv") {
            const Shape& filter = graph_.value(head.inputs[1]).type.shape();
            return filter[1] == 1 && filter[0] == head.intAttr("group", 1) && filter[2] * filter[3] >= kOften;
        }
        return isSlidingPool(head) && elementCount(head.intsAttr("kernel_shape")) >= kOften;
    }

    static bool isSlidingPool(const Node& head) { return head.op == "MaxPool" || head.op == "AveragePool" || head.op == "LpPool"; }

    // Of windows over channels that lie apart, which are read lane by lane: lanes without a channel are slow there.
    std::int64_t blockOfStrewn(std::int64_t channels, std::int64_t otherwise) const {
        const std::int64_t even = widestDivisor(channels);
        return even >= kHalfVector ? even : otherwise;
    }

    std::int64_t convBlock(const Node& conv, ValueId output, std::int64_t channels) const {
        const std::int64_t groups = conv.intAttr("group", 1);
        const std::int64_t inPerGroup = graph_.value(conv.inputs[1]).type.shape()[1];
        if (groups == channels && inPerGroup == 1) { // depthwise: as the input is
            const std::int64_t block = channelBlock(layoutOf(plan_, graph_, conv.inputs[0]));
            return block > 1 ? block : blockOfStrewn(channels, widestBlock(channels));
        }
        if (groups > 1)
            return widestDivisor(channels / groups);
        if (channels <= kFewChannels && suitsColumns(conv))
            return 1;
        const std::int64_t even = widestDivisor(channels);
        return even >= kHalfVector && winogradMeets(conv, output) ? even : widestBlock(channels);
    }

    // Whether columns make better lanes than so few channels: of windows without steps over maps that are wide enough.
    bool suitsColumns(const Node& conv) const {
        const Shape &filter = graph_.value(conv.inputs[1]).type.shape(), &output = graph_.value(conv.outputs[0]).type.shape();
        const std::vector<std::int64_t> strides = conv.intsAttr("strides");
        return filter[2] * filter[3] > 1 && output[3] >= lanes_ && (strides.empty() || strides.back() == 1);
    }

    // Whether Winograd's algorithm would make this value or read it, which needs blocks that divide the channels and then takes a third
    // of the time: 96 channels of 80x80 to 24 took 1.04 ms in blocks of 8 and 3.0 in blocks of 16.
    bool winogradMeets(const Node& conv, ValueId output) const {
        return suitsWinograd(conv) || std::ranges::any_of(graph_.consumers(output), [&](NodeId reader) { return suitsWinograd(graph_.node(reader)); });
    }

    bool suitsWinograd(const Node& conv) const {
        constexpr std::int64_t kChannels = 16, kPixels = 24 * 24;
        const auto ones = [&](const char* name) { return std::ranges::all_of(conv.intsAttr(name), [](std::int64_t value) { return value == 1; }); };
        if (conv.op != "Conv" || conv.intAttr("group", 1) != 1 || !ones("strides") || !ones("dilations"))
            return false;
        const TensorType &weights = graph_.value(conv.inputs[1]).type, &made = graph_.value(conv.outputs[0]).type;
        if (!weights.isStatic() || !made.isStatic())
            return false;
        const Shape filter = weights.shape(), output = made.shape();
        return filter.size() == 4 && filter[2] == 3 && filter[3] == 3 && std::min(filter[0], filter[1]) >= kChannels && output[2] * output[3] >= kPixels;
    }

    // Whether a wider block saves a convolution more than it costs to copy its result into what it is joined to.
    bool outweighsCopy(const KernelGroup& group, std::int64_t block) const {
        constexpr double kCopyCycles = 3; // per value
        const Node& head = graph_.node(group.nodes.front());
        if (head.op != "Conv")
            return false;
        const Shape& filter = graph_.value(head.inputs[1]).type.shape();
        const auto channels = static_cast<double>(filter[0]);
        const double products = static_cast<double>(elementCount(filter)) / channels / 2; // two vectors of them in a cycle
        const double narrow = products / static_cast<double>(widestDivisor(filter[0]));
        const double wide = products * static_cast<double>((filter[0] + block - 1) / block) / channels;
        return narrow - wide > kCopyCycles;
    }

    std::int64_t concatBlock(const Node& concat) const {
        const std::int64_t axis = concat.intAttr("axis", 1);
        if (axis != 1 && axis != -3)
            return channelBlock(layoutOf(plan_, graph_, concat.inputs[0]));
        std::int64_t block = lanes_;
        bool anyBlocked = false, parts = true; // parts: where blocks divide all, nothing is copied
        for (const ValueId input : concat.inputs) {
            const std::int64_t own = channelBlock(layoutOf(plan_, graph_, input)), channels = graph_.value(input).type.shape()[1];
            anyBlocked = anyBlocked || own > 1;
            parts = parts && channels % own == 0;
            block = std::min(block, widestDivisor(channels));
        }
        if (!parts && readAsRowMajor(concat.outputs[0]))
            return 1;
        return anyBlocked ? block : 1;
    }

    bool readAsRowMajor(ValueId value) const {
        return std::ranges::all_of(graph_.consumers(value), [&](NodeId reader) {
            const Operator* op = findOperator(graph_.node(reader).op, graph_.node(reader).domain);
            return op && op->fusion == Fusion::alias;
        });
    }

    std::int64_t inheritedBlock(const KernelGroup& group, std::int64_t channels) const {
        std::int64_t block = 1;
        for (const ValueId input : group.inputs)
            if (const TensorType& type = graph_.value(input).type; type.dims && type.dims->size() == 4 && type.shape()[1] == channels)
                block = std::max(block, channelBlock(layoutOf(plan_, graph_, input)));
        return block;
    }

    static constexpr std::int64_t kHalfVector = 8, kFewChannels = 4;

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
