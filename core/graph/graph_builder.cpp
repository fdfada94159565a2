// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/graph_builder.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <queue>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/graph/captures.h"
#include "core/graph/derived_name.h"

namespace tunesmith {

GraphBuilder::GraphBuilder(std::string name) : name_(std::move(name)) {}

GraphBuilder::GraphBuilder(const Graph& base)
    : name_(base.name()), nodes_(base.nodes()), removed_(base.nodeCount(), false), values_(base.values()), inputs_(base.inputs()),
      outputs_(base.outputs()), captures_(base.captures()), opsets_(base.opsets()), metadata_(base.metadata()), lineage_(base.lineage()) {}

// A graph holds its nodes and values as well; what it holds is not changed.
template <class T> T& GraphBuilder::own(std::shared_ptr<const T>& thing) {
    if (thing.use_count() > 1) {
        if (nodeNames_ || valueNames_)
            replaced_.push_back(thing);
        thing = std::make_shared<T>(*thing);
    }
    std::atomic_thread_fence(std::memory_order_acquire); // what others read of it, they have read before they let go
    return const_cast<T&>(*thing); // it was made here, and not as a constant
}

void GraphBuilder::expect(std::size_t nodes, std::size_t values) {
    nodes_.reserve(nodes_.size() + nodes);
    removed_.reserve(nodes_.capacity());
    values_.reserve(values_.size() + values);
    namesOf(nodes_, nodeNames_).taken.reserve(nodes_.capacity());
    namesOf(values_, valueNames_).taken.reserve(values_.capacity());
}

void GraphBuilder::setOpset(const std::string& domain, std::int64_t version) { opsets_[domain] = version; }

void GraphBuilder::setMetadata(const std::string& key, std::string value) { metadata_[key] = std::move(value); }

void GraphBuilder::setLineage(std::shared_ptr<const Lineage> lineage) { lineage_ = std::move(lineage); }

template <class T> GraphBuilder::Names& GraphBuilder::namesOf(const std::vector<std::shared_ptr<const T>>& things, std::unique_ptr<Names>& names) {
    if (!names) {
        names = std::make_unique<Names>();
        names->taken.reserve(2 * things.size());
        for (std::size_t i = 0; i < things.size(); ++i)
            names->taken.emplace(things[i]->name, i);
    }
    return *names;
}

// Takes the name, or one made of it or of the stem. `name` stays where it is.
void GraphBuilder::Names::giveUnique(std::string& name, const char* stem, std::size_t index) {
    if (!name.empty() && taken.try_emplace(name, index).second)
        return;
    const std::string base = name.empty() ? stem : name;
    int& counter = counters.try_emplace(base, taken.contains(base) ? 1 : 0).first->second;
    do
        name = derivedName(base, "_" + std::to_string(counter++));
    while (!taken.try_emplace(name, index).second);
}

ValueId GraphBuilder::addValue(const std::string& name, TensorType type) {
    Names& names = namesOf(values_, valueNames_);
    auto value = std::make_shared<Value>();
    value->name = name;
    value->type = std::move(type);
    names.giveUnique(value->name, "value", values_.size());
    values_.push_back(std::move(value));
    return ValueId(static_cast<std::int64_t>(values_.size()) - 1);
}

ValueId GraphBuilder::findValue(const std::string& name) {
    const Names& names = namesOf(values_, valueNames_);
    const auto found = names.taken.find(name);
    return found == names.taken.end() ? ValueId() : ValueId(found->second);
}

void GraphBuilder::setType(ValueId id, TensorType type) {
    if (values_[id.index()]->type != type)
        own(values_[id.index()]).type = std::move(type);
}

void GraphBuilder::setDefault(ValueId input, Tensor tensor) { own(values_[input.index()]).fallback = std::move(tensor); }

void GraphBuilder::setListed(ValueId constant) { own(values_[constant.index()]).listed = true; }

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
    Names& names = namesOf(nodes_, nodeNames_);
    auto added = std::make_shared<Node>(std::move(node));
    names.giveUnique(added->name, added->op.c_str(), nodes_.size());
    for (std::size_t i = 0; i < added->outputs.size(); ++i)
        if (const ValueId output = added->outputs[i]; output.valid()) { // most likely, so that build() need not copy
            own(values_[output.index()]).producer = NodeId(static_cast<std::int64_t>(nodes_.size()));
            own(values_[output.index()]).outputIndex = static_cast<int>(i);
        }
    nodes_.push_back(std::move(added));
    removed_.push_back(false);
    if (readers_)
        noteReads(nodes_.size() - 1);
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
        node.outputs.push_back(addValue(name.empty() ? std::string() : derivedName(name, i ? "." + std::to_string(i) : "")));
    return nodes_[addNode(std::move(node)).index()]->outputs.front();
}

