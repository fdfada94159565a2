// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/fold_constants.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/log.h"
#include "core/base/memory_budget.h"
#include "core/graph/copied_strings.h"
#include "core/graph/graph_builder.h"
#include "core/ops/containers.h"
#include "core/ops/dead_code.h"
#include "core/ops/evaluate_node.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/node_steps.h"

namespace tunesmith {
namespace {

class Folder {
public:
    Folder(const InferredGraph& inferred, const FoldOptions& options)
        : graph_(inferred.graph), options_(options), builder_(inferred.graph), most_(mostBytes()) {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            takeKnown(NodeId(static_cast<std::int64_t>(i)), inferred);
    }

    Result<Graph> run() {
        TS_TRY(foldAll());
        if (widened_ > 0 && widened_ <= options_.widening) {
            widens_ = true;
            TS_TRY(foldAll());
        }
        TS_ASSIGN(const Graph folded, builder_.build());
        return removeDeadNodes(folded);
    }

private:
    Status foldAll() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i) {
            if (options_.stop.stopRequested())
                return cancelledError();
            fold(*graph_.nodes()[i]);
        }
        return {};
    }

    // Takes a node's results that shape inference knows, but for quantised weights that stay and what is made of them alone.
    void takeKnown(NodeId id, const InferredGraph& inferred) {
        const Node& node = graph_.node(id);
        const Operator* op = findOperator(node.op, node.domain);
        const bool stays = isOfKept(node);
        for (const ValueId output : node.outputs) {
            const auto known = inferred.known.find(output);
            if (stays)
                kept_.insert(output);
            else if (op && op->deterministic && known != inferred.known.end())
                builder_.setConstant(output, known->second);
        }
    }

    bool isKept(const Node& node) const { return options_.keepQuantised && node.op == "DequantizeLinear"; }

    // A node of no other elements than those of quantised weights and constants. Shapes have none of their elements.
    bool isOfKept(const Node& node) const {
        const auto kept = [&](ValueId input) { return kept_.contains(input); };
        const auto fixed = [&](ValueId input) { return !input.valid() || kept(input) || builder_.value(input).isConstant(); };
        if (node.op == "Shape" || node.op == "Size" || !std::ranges::all_of(node.inputs, fixed))
            return false;
        return isKept(node) || std::ranges::any_of(node.inputs, kept);
    }

