// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <set>

#include "core/module/layout_problem.h"
#include "core/module/sub_buffers.h"

namespace tunesmith {

using loops::Layout;

// From the groups of a graph to nodes, alternatives and links.
class LayoutProblemMaker {
public:
    LayoutProblemMaker(const Graph& graph, const Target& target, const LayoutLimits& limits) : graph_(graph), limits_(limits) { made_.target_ = target; }

    Result<LayoutProblem> run() {
        groups_ = groupNodes(graph_);
        made_.greedy_ = chooseLayouts(graph_, groups_, made_.target_);
        for (const KernelGroup& group : groups_)
            lookAt(group);
        for (const KernelGroup& group : groups_)
            if (group.kind == KernelGroup::Kind::kernel)
                TS_TRY(addNode(group));
        return std::move(made_);
    }

private:
    using Reads = std::map<ValueId, Layout>;
    using Alternative = LayoutProblem::Alternative;

    static bool isConcat(const Graph& graph, const KernelGroup& group) {
        return group.nodes.size() == 1 && graph.node(group.nodes[0]).op == "Concat";
    }

    // Who reads a value as rows, and where it can be written in place.
    void lookAt(const KernelGroup& group) {
        if (group.kind == KernelGroup::Kind::alias)
            inRows_.insert(graph_.node(group.nodes[0]).inputs[0]);
        else if (group.kind == KernelGroup::Kind::reference)
            inRows_.insert(group.inputs.begin(), group.inputs.end());
        else if (isConcat(graph_, group))
            for (const ValueId piece : graph_.node(group.nodes[0]).inputs)
                partOf_.try_emplace(piece, group.nodes[0]);
    }

    bool isOutput(ValueId value) const { return std::ranges::find(graph_.outputs(), value) != graph_.outputs().end(); }

    // Nodes ------------------------------------------------------------------------------------------------------------
    Status addNode(const KernelGroup& group) {
        LayoutProblem::Node node;
        node.first = group.nodes.front();
        const bool free = mayChooseLayout(graph_, group);
        std::vector<Layout> outputs{free ? layoutOf(made_.greedy_, graph_, group.outputs[0]) : Layout()};
        if (free) {
            node.output = group.outputs[0];
            outputs = outputCandidates(graph_, group, outputs[0], made_.target_, limits_.layouts);
        }
        for (const Layout& output : outputs)
            TS_TRY(addAlternatives(group, free ? std::optional(output) : std::nullopt, node));
        const std::size_t place = made_.nodes_.size();
        made_.nodes_.push_back(std::move(node));
        TS_TRY(addLinks(group, place));
        if (free) {
            makers_[group.outputs[0]] = place;
            candidates_[group.outputs[0]] = std::move(outputs);
        }
        return {};
    }

    Status addAlternatives(const KernelGroup& group, const std::optional<Layout>& output, LayoutProblem::Node& node) {
        LayoutPlan plan = output ? LayoutPlan() : made_.greedy_;
        if (output)
            plan.values[node.output] = *output;
        if (isSlicedConcat(graph_, group, plan)) {
            Alternative copies;
            TS_TRY(addOwnConversions(group, output, copies));
            node.alternatives.push_back(std::move(copies));
            return {};
        }
        for (const Reads& reads : combinations(group)) {
            Alternative alternative;
            alternative.reads = reads;
            for (const auto& [value, layout] : reads)
                plan.reads[{node.first, value}] = layout;
            TS_ASSIGN(alternative.kernel, kernelFor(group, reads, output, plan));
            TS_TRY(addOwnConversions(group, output, alternative));
            node.alternatives.push_back(std::move(alternative));
        }
        return {};
    }