void GraphBuilder::setConstant(ValueId id, Tensor tensor) {
    std::erase(inputs_, id);
    Value& value = own(values_[id.index()]);
    value.type = TensorType(tensor.type(), tensor.shape());
    value.constant = std::move(tensor);
    value.fallback = {};
}

void GraphBuilder::replaceNode(NodeId id, Node node) {
    std::shared_ptr<const Node>& place = nodes_[id.index()];
    replaced_.push_back(place);
    node.name = place->name;
    place = std::make_shared<Node>(std::move(node));
    if (readers_)
        noteReads(id.index());
}

void GraphBuilder::removeNode(NodeId id) { removed_[id.index()] = true; }

void GraphBuilder::noteReads(std::size_t node) {
    readers_->resize(values_.size());
    for (const ValueId input : nodes_[node]->inputs)
        if (input.valid())
            (*readers_)[input.index()].push_back(node);
}

void GraphBuilder::replaceUses(ValueId from, ValueId to) {
    if (from == to)
        return;
    if (!readers_) {
        readers_.emplace();
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            noteReads(i);
    }
    readers_->resize(values_.size());
    const std::vector<std::size_t> nodes = std::exchange((*readers_)[from.index()], {});
    for (const std::size_t i : nodes)
        if (std::ranges::find(nodes_[i]->inputs, from) != nodes_[i]->inputs.end()) {
            std::ranges::replace(own(nodes_[i]).inputs, from, to);
            (*readers_)[to.index()].push_back(i);
        }
    std::replace(outputs_.begin(), outputs_.end(), from, to);
}

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

} // namespace

// What build() finds out before it puts the graph together; nodes and values by their index in the builder.
struct GraphBuilder::Assembly {
    // Lists one after the other in one piece of memory: a million small vectors take ten times as much.
    class Lists {
    public:
        explicit Lists(std::size_t count = 0) { begins_.reserve(count + 1); }
        void add(std::size_t item) { items_.push_back(item); } // to the last list
        void close() { begins_.push_back(items_.size()); }
        std::span<std::size_t> last() { return std::span(items_).subspan(begins_.back()); }
        void keepOfLast(std::size_t count) { items_.resize(begins_.back() + count); }
        std::span<const std::size_t> operator[](std::size_t list) const { return std::span(items_).subspan(begins_[list], begins_[list + 1] - begins_[list]); }

    private:
        std::vector<std::size_t> items_, begins_{0};
    };

    std::vector<std::size_t> producer;           // of each value: index of a node, or kNone
    std::vector<int> place;                      // among the outputs of its producer
    Lists reads;                                 // of each node: indices of values, ascending, each once
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
    assembly.reads = Assembly::Lists(nodes_.size());
    assembly.used.assign(values_.size(), false);
    assembly.place.assign(values_.size(), 0);
    std::unordered_map<std::string_view, std::size_t> byName; // filled where a body reads values around it
    for (std::size_t i = 0; i < nodes_.size(); assembly.reads.close(), ++i) {
        if (removed_[i])
            continue;
        TS_TRY(connectOutputs(i, assembly));
        for (const ValueId input : nodes_[i]->inputs)
            if (input.valid())
                assembly.reads.add(input.index());
        for (const std::string& name : capturedNames(*nodes_[i])) {
            for (std::size_t v = byName.size(); v < values_.size(); ++v)
                byName.emplace(values_[v]->name, v);
            if (const auto found = byName.find(name); found != byName.end())
                assembly.reads.add(found->second);
        }
        const std::span<std::size_t> read = assembly.reads.last();
        std::ranges::sort(read);
        assembly.reads.keepOfLast(static_cast<std::size_t>(std::ranges::unique(read).begin() - read.begin()));
        for (const std::size_t value : assembly.reads.last())
            assembly.used[value] = true;
    }
    for (const auto* ids : {&inputs_, &captures_, &outputs_})
        for (const ValueId id : *ids)
            assembly.used[id.index()] = true;
    return {};
}

Status GraphBuilder::connectOutputs(std::size_t node, Assembly& assembly) const {
    const std::vector<ValueId>& outputs = nodes_[node]->outputs;
    for (std::size_t place = 0; place < outputs.size(); ++place) {
        const ValueId output = outputs[place];
        if (!output.valid() || values_[output.index()]->isConstant())
            continue;
        std::size_t& producer = assembly.producer[output.index()];
        if (producer != kNone)
            return inputError("value '" + values_[output.index()]->name + "' is produced twice, by node '" +
                              nodes_[producer]->name + "' and by node '" + nodes_[node]->name + "'");
        producer = node;
        assembly.place[output.index()] = static_cast<int>(place);
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
        const bool leaf = isLeaf[i] || values_[i]->isConstant();
        if (leaf && assembly.producer[i] != kNone)
            return inputError("value '" + values_[i]->name + "' is an input or a constant and also the output of node '" +
                              nodes_[assembly.producer[i]]->name + "'");
        if (assembly.used[i] && !leaf && assembly.producer[i] == kNone)
            return missingOrigin(i, assembly);
    }
    return {};
}