    void fold(const Node& node) {
        const Operator* op = findOperator(node.op, node.domain);
        if (!op || !op->eval || !op->deterministic || done(node))
            return;
        std::vector<Tensor> inputs(node.inputs.size());
        std::int64_t inputBytes = 0;
        longest_ = 0;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            if (!node.hasInput(i))
                continue;
            inputs[i] = builder_.value(node.inputs[i]).constant;
            if (inputs[i].absent())
                return;
            inputBytes += heldBytes(inputs[i]);
            if (inputs[i].type() == DType::string)
                for (const std::string& text : inputs[i].strings())
                    longest_ = std::max(longest_, static_cast<std::int64_t>(text.size()));
        }
        if (!worthwhile(node, *op, inputBytes) || isKept(node))
            return;
        if (const std::int64_t more = widening(node, inputs); more > 0 && !widens_) {
            widened_ += more;
            return;
        }
        if (!affordable(node, *op) || !quick(node, inputs))
            return;
        const auto outputs = evaluateNode(node, effectiveOpset(graph_, node.domain), inputs);
        for (std::size_t i = 0; outputs.ok() && i < node.outputs.size(); ++i)
            if (node.outputs[i].valid() && (*outputs)[i].type() != DType::undefined) { // sequences are no constants
                made_ += op->fusion == Fusion::alias ? 0 : heldBytes((*outputs)[i]);
                builder_.setConstant(node.outputs[i], (*outputs)[i]);
            }
    }

    // Of a static type. Each string of a result may be the longest one of the inputs.
    std::optional<std::int64_t> resultBytes(const TensorType& type) const {
        const auto bytes = byteSizeOf(type);
        if (!bytes || type.dtype != DType::string)
            return bytes;
        std::int64_t sum = 0;
        return __builtin_mul_overflow(elementCount(type.shape()), longest_, &sum) || __builtin_add_overflow(sum, *bytes, &sum) ? std::nullopt : std::optional(sum);
    }

    std::int64_t mostBytes() const {
        std::int64_t constants = 0;
        for (const auto& value : graph_.values())
            constants += value->isConstant() ? heldBytes(value->constant) : 0;
        return std::min(options_.sumBytes + FoldOptions::kWeightsGrowth * constants, valueMemoryLimit() / 2);
    }

    // Whether the results fit beside those of the nodes before; says of the first node that they do not.
    bool affordable(const Node& node, const Operator& op) {
        std::int64_t more = 0;
        for (const ValueId id : node.outputs)
            if (id.valid() && op.fusion != Fusion::alias && builder_.value(id).type.isStatic())
                more += resultBytes(builder_.value(id).type).value_or(0);
        if (made_ + more <= most_)
            return true;
        if (!std::exchange(told_, true))
            logMessage(LogLevel::warning, "node '" + node.name + "' (" + node.op + ") is not folded: its result of " + memoryText(more) + " and those before it, " +
                                              memoryText(made_) + ", exceed the " + memoryText(most_) + " that folding may make");
        return false;
    }

    // Whether its steps and those of the nodes before are few enough.
    bool quick(const Node& node, const std::vector<Tensor>& inputs) {
        std::vector<TensorType> types;
        for (const Tensor& input : inputs)
            types.push_back(typeOf(input));
        const double more = nodeSteps(OpInputs(node, effectiveOpset(graph_, node.domain), std::move(types), inputs));
        if (steps_ + more > options_.mostSteps)
            return false;
        steps_ += more;
        return true;
    }

    bool done(const Node& node) const {
        for (const ValueId id : node.outputs)
            if (id.valid() && !builder_.value(id).isConstant())
                return false;
        return true;
    }

    // Whether the results are small enough to be kept. Where their size is not known before, small inputs must do.
    bool worthwhile(const Node& node, const Operator& op, std::int64_t inputBytes) const {
        for (const ValueId id : node.outputs) {
            if (!id.valid())
                continue;
            const TensorType& type = builder_.value(id).type;
            const auto bytes = type.isStatic() ? resultBytes(type) : std::nullopt;
            if (!bytes && (inputBytes > options_.slackBytes || type.isStatic()))
                return false;
            if (!bytes || op.fusion == Fusion::alias)
                continue;
            const bool grown = *bytes > options_.slackBytes && *bytes / options_.maxGrowth > inputBytes;
            if (*bytes > options_.maxResultBytes || grown)
                return false;
        }
        return true;
    }

    // Bytes that the first input's elements take more in the type of the result.
    std::int64_t widening(const Node& node, const std::vector<Tensor>& inputs) const {
        if (inputs.empty() || inputs[0].absent() || node.outputs.size() != 1)
            return 0;
        const TensorType& type = builder_.value(node.outputs[0]).type;
        const bool same = type.isStatic() && checkedElementCount(type.shape()) == inputs[0].count();
        return same && bitSize(type.dtype) > bitSize(inputs[0].type())
                   ? static_cast<std::int64_t>(storedBytes(type.dtype, inputs[0].count()) - inputs[0].byteCount())
                   : 0;
    }

    const Graph& graph_;
    const FoldOptions& options_;
    GraphBuilder builder_;
    std::set<ValueId> kept_; // made of quantised weights that stay
    std::int64_t longest_ = 0; // string of the inputs of the node at hand
    bool widens_ = false;      // the second time
    std::int64_t widened_ = 0; // what it would add
    std::int64_t most_, made_ = 0; // bytes of results
    bool told_ = false;            // that the budget is used up
    double steps_ = 0;             // that the kernels took
};

} // namespace

Result<Graph> foldConstants(const Graph& graph, const FoldOptions& options) {
    TS_ASSIGN(const InferredGraph inferred, inferShapesAndValues(graph));
    return Folder(inferred, options).run();
}

} // namespace tunesmith
