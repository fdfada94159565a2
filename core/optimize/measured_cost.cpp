// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/measured_cost.h"

#include <algorithm>

#include "core/graph/graph_builder.h"
#include "core/module/build.h"
#include "core/module/sub_buffers.h"
#include "core/schedule/layouts.h"

namespace tunesmith::optimize {
namespace {

class GraphMaker {
public:
    explicit GraphMaker(const Draft& draft) : draft_(draft), ids_(draft.values()) {}

    Result<Graph> run() {
        for (const auto& [domain, version] : draft_.table().opsets())
            builder_.setOpset(domain, version);
        for (const ValueNo input : draft_.inputs())
            ids_[input] = builder_.addInput({}, typeOf(input));
        for (const NodeNo node : draft_.order())
            if (!draft_.isWeight(draft_.output(node)))
                addNode(node);
        std::vector<ValueId> outputs;
        for (const ValueNo output : draft_.outputs())
            if (!draft_.isWeight(output))
                outputs.push_back(idOf(output));
        builder_.setOutputs(std::move(outputs));
        return builder_.build();
    }

private:
    const TensorType& typeOf(ValueNo value) const { return draft_.table().type(draft_.value(value).type); }

    ValueId idOf(ValueNo value) {
        if (value == rewrite::kNone)
            return {};
        if (!ids_[value].valid()) {
            const Tensor* const constant = draft_.constant(value);
            ids_[value] = builder_.addConstant({}, constant ? *constant : Tensor::zeros(draft_.dtype(value), draft_.shape(value)));
        }
        return ids_[value];
    }

    void addNode(NodeNo number) {
        Node node = draft_.op(number);
        for (const ValueNo operand : draft_.operands(number))
            node.inputs.push_back(idOf(operand));
        for (std::size_t i = 0; i < draft_.node(number).outputs; ++i) {
            const ValueNo output = draft_.output(number, i);
            node.outputs.push_back(draft_.value(output).type == rewrite::kNone ? ValueId() : builder_.addValue({}, typeOf(output)));
            ids_[output] = node.outputs.back();
        }
        builder_.addNode(std::move(node));
    }

    const Draft& draft_;
    GraphBuilder builder_;
    std::vector<ValueId> ids_;
};

bool isPlain(const LayoutPlan& plan, const Graph& graph, ValueId value) {
    const TensorType& type = graph.value(value).type;
    return graph.value(value).isConstant() || !type.isStatic() || isRowMajorOrder(layoutOf(plan, graph, value), type.shape());
}

} // namespace

Result<Graph> graphToCompile(const Draft& draft) { return GraphMaker(draft).run(); }

double MeasuredCost::of(const Draft& draft) {
    if (const auto known = ofDraft_.find(draft.hash()); known != ofDraft_.end())
        return known->second;
    const auto cost = compute(draft);
    return ofDraft_[draft.hash()] = cost.ok() ? *cost + addedWeightMs(draft, rates_.gigabytesPerSecond) : roofline_.of(draft);
}

Result<double> MeasuredCost::compute(const Draft& draft) {
    TS_ASSIGN(const Graph graph, graphToCompile(draft));
    TS_ASSIGN(const Graph prepared, prepareGraph(graph));
    TS_ASSIGN(const double kernels, ofKernels(prepared));
    const auto references = std::ranges::count(groupNodes(prepared), KernelGroup::Kind::reference, &KernelGroup::kind);
    return kernels + static_cast<double>(references) * rates_.launchMs; // nobody knows what such a step takes; it is not free
}

Result<double> MeasuredCost::ofKernels(const Graph& part) {
    const std::vector<KernelGroup> groups = groupNodes(part);
    const LayoutPlan layouts = chooseLayouts(part, groups, target_);
    double sum = 0;
    for (const KernelGroup& group : groups) {
        if (group.kind == KernelGroup::Kind::alias) {
            const ValueId from = part.node(group.nodes[0]).inputs[0];
            sum += isPlain(layouts, part, from) ? 0 : ofConversion(part.value(from).type);
        } else if (group.kind == KernelGroup::Kind::kernel && !isSlicedConcat(part, group, layouts)) {
            TS_ASSIGN(const ExtractedWorkload extracted, extractWorkload(part, group, layouts));
            sum += timeOf(extracted.workload).value_or(guess(extracted.workload));
        }
    }
    for (const ValueId output : part.outputs())
        sum += isPlain(layouts, part, output) ? 0 : ofConversion(part.value(output).type);
    return sum;
}

std::optional<double> MeasuredCost::timeOf(const Workload& workload) {
    const auto [place, fresh] = known_.try_emplace(workload.key);
    if (fresh)
        place->second = times_(workload);
    return place->second;
}

double MeasuredCost::guess(const Workload& workload) const {
    const double computing = static_cast<double>(workload.flops) / (rates_.gflops * 1e6), moving = static_cast<double>(workload.bytes()) / (rates_.gigabytesPerSecond * 1e6);
    return rates_.launchMs + std::max(computing, moving);
}

double MeasuredCost::ofConversion(const TensorType& type) const {
    const double bytes = 2.0 * static_cast<double>(elementCount(type.shape())) * static_cast<double>(byteSize(type.dtype));
    return rates_.launchMs + bytes / (rates_.gigabytesPerSecond * 1e6);
}

} // namespace tunesmith::optimize