Error GraphBuilder::missingOrigin(std::size_t value, const Assembly& assembly) const {
    for (std::size_t n = 0; n < nodes_.size(); ++n)
        if (std::ranges::binary_search(assembly.reads[n], value))
            return inputError("node '" + nodes_[n]->name + "' (" + nodes_[n]->op + ") reads value '" + values_[value]->name +
                              "', which nothing produces");
    return inputError("output '" + values_[value]->name + "' is produced by no node");
}

// Kahn's algorithm; among the ready ones the first added goes first, so the order is stable.
Status GraphBuilder::sortNodes(Assembly& assembly) const {
    std::vector<int> waiting(nodes_.size(), 0);        // a producer of two values that are read unlocks twice
    std::vector<std::size_t> begins(nodes_.size() + 1, 0); // of what each unlocks
    const auto forEachProducer = [&](std::size_t node, const auto& visit) {
        for (const std::size_t value : assembly.reads[node])
            if (const std::size_t producer = assembly.producer[value]; producer != kNone)
                visit(producer);
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        forEachProducer(i, [&](std::size_t producer) { ++waiting[i], ++begins[producer + 1]; });
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<std::size_t> unlocks(begins.back()), next(begins.begin(), begins.end() - 1);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        forEachProducer(i, [&](std::size_t producer) { unlocks[next[producer]++] = i; });
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (!removed_[i] && waiting[i] == 0)
            ready.push(i);
    while (!ready.empty()) {
        const std::size_t node = ready.top();
        ready.pop();
        assembly.order.push_back(node);
        for (std::size_t i = begins[node]; i < begins[node + 1]; ++i)
            if (--waiting[unlocks[i]] == 0)
                ready.push(unlocks[i]);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (!removed_[i] && waiting[i] > 0)
            return inputError("the graph has a cycle through node '" + nodes_[i]->name + "' (" + nodes_[i]->op + ")");
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
    data->values.reserve(values_.size());
    data->nodes.reserve(assembly.order.size());
    for (std::size_t i = 0; i < values_.size(); ++i)
        if (assembly.used[i])
            data->values.push_back(finishedValue(i, assembly));
    for (const std::size_t i : assembly.order)
        data->nodes.push_back(finishedNode(i, assembly));
    listConsumers(assembly, *data);
    data->inputs = inputs_;
    data->outputs = outputs_;
    data->captures = captures_;
    for (auto* ids : {&data->inputs, &data->outputs, &data->captures})
        assembly.renumber(*ids);
    return Graph(std::move(data));
}

void GraphBuilder::listConsumers(const Assembly& assembly, Graph::Data& data) {
    std::vector<std::size_t>& first = data.firstConsumer;
    first.assign(data.values.size() + 1, 0);
    const auto forEachRead = [&](const auto& visit) {
        for (const std::size_t i : assembly.order)
            for (const std::size_t value : assembly.reads[i])
                visit(assembly.newValue[value].index(), assembly.newNode[i]);
    };
    forEachRead([&](std::size_t value, NodeId) { ++first[value + 1]; });
    std::partial_sum(first.begin(), first.end(), first.begin());
    data.consumers.resize(first.back());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    forEachRead([&](std::size_t value, NodeId reader) { data.consumers[next[value]++] = reader; });
}

std::shared_ptr<const Value> GraphBuilder::finishedValue(std::size_t index, const Assembly& assembly) const {
    const Value& value = *values_[index];
    const std::size_t producer = assembly.producer[index];
    const NodeId node = producer == kNone ? NodeId() : assembly.newNode[producer];
    const int place = assembly.place[index];
    if (value.producer == node && value.outputIndex == place)
        return values_[index];
    auto finished = std::make_shared<Value>(value);
    finished->producer = node;
    finished->outputIndex = place;
    return finished;
}

std::shared_ptr<const Node> GraphBuilder::finishedNode(std::size_t index, const Assembly& assembly) const {
    const Node& node = *nodes_[index];
    std::vector<ValueId> inputs = node.inputs, outputs = node.outputs;
    for (ValueId& output : outputs)
        if (output.valid() && values_[output.index()]->isConstant())
            output = {}; // it became a constant
    assembly.renumber(inputs);
    assembly.renumber(outputs);
    if (inputs == node.inputs && outputs == node.outputs)
        return nodes_[index];
    auto finished = std::make_shared<Node>(node);
    finished->inputs = std::move(inputs);
    finished->outputs = std::move(outputs);
    return finished;
}

} // namespace tunesmith
