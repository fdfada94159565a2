// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/model_draft.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/hash.h"
#include "core/graph/captures.h"
#include "core/graph/derived_name.h"
#include "core/graph/graph_builder.h"
#include "core/ops/explicit_window.h"
#include "core/ops/infer_shapes.h"

namespace tunesmith::rewrite {
namespace {

bool hasBodies(const Node& node) {
    return std::ranges::any_of(node.attributes, [](const auto& entry) { return std::holds_alternative<std::shared_ptr<const Graph>>(entry.second); });
}

// Whatever its operands are.
bool isOpaqueOperator(const Node& node) {
    const Operator* const op = findOperator(node.op, node.domain);
    return !op || !op->deterministic || hasBodies(node);
}

class Drafter {
public:
    explicit Drafter(const Graph& graph) : graph_(graph), draft_(std::make_shared<OperatorTable>(graph.opsets())), numbers_(graph.valueCount(), kNone) {}

    ModelDraft run() {
        for (const ValueId id : graph_.inputs())
            setNumber(id, draft_.addInput(draft_.table().add(graph_.value(id).type), Hasher().add(graph_.value(id).name).value()));
        for (const ValueId id : graph_.captures())
            setNumber(id, draft_.addInput(draft_.table().add(graph_.value(id).type), Hasher().add(graph_.value(id).name).value()));
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            addNode(NodeId(static_cast<std::int64_t>(i)));
        keepOutputs();
        const bool acyclic = draft_.settle();
        assert(acyclic), static_cast<void>(acyclic);
        names_.resize(draft_.values());
        return {graph_, std::move(draft_), std::move(sourceNodes_), std::move(names_), std::move(outputNames_)};
    }

private:
    bool isOpaque(const Node& node) const {
        const auto isOpen = [&](ValueId id) { return id.valid() && !graph_.value(id).type.isStatic(); };
        return isOpaqueOperator(node) || node.inputs.empty() || std::ranges::any_of(node.inputs, isOpen) ||
               std::ranges::any_of(node.outputs, isOpen) || !std::ranges::all_of(node.outputs, [](ValueId id) { return id.valid(); });
    }

    ValueNo number(ValueId id) {
        if (!id.valid())
            return kNone;
        if (numbers_[id.index()] == kNone)
            setNumber(id, constant(draft_.table().add(graph_.value(id).constant)));
        return numbers_[id.index()];
    }

    ValueNo constant(ConstantNo number) {
        const auto [known, isNew] = constants_.try_emplace(number, kNone);
        if (isNew)
            known->second = draft_.addConstant(number);
        return known->second;
    }

    void setNumber(ValueId id, ValueNo value) {
        numbers_[id.index()] = value;
        if (names_.size() <= value)
            names_.resize(value + 1);
        if (names_[value].empty())
            names_[value] = graph_.value(id).name;
    }

    void addNode(NodeId id) {
        const Node& node = graph_.node(id);
        std::vector<ValueNo> operands;
        for (const ValueId input : node.inputs)
            operands.push_back(number(input));
        while (!operands.empty() && operands.back() == kNone)
            operands.pop_back();
        const std::size_t before = draft_.nodes();
        const ValueNo first = isOpaque(node) ? kNone : addKnown(node, operands);
        if (first == kNone)
            addOpaque(node, operands);
        else
            for (std::size_t i = 0; i < node.outputs.size(); ++i)
                setNumber(node.outputs[i], first + static_cast<ValueNo>(i));
        if (draft_.nodes() > before)
            sourceNodes_.push_back(id);
    }

    ValueNo addKnown(const Node& node, std::vector<ValueNo> operands) {
        std::ranges::replace(operands, kNone, Draft::kLeftOut);
        Node explicitly = withExplicitWindow(graph_, node, graph_.opset());
        if (explicitly.op == "Conv" && explicitly.domain.empty())
            explicitly.attributes.erase("kernel_shape"); // the weights tell
        return draft_.add(draft_.table().add(explicitly), operands, node.outputs.size());
    }