    // Of what nobody can choose: inputs of the model and the like come as rows, and some readers want rows.
    Status addOwnConversions(const KernelGroup& group, const std::optional<Layout>& output, Alternative& alternative) {
        const Layout rows = Layout::rowMajor(4);
        if (output)
            alternative.made = *output;
        for (const auto& [value, layout] : alternative.reads)
            if (!makers_.contains(value))
                TS_TRY(addConversion(value, rows, layout, alternative));
        if (output && (isOutput(group.outputs[0]) || inRows_.contains(group.outputs[0])))
            TS_TRY(addConversion(group.outputs[0], *output, rows, alternative));
        if (!alternative.kernel && output && isOutput(group.outputs[0]) && sameOrder(*output, rows, graph_.value(group.outputs[0]).type.shape()))
            TS_TRY(addCopy(group.outputs[0], rows, alternative)); // memory of the caller holds no pieces
        if (!alternative.kernel && output)
            for (const ValueId piece : graph_.node(group.nodes[0]).inputs)
                if (!makers_.contains(piece))
                    TS_TRY(addCopy(piece, *output, alternative));
        return {};
    }

    Status addCopy(ValueId value, const Layout& to, Alternative& alternative) {
        TS_ASSIGN(const std::size_t copy, conversionFor(value, Layout::rowMajor(4), to));
        alternative.conversions.push_back(copy);
        return {};
    }

    Status addConversion(ValueId value, const Layout& from, const Layout& to, Alternative& alternative) {
        if (sameOrder(from, to, graph_.value(value).type.shape()))
            return {};
        TS_ASSIGN(const std::size_t conversion, conversionFor(value, from, to));
        alternative.conversions.push_back(conversion);
        return {};
    }

    // Layouts for all maps that a group reads, those of the greedy plan first.
    std::vector<Reads> combinations(const KernelGroup& group) const {
        std::vector<ValueId> maps;
        std::vector<std::vector<Layout>> layouts;
        double count = 1;
        for (const ValueId input : group.inputs) {
            if (!isFeatureMap(graph_.value(input)))
                continue;
            const auto made = candidates_.find(input);
            const std::vector<Layout> rows{Layout::rowMajor(4)};
            maps.push_back(input);
            layouts.push_back(readCandidates(graph_, group, input, layoutOf(made_.greedy_, graph_, input),
                                             made != candidates_.end() ? made->second : rows, made_.target_, limits_.layouts));
            count *= static_cast<double>(layouts.back().size());
        }
        return count <= static_cast<double>(limits_.combinations) ? allOf(maps, layouts) : nearGreedy(maps, layouts);
    }

    static std::vector<Reads> allOf(const std::vector<ValueId>& maps, const std::vector<std::vector<Layout>>& layouts) {
        std::vector<Reads> all{{}};
        for (std::size_t i = 0; i < maps.size(); ++i) {
            std::vector<Reads> longer;
            for (const Reads& reads : all)
                for (const Layout& layout : layouts[i]) {
                    longer.push_back(reads);
                    longer.back().emplace(maps[i], layout);
                }
            all = std::move(longer);
        }
        return all;
    }

    // The greedy one, those in which one read differs from it, and the same layout for all that can have it.
    static std::vector<Reads> nearGreedy(const std::vector<ValueId>& maps, const std::vector<std::vector<Layout>>& layouts) {
        Reads greedy;
        for (std::size_t i = 0; i < maps.size(); ++i)
            greedy.emplace(maps[i], layouts[i][0]);
        std::vector<Reads> some{greedy};
        const auto add = [&](Reads reads) {
            if (std::ranges::find(some, reads) == some.end())
                some.push_back(std::move(reads));
        };
        for (std::size_t i = 0; i < maps.size(); ++i)
            for (const Layout& layout : layouts[i]) {
                Reads one = greedy, same = greedy;
                one.at(maps[i]) = layout;
                for (std::size_t j = 0; j < maps.size(); ++j)
                    if (std::ranges::find(layouts[j], layout) != layouts[j].end())
                        same.at(maps[j]) = layout;
                add(std::move(one));
                add(std::move(same));
            }
        return some;
    }

    // Links ------------------------------------------------------------------------------------------------------------
    Status addLinks(const KernelGroup& group, std::size_t reader) {
        std::vector<ValueId> readings = group.inputs;
        if (isConcat(graph_, group)) // where a piece comes twice, it is copied twice
            readings = graph_.node(group.nodes[0]).inputs;
        std::vector<ValueId> before;
        for (const ValueId value : readings) {
            const auto maker = makers_.find(value);
            const bool again = std::ranges::find(before, value) != before.end();
            before.push_back(value);
            if (maker != makers_.end())
                TS_TRY(addLink(value, maker->second, reader, again));
        }
        return {};
    }

