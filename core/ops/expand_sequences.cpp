// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/expand_sequences.h"

#include <algorithm>
#include <map>

#include "core/graph/derived_name.h"
#include "core/ops/containers.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/rules.h"

namespace tunesmith {
namespace {

constexpr std::size_t kMostElements = 4096;            // of one sequence
constexpr std::size_t kMostNoted = std::size_t{1} << 22; // of all of them together

using Elements = std::vector<ValueId>;

// What the containers of a graph hold, in the order of its nodes.
class SequenceReader {
public:
    explicit SequenceReader(const Graph& graph) : graph_(graph), builder_(graph) {}

    Result<std::optional<Graph>> run() {
        for (std::size_t n = 0; n < graph_.nodeCount(); ++n) {
            const Node& node = *graph_.nodes()[n];
            if (!takesContainers(node) || node.outputs.size() != 1 || !node.outputs[0].valid())
                continue;
            note(node);
            if (const ValueId stand = standFor(node); stand.valid()) {
                replaceByIdentities(builder_, NodeId(static_cast<std::int64_t>(n)), {stand});
                changed_ = true;
            }
        }
        if (!changed_)
            return std::optional<Graph>();
        TS_ASSIGN(Graph built, builder_.build());
        return std::optional<Graph>(std::move(built));
    }

private:
    // What a node that gives a container puts into it.
    void note(const Node& node) {
        const ValueId out = node.outputs[0];
        if (node.op == "Identity" || node.op == "OptionalGetElement" || (node.op == "Optional" && node.hasInput(0)))
            copy(node.inputs[0], out);
        else if (node.op == "Optional")
            held_[out] = ValueId();
        else if (node.op == "SequenceEmpty")
            sequences_[out] = {};
        else if (node.op == "SequenceConstruct")
            keep(out, node.inputs);
        else if (node.op == "SplitToSequence")
            noteParts(node);
        else if (node.op == "SequenceInsert" || node.op == "SequenceErase")
            noteChange(node);
        if (node.op == "Optional" && node.hasInput(0) && !graph_.value(node.inputs[0]).type.opaque)
            held_[out] = node.inputs[0];
    }

    // Each change of a sequence is a sequence of its own.
    void keep(ValueId sequence, Elements elements) {
        if (noted_ + elements.size() > kMostNoted)
            return;
        noted_ += elements.size();
        sequences_[sequence] = std::move(elements);
    }

    void copy(ValueId from, ValueId to) {
        if (const auto found = sequences_.find(from); found != sequences_.end())
            keep(to, found->second);
        if (const auto found = held_.find(from); found != held_.end())
            held_[to] = found->second;
    }

    const Elements* sequence(const Node& node) const {
        const auto found = node.hasInput(0) ? sequences_.find(node.inputs[0]) : sequences_.end();
        return found == sequences_.end() ? nullptr : &found->second;
    }

    // A constant place counted from the front; none where it is not known or does not exist.
    std::optional<std::size_t> place(const Node& node, std::size_t input, std::size_t size, std::size_t end, std::size_t byDefault) const {
        if (!node.hasInput(input))
            return byDefault < end ? std::optional(byDefault) : std::nullopt;
        const Tensor& position = graph_.value(node.inputs[input]).constant;
        if (position.count() != 1)
            return std::nullopt;
        const std::int64_t stated = position.asInt(0), front = stated < 0 ? stated + static_cast<std::int64_t>(size) : stated;
        return front >= 0 && front < static_cast<std::int64_t>(end) ? std::optional(static_cast<std::size_t>(front)) : std::nullopt;
    }

    void noteChange(const Node& node) {
        const Elements* before = sequence(node);
        if (!before)
            return;
        Elements after = *before;
        const std::size_t size = after.size();
        if (node.op == "SequenceInsert") {
            const auto at = place(node, 2, size, size + 1, size);
            if (!at || size >= kMostElements)
                return;
            after.insert(after.begin() + static_cast<std::ptrdiff_t>(*at), node.inputs[1]);
        } else {
            const auto at = place(node, 1, size, size, size - 1);
            if (!at)
                return;
            after.erase(after.begin() + static_cast<std::ptrdiff_t>(*at));
        }
        keep(node.outputs[0], std::move(after));
    }

