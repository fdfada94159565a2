// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/settle_choices.h"

#include <algorithm>
#include <limits>

#include "core/graph/body_splicer.h"
#include "core/graph/derived_name.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/infer_shapes.h"

namespace tunesmith {
namespace {

using Body = std::shared_ptr<const Graph>;

constexpr std::size_t kDeepest = 64;               // bodies within bodies, choices within choices
constexpr std::size_t kMostBodies = 1024;          // in all: each is looked at together with all that lies in it
constexpr std::int64_t kFirstWhere = 9;            // the opset
constexpr std::int64_t kMostCopiedElements = 4096; // shapes and flags; weights stay where they are

// A graph among those around it, the nearest first: what bodies read by name.
struct Scope {
    const Graph& graph;
    const Scope* outer = nullptr;

    std::size_t depth() const { return outer ? outer->depth() + 1 : 0; }
    Tensor constant(const std::string& name) const {
        if (const ValueId id = graph.findValue(name); id.valid() && !isCapture(id))
            return graph.value(id).constant;
        return outer ? outer->constant(name) : Tensor();
    }

private:
    bool isCapture(ValueId id) const {
        return std::ranges::find(graph.captures(), id) != graph.captures().end();
    }
};

constexpr const char* kBranches[] = {"else_branch", "then_branch"}; // by the condition

bool isChoice(const Node& node) { return node.op == "If" && node.domain.empty() && node.hasInput(0); }

const Graph* branchOf(const Node& node, const char* name) {
    const auto found = node.attributes.find(name);
    const Body* branch = found == node.attributes.end() ? nullptr : std::get_if<Body>(&found->second);
    return branch && *branch && (*branch)->outputs().size() == node.outputs.size() ? branch->get() : nullptr;
}

// The branch that stands for an If.
struct Choice {
    const Graph* branch = nullptr; // none: both may be taken
    bool taken = false;            // when the condition is true
    bool assumed = false;          // the other one cannot work
};

Choice choiceOf(const Graph& graph, const Node& node) {
    if (!isChoice(node))
        return {};
    if (const Tensor& condition = graph.value(node.inputs[0]).constant; condition.count() == 1 && !condition.absent()) {
        const bool taken = condition.asInt(0) != 0;
        return {branchOf(node, kBranches[taken]), taken};
    }
    const bool works[] = {checkBody(graph, node, kBranches[0]).ok(), checkBody(graph, node, kBranches[1]).ok()};
    return works[0] == works[1] ? Choice() : Choice{branchOf(node, kBranches[works[1]]), works[1], true};
}

// What is computed counts only where the condition says so: NaN elsewhere, in types that have one.
Result<std::vector<ValueId>> guarded(GraphBuilder& builder, const Node& node, bool taken, std::vector<ValueId> results) {
    const ValueId condition = builder.add("Reshape", {node.inputs[0], builder.addConstant(derivedName(node.name, ".scalar"), Tensor::ofInts({}))}, {},
                                          1, derivedName(node.name, ".condition"));
    for (ValueId& result : results) {
        const DType type = builder.value(result).type.dtype;
        if (!isFloat(type))
            continue;
        const ValueId nothing = builder.addConstant(derivedName(node.name, ".nan"), Tensor::scalar(std::numeric_limits<float>::quiet_NaN()).cast(type));
        result = builder.add("Where", {condition, taken ? result : nothing, taken ? nothing : result}, {}, 1, derivedName(node.name, ".guarded"));
    }
    return results;
}

// Small constants of the graphs around a body become its own, so that it folds with them. What a loop carries
// may change its shape from turn to turn, whatever its body declares.
Result<Graph> withOwnConstants(const Graph& body, const Scope& around, const std::string& prefix) {
    GraphBuilder builder(body);
    for (const ValueId id : body.inputs()) {
        TensorType type = body.value(id).type;
        type.dims.reset();
        builder.setType(id, std::move(type));
    }
    for (const ValueId id : body.captures()) {
        const Tensor constant = around.constant(body.value(id).name);
        if (!constant.absent() && constant.count() <= kMostCopiedElements)
            builder.replaceUses(id, builder.addConstant(derivedName(prefix, "/" + body.value(id).name), constant));
    }
    return builder.build();
}

// One pass; no value where no choice is known.
Result<std::optional<Graph>> settleOnce(const Graph& graph) {
    GraphBuilder builder(graph);
    std::map<std::string, ValueId> captures;
    bool settled = false;
    for (std::size_t n = 0; n < graph.nodeCount(); ++n) {
        const Node& node = *graph.nodes()[n];
        const auto [branch, taken, assumed] = choiceOf(graph, node);
        if (!branch)
            continue;
        const auto captured = [&](const std::string& name) {
            if (const ValueId own = graph.findValue(name); own.valid())
                return own;
            const ValueId inBranch = branch->findValue(name);
            const auto [found, fresh] = captures.try_emplace(name);
            if (fresh)
                found->second =
                    builder.addCapture(name, inBranch.valid() ? branch->value(inBranch).type : TensorType());
            return found->second;
        };
        TS_ASSIGN(auto results, BodySplicer(builder, *branch, derivedName(node.name, "/"), captured).splice({}));
        if (assumed && graph.opset() >= kFirstWhere) {
            TS_ASSIGN(results, guarded(builder, node, taken, std::move(results)));
        }
        replaceByIdentities(builder, NodeId(static_cast<std::int64_t>(n)), results);
        settled = true;
    }
    if (!settled)
        return std::optional<Graph>();
    TS_ASSIGN(Graph built, builder.build());
    return std::optional<Graph>(std::move(built));
}

// `bodies`: how many more are looked at.
Result<Graph> settle(const Graph& graph, const Scope* around, const FoldOptions& options, std::size_t& bodies);

Result<Graph> settleBodies(const Graph& graph, const Scope* around, const FoldOptions& options, std::size_t& bodies) {
    const Scope scope{graph, around};
    GraphBuilder builder(graph);
    for (std::size_t n = 0; n < graph.nodeCount(); ++n) {
        Node node = *graph.nodes()[n];
        bool changed = false;
        for (auto& [key, attribute] : node.attributes)
            if (auto* body = std::get_if<Body>(&attribute); body && *body && scope.depth() < kDeepest && bodies > 0) {
                --bodies;
                TS_ASSIGN(const Graph own, withOwnConstants(**body, scope, derivedName(node.name, "." + key)));
                auto settled = settle(own, &scope, options, bodies);
                if (!settled.ok() && settled.error().isCancelled())
                    return settled.error();
                if (!settled.ok()) // a branch that cannot work with these shapes, and whether it is taken is
                                   // not known
                    continue;
                *body = std::make_shared<const Graph>(std::move(settled).value());
                changed = true;
            }
        if (changed)
            builder.replaceNode(NodeId(static_cast<std::int64_t>(n)), std::move(node));
    }
    return builder.build();
}

Result<Graph> settle(const Graph& graph, const Scope* around, const FoldOptions& options, std::size_t& bodies) {
    TS_ASSIGN(Graph current, foldConstants(graph, options));
    for (std::size_t turn = 0; turn < kDeepest; ++turn) {
        TS_ASSIGN(const std::optional<Graph> next, settleOnce(current));
        if (!next)
            break;
        TS_ASSIGN(current, foldConstants(*next, options));
    }
    return settleBodies(current, around, options, bodies);
}

} // namespace

std::vector<std::string> impossibleBranches(const Graph& graph) {
    std::vector<std::string> sentences;
    for (const auto& node : graph.nodes()) {
        const Choice choice = choiceOf(graph, *node);
        if (!choice.branch || !choice.assumed)
            continue;
        const char* other = kBranches[!choice.taken];
        sentences.push_back("node '" + node->name + "' (If): its " + other + " cannot work with these sizes (" +
                            checkBody(graph, *node, other).error().message + "); what is compiled or exported does without it");
    }
    return sentences;
}

Result<Graph> settleChoices(const Graph& graph, const FoldOptions& options) {
    std::size_t bodies = kMostBodies;
    TS_ASSIGN(const Graph settled, settle(graph, nullptr, options, bodies));
    return inferShapes(settled);
}

} // namespace tunesmith
