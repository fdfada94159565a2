// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "core/graph/graph_builder.h"
#include "core/onnx/upgrade.h"

namespace tunesmith {

// A node of an old opset while a rule rewrites it, with what is known of its inputs.
class OldNode {
public:
    using TypeOf = std::function<const TensorType&(ValueId)>;

    OldNode(Node ofGraph, std::int64_t opsetVersion, GraphBuilder& builder, const TypeOf& typeOf)
        : node(std::move(ofGraph)), opset(opsetVersion), builder_(builder), typeOf_(typeOf) {}

    Node node;
    const std::int64_t opset;

    std::optional<std::size_t> rank(std::size_t input) const; // when it is known
    Tensor constant(std::size_t input) const;                 // absent unless it is one of numbers
    ValueId addConstant(const char* what, Tensor tensor);     // named after the node
    // Gives an input `count` more dimensions of extent 1 at its end.
    void appendOnes(std::size_t input, std::size_t count);
    // "node 'sum' (Add) of opset 6: " + what + how to get around it.
    Error unsupported(const std::string& what) const;

private:
    GraphBuilder& builder_;
    const TypeOf& typeOf_;
};

// Rewrites the node in terms of opset kOldestRules. Operators without a rule mean today what they meant then.
Status upgradeNode(OldNode& old);

} // namespace tunesmith