    void noteParts(const Node& node) {
        const TensorType& type = graph_.value(node.inputs[0]).type;
        const std::int64_t stated = node.intAttr("axis", 0), rank = type.dims ? static_cast<std::int64_t>(type.dims->size()) : 0;
        if (stated < -rank || stated >= rank)
            return;
        const std::size_t axis = ops::frontAxis(stated, static_cast<std::size_t>(rank));
        const Dim& extent = (*type.dims)[axis];
        const Tensor split = node.hasInput(1) ? graph_.value(node.inputs[1]).constant : Tensor();
        if (!extent.known() || (node.hasInput(1) && split.absent()))
            return;
        const auto sizes = ops::splitSizes(split, extent.extent);
        if (sizes && !sizes->empty() && sizes->size() <= kMostElements)
            keep(node.outputs[0], parts(node, static_cast<std::int64_t>(axis), *sizes));
    }

    // The parts as outputs of one Split; without the axis where it is not kept.
    Elements parts(const Node& node, std::int64_t axis, const std::vector<std::int64_t>& sizes) {
        const bool asInput = graph_.opset() == 0 || graph_.opset() >= 13;
        Node split;
        split.name = derivedName(node.name, ".split");
        split.op = "Split";
        split.inputs = {node.inputs[0]};
        split.attributes["axis"] = axis;
        if (asInput)
            split.inputs.push_back(builder_.addConstant(derivedName(node.name, ".sizes"), Tensor::ofInts(sizes)));
        else
            split.attributes["split"] = sizes;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            split.outputs.push_back(builder_.addValue(derivedName(node.name, ".part")));
        Elements elements = split.outputs;
        builder_.addNode(std::move(split));
        if (!node.hasInput(1) && node.intAttr("keepdims", 1) == 0)
            for (ValueId& element : elements)
                element = withAxes("Squeeze", element, axis);
        return elements;
    }

    ValueId withAxes(const char* op, ValueId value, std::int64_t axis) {
        if (graph_.opset() != 0 && graph_.opset() < 13)
            return builder_.add(op, {value}, {{"axes", std::vector<std::int64_t>{axis}}});
        return builder_.add(op, {value, builder_.addConstant("", Tensor::ofInts({axis}))});
    }

    // The value that a node gives which reads a container; invalid where that is not known.
    ValueId standFor(const Node& node) {
        if (node.op == "OptionalHasElement")
            return hasElement(node);
        if (node.op == "OptionalGetElement") {
            const auto held = held_.find(node.inputs[0]);
            return held == held_.end() ? ValueId() : held->second;
        }
        const Elements* elements = sequence(node);
        if (!elements)
            return {};
        if (node.op == "SequenceLength")
            return builder_.addConstant(derivedName(node.name, ".length"), Tensor::scalar(static_cast<std::int64_t>(elements->size())));
        if (node.op == "SequenceAt") {
            const auto at = place(node, 1, elements->size(), elements->size(), 0);
            return at ? (*elements)[*at] : ValueId();
        }
        return node.op == "ConcatFromSequence" ? concatenated(node, *elements) : ValueId();
    }

    ValueId hasElement(const Node& node) {
        const auto held = node.hasInput(0) ? held_.find(node.inputs[0]) : held_.end();
        const bool full = node.hasInput(0) && (!graph_.value(node.inputs[0]).type.is(OpaqueType::Kind::optional) || sequence(node));
        if (held == held_.end() && node.hasInput(0) && !full)
            return {};
        const bool has = full || (held != held_.end() && held->second.valid());
        return builder_.addConstant(derivedName(node.name, ".has"), Tensor::scalar(has));
    }

    ValueId concatenated(const Node& node, Elements elements) {
        if (elements.empty())
            return {};
        const std::int64_t axis = node.intAttr("axis", 0);
        if (node.intAttr("new_axis", 0) != 0)
            for (ValueId& element : elements)
                element = withAxes("Unsqueeze", element, axis);
        return builder_.add("Concat", elements, {{"axis", axis}}, 1, derivedName(node.name, ".joined"));
    }

    const Graph& graph_;
    GraphBuilder builder_;
    std::map<ValueId, Elements> sequences_;
    std::size_t noted_ = 0; // elements of all of them
    std::map<ValueId, ValueId> held_; // by optional values; invalid: nothing
    bool changed_ = false;
};

} // namespace

Result<std::optional<Graph>> expandSequences(const Graph& graph) {
    const bool any = std::ranges::any_of(graph.values(), [](const auto& value) { return value->type.opaque != nullptr; });
    return any ? SequenceReader(graph).run() : std::optional<Graph>();
}

} // namespace tunesmith
