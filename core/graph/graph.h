// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/graph/node.h"
#include "core/graph/tensor_type.h"

namespace tunesmith {

// An edge of the graph: a graph input, a constant, or one output of a node.
struct Value {
    std::string name; // unique within its graph
    TensorType type;
    Tensor constant; // absent unless the value is a constant
    Tensor fallback; // of a graph input: its value in a run that gives none; absent where one must be given
    bool listed = false; // of a constant: the file lists it among the inputs, so a run may give another
    NodeId producer;     // none for inputs and constants
    int outputIndex = 0;

    bool isConstant() const { return !constant.absent(); }
    bool hasDefault() const { return !fallback.absent(); }
};

// Where a graph came from: the graph before the step, the rule that was applied, and which old nodes became which new
// ones (an old node without an entry was kept as it is; with an empty list it vanished).
struct Lineage {
    std::shared_ptr<const Graph> parent;
    std::string rule;
    std::map<NodeId, std::vector<NodeId>> became;
};

// A computation graph as an immutable value: copying is cheap, a change is a new graph (through GraphBuilder) that shares
// nodes and constants with the old one. Nodes are kept in topological order. Safe to read from any thread.
class Graph {
public:
    Graph(); // empty

    const std::string& name() const { return data_->name; }
    const std::vector<std::shared_ptr<const Node>>& nodes() const { return data_->nodes; }
    const Node& node(NodeId id) const { return *data_->nodes[id.index()]; }
    std::size_t nodeCount() const { return data_->nodes.size(); }
    const std::vector<std::shared_ptr<const Value>>& values() const { return data_->values; }
    const Value& value(ValueId id) const { return *data_->values[id.index()]; }
    std::size_t valueCount() const { return data_->values.size(); }

    const std::vector<ValueId>& inputs() const { return data_->inputs; } // without constants
    const std::vector<ValueId>& outputs() const { return data_->outputs; }
    // Names of an enclosing graph that a subgraph (the body of If, Loop, Scan) reads, as values without a producer.
    const std::vector<ValueId>& captures() const { return data_->captures; }
    std::span<const NodeId> consumers(ValueId id) const {
        const std::size_t first = data_->firstConsumer[id.index()];
        return std::span(data_->consumers).subspan(first, data_->firstConsumer[id.index() + 1] - first);
    }
    ValueId findValue(const std::string& name) const; // invalid when there is none
    NodeId findNode(const std::string& name) const;

    const std::map<std::string, std::int64_t>& opsets() const { return data_->opsets; }
    std::int64_t opset(const std::string& domain = {}) const; // 0 when the domain was not imported
    const std::map<std::string, std::string>& metadata() const { return data_->metadata; }
    const std::shared_ptr<const Lineage>& lineage() const { return data_->lineage; }

    // Structure, attributes, types and constants, independent of names and of the order in which nodes were added.
    std::uint64_t hash() const;

private:
    friend class GraphBuilder;
    struct Data {
        std::string name;
        std::vector<std::shared_ptr<const Node>> nodes;
        std::vector<std::shared_ptr<const Value>> values;
        std::vector<ValueId> inputs, outputs, captures;
        std::vector<NodeId> consumers;          // of one value after the other
        std::vector<std::size_t> firstConsumer; // of each value, and one past the last
        std::map<std::string, std::int64_t> opsets;
        std::map<std::string, std::string> metadata;
        std::shared_ptr<const Lineage> lineage;
        struct Names { // by name, made where the first is looked for
            std::once_flag made;
            std::unordered_map<std::string_view, ValueId> values;
            std::unordered_map<std::string_view, NodeId> nodes;
        };
        mutable Names names = {};
    };
    const Data::Names& names() const;
    explicit Graph(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

} // namespace tunesmith
