// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/cut_out.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/captures.h"
#include "core/graph/graph_builder.h"

namespace tunesmith {
namespace {

class Cutter {
public:
    Cutter(const Graph& whole, const std::vector<NodeId>& nodes)
        : whole_(whole), nodes_(nodes), chosen_(nodes.begin(), nodes.end()), builder_(whole.name()) {}

    Result<GraphPart> cut() {
        for (const auto& [domain, version] : whole_.opsets())
            builder_.setOpset(domain, version);
        for (const NodeId id : nodes_)
            addNode(whole_.node(id));
        std::vector<ValueId> outputs;
        for (const NodeId id : nodes_)
            for (const ValueId output : whole_.node(id).outputs)
                if (output.valid() && isRead(output)) {
                    outputs.push_back(valueFor(output));
                    outputs_.push_back(output);
                }
        builder_.setOutputs(std::move(outputs));
        TS_ASSIGN(Graph graph, builder_.build());
        return GraphPart{std::move(graph), std::move(inputs_), std::move(outputs_)};
    }

private:
    ValueId valueFor(ValueId id) {
        const auto [place, fresh] = known_.try_emplace(id);
        if (!fresh)
            return place->second;
        const Value& value = whole_.value(id);
        if (value.isConstant()) {
            place->second = builder_.addConstant(value.name, value.constant);
        } else if (value.producer.valid() && chosen_.contains(value.producer)) {
            place->second = builder_.addValue(value.name, value.type);
        } else {
            place->second = builder_.addInput(value.name, value.type);
            inputs_.push_back(id);
        }
        return place->second;
    }

    void addNode(const Node& node) {
        Node copy = node;
        for (ValueId& input : copy.inputs)
            if (input.valid())
                input = valueFor(input);
        for (const std::string& name : capturedNames(node))
            if (const ValueId outer = whole_.findValue(name); outer.valid())
                valueFor(outer);
        for (ValueId& output : copy.outputs)
            if (output.valid())
                output = valueFor(output);
        builder_.addNode(std::move(copy));
    }

    // By anybody but the part itself; what nobody reads at all is no output.
    bool isRead(ValueId id) const {
        const auto& outputs = whole_.outputs();
        if (std::find(outputs.begin(), outputs.end(), id) != outputs.end() || readByBody(id))
            return true;
        return std::ranges::any_of(whole_.consumers(id), [&](NodeId reader) { return !chosen_.contains(reader); });
    }

    bool readByBody(ValueId id) const {
        if (!capturesListed_) {
            for (std::size_t i = 0; i < whole_.nodeCount(); ++i)
                if (!chosen_.contains(NodeId(static_cast<std::int64_t>(i))))
                    for (std::string& name : capturedNames(*whole_.nodes()[i]))
                        captured_.insert(std::move(name));
            capturesListed_ = true;
        }
        return captured_.contains(whole_.value(id).name);
    }

    const Graph& whole_;
    const std::vector<NodeId>& nodes_;
    std::set<NodeId> chosen_;
    GraphBuilder builder_;
    std::map<ValueId, ValueId> known_;
    std::vector<ValueId> inputs_, outputs_;
    mutable std::set<std::string> captured_;
    mutable bool capturesListed_ = false;
};

} // namespace

Result<GraphPart> cutOut(const Graph& whole, const std::vector<NodeId>& nodes) {
    return Cutter(whole, nodes).cut();
}

} // namespace tunesmith
