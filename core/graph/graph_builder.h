// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace tunesmith {

// The only way to make a Graph. Values and nodes may be added in any order (a node may use a value whose producer comes
// later); build() sorts, drops nothing, and refuses cycles, values without an origin and doubled names with one sentence.
class GraphBuilder {
public:
    explicit GraphBuilder(std::string name = "graph");
    explicit GraphBuilder(const Graph& base); // start from a copy; ids of nodes and values stay what they were

    void expect(std::size_t nodes, std::size_t values); // that will be added; saves time only
    void setOpset(const std::string& domain, std::int64_t version);
    void setMetadata(const std::string& key, std::string value);
    void setLineage(std::shared_ptr<const Lineage> lineage);

    // Names that are empty or taken get a fresh one.
    ValueId addInput(const std::string& name, TensorType type);
    ValueId addConstant(const std::string& name, Tensor tensor);
    ValueId addCapture(const std::string& name, TensorType type);
    ValueId addValue(const std::string& name, TensorType type = {}); // to be produced by a node added later
    NodeId addNode(Node node);                                      // its outputs were made by addValue
    // The common case: one node with fresh outputs; returns its first output.
    ValueId add(const std::string& op, const std::vector<ValueId>& inputs,
                std::map<std::string, Attribute> attributes = {}, int outputs = 1, const std::string& name = {});
    void setOutputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }

    const Node& node(NodeId id) const { return *nodes_[id.index()]; }
    const Value& value(ValueId id) const { return *values_[id.index()]; }
    ValueId findValue(const std::string& name); // invalid when there is none
    std::size_t nodeCount() const { return nodes_.size(); }
    std::size_t valueCount() const { return values_.size(); }
    const std::vector<ValueId>& outputs() const { return outputs_; }

    void setType(ValueId id, TensorType type);
    void setDefault(ValueId input, Tensor tensor);
    void setListed(ValueId constant);
    void setConstant(ValueId id, Tensor tensor); // turns a value or an input into a constant; its producer loses it
    void replaceNode(NodeId id, Node node);
    void removeNode(NodeId id);                       // its outputs must not be used by anyone at build()
    void replaceUses(ValueId from, ValueId to);       // in nodes and in graph outputs

    // Also drops removed nodes and values that nobody produces or reads, so ids of the built graph may differ from ours.
    Result<Graph> build() const;

private:
    struct Assembly;
    Status connect(Assembly& assembly) const;
    Status connectOutputs(std::size_t node, Assembly& assembly) const;
    Status checkOrigins(const Assembly& assembly) const;
    Error missingOrigin(std::size_t value, const Assembly& assembly) const;
    Status sortNodes(Assembly& assembly) const;
    void numberValues(Assembly& assembly) const;
    Graph assemble(const Assembly& assembly) const;
    static void listConsumers(const Assembly& assembly, Graph::Data& data);
    std::shared_ptr<const Value> finishedValue(std::size_t index, const Assembly& assembly) const;
    std::shared_ptr<const Node> finishedNode(std::size_t index, const Assembly& assembly) const;

    // Names that are taken, and how many were made of a stem.
    struct Names {
        std::pmr::monotonic_buffer_resource memory; // nothing is taken back, so a million names are not freed one by one
        std::pmr::unordered_map<std::string_view, std::int64_t> taken{&memory}; // by which; the nodes or values keep them
        std::map<std::string, int> counters;
        void giveUnique(std::string& name, const char* stem, std::size_t index);
    };
    template <class T> static Names& namesOf(const std::vector<std::shared_ptr<const T>>& things, std::unique_ptr<Names>& names);
    // Copies a node or value that a graph shares before it changes.
    template <class T> T& own(std::shared_ptr<const T>& thing);
    void noteReads(std::size_t node);

    std::string name_;
    std::vector<std::shared_ptr<const Node>> nodes_;
    std::vector<bool> removed_;
    std::vector<std::shared_ptr<const Value>> values_;
    std::vector<ValueId> inputs_, outputs_, captures_;
    std::map<std::string, std::int64_t> opsets_;
    std::map<std::string, std::string> metadata_;
    std::unique_ptr<Names> nodeNames_, valueNames_;   // made where the first name is asked for
    std::vector<std::shared_ptr<const void>> replaced_; // whose names they hold
    std::optional<std::vector<std::vector<std::size_t>>> readers_; // of each value, nodes that may read it; made where uses are first replaced
    std::shared_ptr<const Lineage> lineage_;
};

} // namespace tunesmith