    void addOpaque(const Node& node, const std::vector<ValueNo>& operands) {
        std::vector<TypeNo> types;
        for (const ValueId output : node.outputs)
            types.push_back(output.valid() ? draft_.table().add(graph_.value(output).type) : kNone);
        const NodeNo made = draft_.addOpaque(draft_.table().add(node), operands, types);
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                setNumber(node.outputs[i], draft_.output(made, i));
    }

    void keepOutputs() {
        std::vector<ValueNo> outputs;
        const auto keep = [&](ValueId id) {
            outputs.push_back(number(id));
            outputNames_.push_back(graph_.value(id).name);
        };
        for (const ValueId id : graph_.outputs())
            keep(id);
        std::set<ValueId> kept(graph_.outputs().begin(), graph_.outputs().end());
        const auto keepOnce = [&](ValueId id) {
            const bool stays = id.valid() && (graph_.value(id).producer.valid() || graph_.value(id).isConstant()); // inputs do anyway
            if (stays && kept.insert(id).second)
                keep(id);
        };
        for (const auto& node : graph_.nodes()) {
            for (const std::string& name : capturedNames(*node))
                keepOnce(graph_.findValue(name));
            if (!findOperator(node->op, node->domain))
                std::ranges::for_each(node->outputs, keepOnce);
        }
        draft_.setOutputs(std::move(outputs));
    }

    const Graph& graph_;
    Draft draft_;
    std::vector<ValueNo> numbers_; // by value of the graph
    std::map<ConstantNo, ValueNo> constants_;
    std::vector<NodeId> sourceNodes_;
    std::vector<std::string> names_, outputNames_;
};

class Writer {
public:
    Writer(const ModelDraft& model, const Draft& draft) : model_(model), draft_(draft), ids_(draft.values()) {}

    Result<Graph> run(const std::string& rule) {
        for (const auto& [domain, version] : model_.source.opsets())
            builder_.setOpset(domain, version);
        for (const auto& [key, value] : model_.source.metadata())
            builder_.setMetadata(key, value);
        reserveNames();
        addInputs();
        for (const NodeNo node : draft_.order())
            addNode(node);
        finishOutputs();
        builder_.setLineage(lineage(rule));
        return builder_.build();
    }

private:
    // Where the model's output names go: to the value that stands there now, unless that has another name already. Constants that bodies read
    // are named so, too; one that is a result is copied.
    void reserveNames() {
        for (std::size_t i = 0; i < draft_.outputs().size(); ++i) {
            const ValueNo value = draft_.outputs()[i];
            if (draft_.value(value).maker != kNone || (draft_.constant(value) && i >= model_.source.outputs().size()))
                names_.try_emplace(value, model_.outputNames[i]);
        }
        for (const std::string& name : model_.outputNames)
            taken_.insert(name);
        for (const auto& value : model_.source.values())
            valueNames_.insert(value->name);
        for (const auto& node : model_.source.nodes())
            nodeNames_.insert(node->name);
    }

    void addInputs() {
        std::size_t i = 0;
        for (const ValueId id : model_.source.inputs()) {
            const Value& input = model_.source.value(id);
            const ValueId made = ids_[draft_.inputs()[i++]] = builder_.addInput(input.name, input.type);
            builder_.setDefault(made, input.fallback);
        }
        for (const ValueId id : model_.source.captures())
            ids_[draft_.inputs()[i++]] = builder_.addCapture(model_.source.value(id).name, model_.source.value(id).type);
    }

    std::string nameOf(ValueNo value) {
        if (const auto output = names_.find(value); output != names_.end())
            return output->second;
        const std::string own = value < model_.valueNames.size() ? model_.valueNames[value] : std::string();
        return own.empty() || taken_.contains(own) ? newName("value", valueNames_) : own;
    }

    // None that the model has: whose it is may be added later.
    std::string newName(const std::string& stem, const std::set<std::string>& known) {
        std::string name;
        do
            name = derivedName(stem, "_" + std::to_string(++counters_[stem]));
        while (known.contains(name));
        return name;
    }

