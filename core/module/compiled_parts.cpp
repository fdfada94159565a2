// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/compiled_parts.h"

#include <algorithm>
#include <map>

#include "core/graph/captures.h"
#include "core/graph/cut_out.h"
#include "core/ops/lower_node.h"

namespace tunesmith {
namespace {

Status checkKernel(const Graph& graph, NodeId id) {
    TS_TRY(checkLowerable(graph, id));
    const auto program = lowerNode(graph, id);
    return program.ok() ? Status() : Status(program.error());
}

// How many parts must have run before the node can: kernels wait for what is none, which waits for kernels.
class Order {
public:
    Order(const Graph& graph, const std::vector<bool>& kernels) : graph_(graph), kernels_(kernels) {}

    std::map<std::size_t, std::vector<NodeId>> parts() {
        std::map<std::size_t, std::vector<NodeId>> found;
        for (std::size_t n = 0; n < graph_.nodeCount(); ++n) {
            const Node& node = *graph_.nodes()[n];
            std::size_t after = 0;
            for (const ValueId input : node.inputs)
                after = std::max(after, readyAt(input, kernels_[n]));
            for (const std::string& name : capturedNames(node))
                after = std::max(after, readyAt(graph_.findValue(name), kernels_[n]));
            runsAt_.push_back(after);
            if (kernels_[n])
                found[after].push_back(NodeId(static_cast<std::int64_t>(n)));
        }
        return found;
    }

private:
    std::size_t readyAt(ValueId id, bool forKernel) const {
        if (!id.valid() || !graph_.value(id).producer.valid())
            return 0;
        const std::size_t producer = graph_.value(id).producer.index();
        return runsAt_[producer] + (forKernel && !kernels_[producer] ? 1 : 0);
    }

    const Graph& graph_;
    const std::vector<bool>& kernels_;
    std::vector<std::size_t> runsAt_; // of each node
};

} // namespace

Result<std::vector<Graph>> compiledParts(const Graph& prepared) {
    std::vector<bool> kernels;
    Status refused;
    for (std::size_t n = 0; n < prepared.nodeCount(); ++n) {
        const Status kernel = checkKernel(prepared, NodeId(static_cast<std::int64_t>(n)));
        kernels.push_back(kernel.ok());
        if (!kernel.ok() && refused.ok())
            refused = kernel;
    }
    if (refused.ok())
        return std::vector<Graph>{prepared};
    if (std::ranges::none_of(kernels, [](bool kernel) { return kernel; }))
        return refused.error();
    std::vector<Graph> parts;
    for (const auto& [order, nodes] : Order(prepared, kernels).parts()) {
        TS_ASSIGN(GraphPart part, cutOut(prepared, nodes));
        parts.push_back(std::move(part.graph));
    }
    return parts;
}

} // namespace tunesmith
