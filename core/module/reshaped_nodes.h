// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"

namespace tunesmith {

// Inside core/module only.

// Nodes that are better computed in another shape of the same memory. A pass says which ones ask for a form, and what a shape is in it; elementwise nodes behind
// those follow, so that they stay in one kernel, and what others read is reshaped back, which costs nothing. Only floats of static shapes; runs after shape
// inference, and all types are known behind it.
class ReshapedNodes {
public:
    virtual ~ReshapedNodes() = default;
    Result<Graph> run(); // once

protected:
    using Form = std::int64_t;
    static constexpr Form kOwn = 0; // the shape that a value has

    explicit ReshapedNodes(const Graph& graph) : graph_(graph), builder_(graph) {}

    virtual Form formOf(const Node& node) const = 0; // that it asks for, of one output that is not empty
    // A shape, of what is repeated to `whole` (or is that) by the rule of elementwise operators. None: there is no such shape.
    virtual std::optional<Shape> shaped(const Shape& shape, const Shape& whole, Form form) const = 0;
    virtual bool follows(const Node& node) const; // behind nodes in a form, if all that it reads has one
    // Computes `made`, which is the result of the node in its form: by the same operator, unless a pass knows better.
    virtual void compute(NodeId id, Node node, ValueId made, Form form);

    const Value& valueOf(ValueId id) const { return graph_.value(id); }
    GraphBuilder& builder() { return builder_; }
    ValueId reshaped(ValueId id, const Shape& shape); // constants at once
    ValueId inForm(ValueId id, const Shape& whole, Form form);

private:
    struct Made {
        ValueId value;
        Form form;
    };
    void look(NodeId id);
    Form formBehind(const Node& node) const;
    std::optional<Shape> formed(ValueId id, const Shape& whole, Form form) const;
    void reshapeBack(const Node& node, ValueId made);
    bool isReadOutside(ValueId value) const;

    const Graph& graph_;
    GraphBuilder builder_;
    std::map<NodeId, Made> moved_;      // nodes that compute in a form, and what they make
    std::map<std::pair<ValueId, Shape>, ValueId> reshaped_;
    std::set<ValueId> readAsTheyWere_;  // also by nodes in a form, if it is another one
};

} // namespace tunesmith