    ValueId idOf(ValueNo value) {
        if (value == kNone)
            return {};
        if (!ids_[value].valid())
            ids_[value] = builder_.addConstant(nameOf(value), *draft_.constant(value));
        return ids_[value];
    }

    void addNode(NodeNo number) {
        Node node = draft_.op(number);
        if (number < model_.sourceNodes.size())
            node.name = model_.source.node(model_.sourceNodes[number]).name;
        else
            node.name = newName(node.op, nodeNames_);
        for (const ValueNo operand : draft_.operands(number))
            node.inputs.push_back(idOf(operand));
        if (draft_.is(number, "Conv") && !isOpaque(draft_, number)) { // which has what the model says
            const Shape& w = draft_.shape(draft_.operand(number, 1));
            node.attributes["kernel_shape"] = std::vector<std::int64_t>(w.begin() + 2, w.end());
        }
        for (std::size_t i = 0; i < draft_.node(number).outputs; ++i) {
            const ValueNo output = draft_.output(number, i);
            const TypeNo type = draft_.value(output).type;
            node.outputs.push_back(type == kNone ? ValueId() : builder_.addValue(nameOf(output), draft_.table().type(type)));
            ids_[output] = node.outputs.back();
        }
        nodeIds_[number] = builder_.addNode(std::move(node));
    }

    void finishOutputs() {
        std::vector<ValueId> outputs;
        for (std::size_t i = 0; i < draft_.outputs().size(); ++i) {
            const ValueNo value = draft_.outputs()[i];
            ValueId id = idOf(value);
            if (builder_.value(id).name != model_.outputNames[i]) {
                const ValueId copy = builder_.addValue(model_.outputNames[i], draft_.table().type(draft_.value(value).type));
                Node identity;
                identity.op = "Identity";
                identity.inputs = {id};
                identity.outputs = {copy};
                builder_.addNode(std::move(identity));
                id = copy;
            }
            if (i < model_.source.outputs().size())
                outputs.push_back(id);
        }
        builder_.setOutputs(std::move(outputs));
    }

    std::shared_ptr<const Lineage> lineage(const std::string& rule) const {
        auto made = std::make_shared<Lineage>();
        made->parent = std::make_shared<const Graph>(model_.source);
        made->rule = rule;
        for (NodeNo node = 0; node < model_.sourceNodes.size(); ++node) {
            const auto kept = nodeIds_.find(node);
            made->became[model_.sourceNodes[node]] = kept == nodeIds_.end() ? std::vector<NodeId>() : std::vector<NodeId>{kept->second};
        }
        return made;
    }

    const ModelDraft& model_;
    const Draft& draft_;
    GraphBuilder builder_{model_.source.name()};
    std::vector<ValueId> ids_; // by value of the draft
    std::map<ValueNo, std::string> names_;
    std::set<std::string> taken_, valueNames_, nodeNames_; // of the model
    std::map<std::string, int> counters_; // of new names, by stem
    std::map<NodeNo, NodeId> nodeIds_;
};

} // namespace

bool isOpaque(const Draft& draft, NodeNo node) {
    const auto isOpen = [&](ValueNo value) { return value != kNone && (draft.value(value).type == kNone || !draft.table().isStatic(draft.value(value).type)); };
    bool open = draft.operands(node).empty() || std::ranges::any_of(draft.operands(node), isOpen);
    for (std::size_t i = 0; i < draft.node(node).outputs; ++i)
        open = open || isOpen(draft.output(node, i));
    return open || isOpaqueOperator(draft.op(node));
}

Result<ModelDraft> draftOf(const Graph& graph) {
    TS_ASSIGN(const Graph inferred, inferShapes(graph));
    return Drafter(inferred).run();
}

Result<Graph> graphOf(const ModelDraft& model, const Draft& draft, const std::string& rule) { return Writer(model, draft).run(rule); }

} // namespace tunesmith::rewrite
