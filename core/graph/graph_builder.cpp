// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/graph_builder.h"

#include <algorithm>
#include <queue>
#include <set>

#include "core/graph/captures.h"

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
    std::erase(inputs_, id);
    Value& value = values_[id.index()];
    value.type = TensorType(tensor.type(), tensor.shape());
    value.constant = std::move(tensor);
    value.fallback = {};
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

} // namespace

// What build() finds out before it puts the graph together; nodes and values by their index in the builder.
struct GraphBuilder::Assembly {
    std::vector<std::size_t> producer;           // of each value: index of a node, or kNone
    std::vector<std::vector<std::size_t>> reads; // of each node: indices of values
    std::vector<bool> used;                      // values that somebody makes or reads
    std::vector<std::size_t> order;              // of the nodes that stay
    std::vector<ValueId> newValue;
    std::vector<NodeId> newNode;

    void renumber(std::vector<ValueId>& ids) const {
        for (ValueId& id : ids)
            if (id.valid())
                id = newValue[id.index()];
    }
};

Result<Graph> GraphBuilder::build() const {
    Assembly assembly;
    TS_TRY(connect(assembly));
    TS_TRY(checkOrigins(assembly));
    TS_TRY(sortNodes(assembly));
    numberValues(assembly);
    return assemble(assembly);
}

Status GraphBuilder::connect(Assembly& assembly) const {
    assembly.producer.assign(values_.size(), kNone);
    assembly.reads.resize(nodes_.size());
    assembly.used.assign(values_.size(), false);
    std::map<std::string, std::size_t> byName;
    for (std::size_t i = 0; i < values_.size(); ++i)
        byName.emplace(values_[i].name, i);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (removed_[i])
            continue;
        TS_TRY(connectOutputs(i, assembly));
        for (const ValueId input : nodes_[i].inputs)
            if (input.valid())
                assembly.reads[i].push_back(input.index());
        for (const std::string& name : capturedNames(nodes_[i]))
            if (const auto found = byName.find(name); found != byName.end())
                assembly.reads[i].push_back(found->second);
        for (const std::size_t value : assembly.reads[i])
            assembly.used[value] = true;
    }
    for (const auto* ids : {&inputs_, &captures_, &outputs_})
        for (const ValueId id : *ids)
            assembly.used[id.index()] = true;
    return {};
}

Status GraphBuilder::connectOutputs(std::size_t node, Assembly& assembly) const {
    for (const ValueId output : nodes_[node].outputs) {
        if (!output.valid() || values_[output.index()].isConstant())
            continue;
        std::size_t& producer = assembly.producer[output.index()];
        if (producer != kNone)
            return inputError("value '" + values_[output.index()].name + "' is produced twice, by node '" +
                              nodes_[producer].name + "' and by node '" + nodes_[node].name + "'");
        producer = node;
        assembly.used[output.index()] = true;
    }
    return {};
}

// Every value that is used must be an input, a capture or a constant, or else the output of a node.
Status GraphBuilder::checkOrigins(const Assembly& assembly) const {
    std::vector<bool> isLeaf(values_.size(), false);
    for (const auto* leaves : {&inputs_, &captures_})
        for (const ValueId id : *leaves)
            isLeaf[id.index()] = true;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const bool leaf = isLeaf[i] || values_[i].isConstant();
        if (leaf && assembly.producer[i] != kNone)
            return inputError("value '" + values_[i].name + "' is an input or a constant and also the output of node '" +
                              nodes_[assembly.producer[i]].name + "'");
        if (assembly.used[i] && !leaf && assembly.producer[i] == kNone)
            return missingOrigin(i, assembly);
    }
    return {};
}

Error GraphBuilder::missingOrigin(std::size_t value, const Assembly& assembly) const {
    for (std::size_t n = 0; n < nodes_.size(); ++n)
        if (std::find(assembly.reads[n].begin(), assembly.reads[n].end(), value) != assembly.reads[n].end())
            return inputError("node '" + nodes_[n].name + "' (" + nodes_[n].op + ") reads value '" + values_[value].name +
                              "', which nothing produces");
    return inputError("output '" + values_[value].name + "' is produced by no node");
}

// Kahn's algorithm; among the ready ones the first added goes first, so the order is stable.
Status GraphBuilder::sortNodes(Assembly& assembly) const {
    std::vector<int> waiting(nodes_.size(), 0);
    std::vector<std::vector<std::size_t>> unlocks(nodes_.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (removed_[i])
            continue;
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
    while (!ready.empty()) {
        const std::size_t next = ready.top();
        ready.pop();
        assembly.order.push_back(next);
        for (const std::size_t unlocked : unlocks[next])
            if (--waiting[unlocked] == 0)
                ready.push(unlocked);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (!removed_[i] && waiting[i] > 0)
            return inputError("the graph has a cycle through node '" + nodes_[i].name + "' (" + nodes_[i].op + ")");
    return {};
}

void GraphBuilder::numberValues(Assembly& assembly) const {
    std::int64_t next = 0;
    assembly.newValue.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i)
        if (assembly.used[i])
            assembly.newValue[i] = ValueId(next++);
    assembly.newNode.resize(nodes_.size());
    for (std::size_t i = 0; i < assembly.order.size(); ++i)
        assembly.newNode[assembly.order[i]] = NodeId(static_cast<std::int64_t>(i));
}

Graph GraphBuilder::assemble(const Assembly& assembly) const {
    auto data = std::make_shared<Graph::Data>();
    data->name = name_;
    data->opsets = opsets_;
    data->metadata = metadata_;
    data->lineage = lineage_;
    for (std::size_t i = 0; i < values_.size(); ++i)
        if (assembly.used[i])
            data->values.push_back(finishedValue(i, assembly));
    data->consumers.resize(data->values.size());
    for (const std::size_t i : assembly.order) {
        data->nodes.push_back(finishedNode(i, assembly));
        const std::set<std::size_t> read(assembly.reads[i].begin(), assembly.reads[i].end());
        for (const std::size_t value : read)
            data->consumers[assembly.newValue[value].index()].push_back(assembly.newNode[i]);
    }
    data->inputs = inputs_;
    data->outputs = outputs_;
    data->captures = captures_;
    for (auto* ids : {&data->inputs, &data->outputs, &data->captures})
        assembly.renumber(*ids);
    return Graph(std::move(data));
}

std::shared_ptr<const Value> GraphBuilder::finishedValue(std::size_t index, const Assembly& assembly) const {
    Value value = values_[index];
    const std::size_t producer = assembly.producer[index];
    value.producer = producer == kNone ? NodeId() : assembly.newNode[producer];
    value.outputIndex = 0;
    if (producer != kNone) {
        const auto& outputs = nodes_[producer].outputs;
        const auto found = std::find(outputs.begin(), outputs.end(), ValueId(static_cast<std::int64_t>(index)));
        value.outputIndex = static_cast<int>(found - outputs.begin());
    }
    return std::make_shared<const Value>(std::move(value));
}

std::shared_ptr<const Node> GraphBuilder::finishedNode(std::size_t index, const Assembly& assembly) const {
    Node node = nodes_[index];
    for (ValueId& output : node.outputs)
        if (output.valid() && values_[output.index()].isConstant())
            output = {}; // it became a constant
    assembly.renumber(node.inputs);
    assembly.renumber(node.outputs);
    return std::make_shared<const Node>(std::move(node));
}

} // namespace tunesmith
