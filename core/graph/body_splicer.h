// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"

namespace tunesmith {

// Puts copies of a body (of an If, Loop or Scan) into the graph that is being built, as nodes among others. The
// copies share the body's constants. Types of what the body computes are forgotten but for their element type, for each
// copy may have other shapes.
class BodySplicer {
public:
    // The value of the builder that the body means by a captured name; invalid where there is none.
    using FindCaptured = std::function<ValueId(const std::string& name)>;

    // Nodes and values get `prefix` before their names. The body must outlive the splicer.
    BodySplicer(GraphBuilder& builder, const Graph& body, std::string prefix, FindCaptured findCaptured)
        : builder_(builder), body_(body), prefix_(std::move(prefix)), findCaptured_(std::move(findCaptured)) {}

    // One more copy that reads `inputs`, one for each of the body's: the values that stand for the body's outputs.
    Result<std::vector<ValueId>> splice(const std::vector<ValueId>& inputs);

private:
    Status addLeaves(const std::vector<ValueId>& inputs);
    void addNode(const Node& node);

    GraphBuilder& builder_;
    const Graph& body_;
    std::string prefix_;
    FindCaptured findCaptured_;
    std::map<ValueId, ValueId> constants_;
    std::vector<ValueId> copies_; // of the body's values
};

} // namespace tunesmith
