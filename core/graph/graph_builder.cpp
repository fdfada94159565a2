// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/graph_builder.h"

#include <algorithm>
#include <queue>
#include <set>

namespace tunesmith {

GraphBuilder::GraphBuilder(std::string name) : name_(std::move(name)) {}

GraphBuilder::GraphBuilder(const Graph& base)
    : name_(base.name()), removed_(base.nodeCount(), false), inputs_(base.inputs()), outputs_(base.outputs()),
      captures_(base.captures()), opsets_(base.opsets()), metadata_(base.metadata()), lineage_(base.lineage()) {
    for (const auto& node : base.nodes()) {
        nodes_.push_back(*node);
        nodeNames_[node->name] = 1;
    }
    for (const auto& value : base.values()) {
        values_.push_back(*value);
        valueNames_[value->name] = 1;
    }
}

void GraphBuilder::setOpset(const std::string& domain, std::int64_t version) { opsets_[domain] = version; }

void GraphBuilder::setMetadata(const std::string& key, std::string value) { metadata_[key] = std::move(value); }

void GraphBuilder::setLineage(std::shared_ptr<const Lineage> lineage) { lineage_ = std::move(lineage); }

std::string GraphBuilder::uniqueName(const std::string& wanted, const char* stem, std::map<std::string, int>& taken) {
    if (!wanted.empty() && taken.try_emplace(wanted, 1).second)
        return wanted;
    const std::string base = wanted.empty() ? stem : wanted;
    for (int& counter = taken[base];; ++counter) {
        std::string candidate = base + "_" + std::to_string(counter);
        if (taken.try_emplace(candidate, 1).second)
            return candidate;
    }
}

ValueId GraphBuilder::addValue(const std::string& name, TensorType type) {
    Value value;
    value.name = uniqueName(name, "value", valueNames_);
    value.type = std::move(type);
    values_.push_back(std::move(value));
    return ValueId(static_cast<std::int64_t>(values_.size()) - 1);
}

ValueId GraphBuilder::addInput(const std::string& name, TensorType type) {
    inputs_.push_back(addValue(name, std::move(type)));
    return inputs_.back();
}

ValueId GraphBuilder::addCapture(const std::string& name, TensorType type) {
    captures_.push_back(addValue(name, std::move(type)));
    return captures_.back();
}

ValueId GraphBuilder::addConstant(const std::string& name, Tensor tensor) {
    const ValueId id = addValue(name);
    setConstant(id, std::move(tensor));
    return id;
}

NodeId GraphBuilder::addNode(Node node) {
    node.name = uniqueName(node.name, node.op.c_str(), nodeNames_);
    nodes_.push_back(std::move(node));
    removed_.push_back(false);
    return NodeId(static_cast<std::int64_t>(nodes_.size()) - 1);
}

ValueId GraphBuilder::add(const std::string& op, const std::vector<ValueId>& inputs,
                          std::map<std::string, Attribute> attributes, int outputs, const std::string& name) {
    Node node;
    node.name = name;
    node.op = op;
    node.inputs = inputs;
    node.attributes = std::move(attributes);
    for (int i = 0; i < outputs; ++i)
        node.outputs.push_back(addValue(name.empty() ? std::string() : name + (i ? "." + std::to_string(i) : "")));
    return nodes_[addNode(std::move(node)).index()].outputs.front();
}

void GraphBuilder::setConstant(ValueId id, Tensor tensor) {
    Value& value = values_[id.index()];
    value.type = TensorType(tensor.type(), tensor.shape());
    value.constant = std::move(tensor);
}

void GraphBuilder::replaceNode(NodeId id, Node node) {
    node.name = nodes_[id.index()].name;
    nodes_[id.index()] = std::move(node);
}

void GraphBuilder::removeNode(NodeId id) { removed_[id.index()] = true; }

void GraphBuilder::replaceUses(ValueId from, ValueId to) {
    for (Node& node : nodes_)
        std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(outputs_.begin(), outputs_.end(), from, to);
}

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Values that the bodies of If, Loop and Scan read by name from the graph around them: they order nodes like inputs do.
void collectCaptures(const Graph& body, std::vector<std::string>& names) {
    for (const ValueId id : body.captures())
        names.push_back(body.value(id).name);
}

std::vector<std::string> capturedNames(const Node& node) {
    std::vector<std::string> names;
    for (const auto& [key, attribute] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
            collectCaptures(**body, names);
    return names;
}

struct Assembly {
    std::vector<std::size_t> producer; // of each value: index of a node, or kNone
    std::vector<std::vector<std::size_t>> reads; // of each node: indices of values
    std::vector<bool> used;
};

} // namespace

Result<Graph> GraphBuilder::build() {
    const std::size_t nodeCount = nodes_.size();
    Assembly assembly{std::vector<std::size_t>(values_.size(), kNone), {}, std::vector<bool>(values_.size(), false)};
    assembly.reads.resize(nodeCount);

    std::map<std::string, std::size_t> byName;
    for (std::size_t i = 0; i < values_.size(); ++i)
        byName.emplace(values_[i].name, i);
    for (std::size_t i = 0; i < nodeCount; ++i) {
        if (removed_[i])
            continue;
        for (const ValueId output : nodes_[i].outputs) {
            if (!output.valid() || values_[output.index()].isConstant())
                continue;
            if (assembly.producer[output.index()] != kNone)
                return inputError("value '" + values_[output.index()].name + "' is produced twice, by node '" +
                                  nodes_[assembly.producer[output.index()]].name + "' and by node '" + nodes_[i].name + "'");
            assembly.producer[output.index()] = i;
            assembly.used[output.index()] = true;
        }
        for (const ValueId input : nodes_[i].inputs)
            if (input.valid())
                assembly.reads[i].push_back(input.index());
        for (const std::string& name : capturedNames(nodes_[i]))
            if (const auto found = byName.find(name); found != byName.end())
                assembly.reads[i].push_back(found->second);
        for (const std::size_t value : assembly.reads[i])
            assembly.used[value] = true;
    }
    std::vector<bool> isLeaf(values_.size(), false);
    for (const auto* leaves : {&inputs_, &captures_})
        for (const ValueId id : *leaves)
            isLeaf[id.index()] = assembly.used[id.index()] = true;
    for (const ValueId id : outputs_)
        assembly.used[id.index()] = true;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (values_[i].isConstant())
            isLeaf[i] = true;
        if (isLeaf[i] && assembly.producer[i] != kNone)
            return inputError("value '" + values_[i].name + "' is an input or a constant and also the output of node '" +
                              nodes_[assembly.producer[i]].name + "'");
        if (assembly.used[i] && !isLeaf[i] && assembly.producer[i] == kNone) {
            for (std::size_t n = 0; n < nodeCount; ++n)
                if (std::find(assembly.reads[n].begin(), assembly.reads[n].end(), i) != assembly.reads[n].end())
                    return inputError("node '" + nodes_[n].name + "' (" + nodes_[n].op + ") reads value '" + values_[i].name +
                                      "', which nothing produces");
            return inputError("output '" + values_[i].name + "' is produced by no node");
        }
    }