    Status addLink(ValueId value, std::size_t maker, std::size_t reader, bool again) {
        LayoutProblem::Link link{maker, reader, {}};
        const auto part = partOf_.find(value);
        const bool inPlace = !again && !isOutput(value) && part != partOf_.end() && part->second == made_.nodes_[reader].first;
        for (std::size_t m = 0; m < made_.nodes_[maker].alternatives.size(); ++m)
            for (std::size_t r = 0; r < made_.nodes_[reader].alternatives.size(); ++r) {
                const Layout& kept = made_.nodes_[maker].alternatives[m].made;
                const Alternative& reads = made_.nodes_[reader].alternatives[r];
                const auto wanted = reads.reads.find(value);
                const bool copied = wanted == reads.reads.end(); // into a concatenation
                const bool needed = copied ? !inPlace || kept != reads.made : !again && !sameOrder(kept, wanted->second, graph_.value(value).type.shape());
                std::optional<std::size_t> conversion;
                if (needed) {
                    TS_ASSIGN(conversion, conversionFor(value, kept, copied ? reads.made : wanted->second));
                }
                link.conversions.push_back(conversion);
            }
        made_.links_.push_back(std::move(link));
        return {};
    }

    // Workloads --------------------------------------------------------------------------------------------------------
    std::size_t workloadAt(Workload workload, std::size_t family) {
        const auto [place, fresh] = byKey_.try_emplace(workload.key, made_.workloads_.size());
        if (fresh) {
            made_.workloads_.push_back(std::move(workload));
            made_.families_.push_back(family);
        }
        return place->second;
    }

    Result<std::size_t> kernelFor(const KernelGroup& group, const Reads& reads, const std::optional<Layout>& output, const LayoutPlan& plan) {
        const auto known = familyOf_.find(group.nodes.front());
        if (known == familyOf_.end()) {
            TS_ASSIGN(const ExtractedWorkload plain, extractWorkload(graph_, group, {}));
            const std::size_t next = families_.size();
            familyOf_[group.nodes.front()] = families_.try_emplace(plain.workload.key, next).first->second;
        }
        const std::size_t family = familyOf_.at(group.nodes.front());
        std::string text = std::to_string(family) + (output ? output->text() : std::string());
        for (const ValueId input : group.inputs)
            if (const auto read = reads.find(input); read != reads.end())
                text += "," + read->second.text();
        if (const auto found = kernels_.find(text); found != kernels_.end())
            return found->second;
        TS_ASSIGN(ExtractedWorkload extracted, extractWorkload(graph_, group, plan));
        return kernels_[text] = workloadAt(std::move(extracted.workload), family);
    }

    Result<std::size_t> conversionFor(ValueId value, const Layout& from, const Layout& to) {
        const TensorType& type = graph_.value(value).type;
        const std::string text = type.text() + from.text() + ">" + to.text();
        if (const auto found = conversions_.find(text); found != conversions_.end())
            return found->second;
        TS_ASSIGN(Workload workload, conversionWorkload(type, from, to));
        return conversions_[text] = workloadAt(std::move(workload), LayoutProblem::kConversion);
    }

    const Graph& graph_;
    LayoutLimits limits_;
    LayoutProblem made_;
    std::vector<KernelGroup> groups_;
    std::set<ValueId> inRows_;            // read by aliases
    std::map<ValueId, NodeId> partOf_;    // the first concatenation of a value
    std::map<ValueId, std::size_t> makers_;
    std::map<ValueId, std::vector<Layout>> candidates_;
    std::map<std::string, std::size_t> byKey_, families_, kernels_, conversions_;
    std::map<NodeId, std::size_t> familyOf_;
};

Result<LayoutProblem> LayoutProblem::make(const Graph& prepared, const Target& target, const LayoutLimits& limits) {
    return LayoutProblemMaker(prepared, target, limits).run();
}

} // namespace tunesmith