    // Kahn's algorithm; among the ready ones the first added goes first, so the order is stable.
    std::vector<int> waiting(nodeCount, 0);
    std::vector<std::vector<std::size_t>> unlocks(nodeCount);
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    std::size_t alive = 0;
    for (std::size_t i = 0; i < nodeCount; ++i) {
        if (removed_[i])
            continue;
        ++alive;
        std::set<std::size_t> before;
        for (const std::size_t value : assembly.reads[i])
            if (assembly.producer[value] != kNone)
                before.insert(assembly.producer[value]);
        waiting[i] = static_cast<int>(before.size());
        for (const std::size_t producer : before)
            unlocks[producer].push_back(i);
        if (before.empty())
            ready.push(i);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
        const std::size_t next = ready.top();
        ready.pop();
        order.push_back(next);
        for (const std::size_t unlocked : unlocks[next])
            if (--waiting[unlocked] == 0)
                ready.push(unlocked);
    }
    if (order.size() != alive) {
        for (std::size_t i = 0; i < nodeCount; ++i)
            if (!removed_[i] && waiting[i] > 0)
                return inputError("the graph has a cycle through node '" + nodes_[i].name + "' (" + nodes_[i].op + ")");
    }

    auto data = std::make_shared<Graph::Data>();
    data->name = name_;
    data->opsets = opsets_;
    data->metadata = metadata_;
    data->lineage = lineage_;
    std::vector<ValueId> renumbered(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (!assembly.used[i])
            continue;
        renumbered[i] = ValueId(static_cast<std::int64_t>(data->values.size()));
        data->values.push_back(nullptr);
    }
    data->consumers.resize(data->values.size());
    const auto renumber = [&](std::vector<ValueId>& ids) {
        for (ValueId& id : ids)
            if (id.valid())
                id = renumbered[id.index()];
    };
    std::vector<NodeId> newNode(nodeCount);
    std::vector<int> outputIndex(values_.size(), 0);
    for (const std::size_t i : order) {
        newNode[i] = NodeId(static_cast<std::int64_t>(data->nodes.size()));
        Node node = nodes_[i];
        for (std::size_t o = 0; o < node.outputs.size(); ++o)
            if (node.outputs[o].valid()) {
                if (values_[node.outputs[o].index()].isConstant())
                    node.outputs[o] = {};
                else
                    outputIndex[node.outputs[o].index()] = static_cast<int>(o);
            }
        renumber(node.inputs);
        renumber(node.outputs);
        std::set<std::size_t> read(assembly.reads[i].begin(), assembly.reads[i].end());
        for (const std::size_t value : read)
            data->consumers[renumbered[value].index()].push_back(newNode[i]);
        data->nodes.push_back(std::make_shared<const Node>(std::move(node)));
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (!assembly.used[i])
            continue;
        Value value = values_[i];
        value.producer = assembly.producer[i] == kNone ? NodeId() : newNode[assembly.producer[i]];
        value.outputIndex = outputIndex[i];
        data->values[renumbered[i].index()] = std::make_shared<const Value>(std::move(value));
    }
    data->inputs = inputs_;
    data->outputs = outputs_;
    data->captures = captures_;
    renumber(data->inputs);
    renumber(data->outputs);
    renumber(data->captures);
    return Graph(std::move(data));
}

} // namespace tunesmith
