// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/mixed_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "core/graph/captures.h"
#include "core/graph/cut_out.h"
#include "core/graph/graph_builder.h"
#include "core/module/index_limits.h"
#include "core/module/worker_verbs.h"
#include "core/ops/containers.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/fold_constants.h"
#include "core/ops/interpreter.h"
#include "core/ops/lower_node.h"
#include "core/workbench/module_run.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

using NodeIds = std::vector<NodeId>;
constexpr std::int64_t kSmallOperand = 1024; // elements; what may be burnt into a kernel

NodeId idOf(std::size_t index) {
    return NodeId(static_cast<std::int64_t>(index));
}

// A choice turns into the nodes of the branch that is taken once its condition is known.
bool steers(const Node& node, std::size_t input) {
    return node.domain.empty() && node.op == "If" && input == 0;
}

// A lowering that is not possible yet may be once the values of these inputs are known: shapes, axes, paddings, never the
// data itself.
bool mayBeBurntIn(const Node& node, std::size_t input) {
    return input > 0 || node.inputs.size() == 1;
}

class MixedRunner {
public:
    MixedRunner(const Model& model, const PlanRequest& request, WorkerClient& worker)
        : model_(model), request_(request), worker_(worker), left_(model.graph()) {}

    Result<MixedRun> run(const std::vector<Tensor>& inputs) {
        for (std::size_t i = 0; i < inputs.size(); ++i)
            known_[nameOf(left_.inputs()[i])] = inputs[i];
        while (left_.nodeCount() > 0) {
            TS_TRY(specialise());
            if (left_.nodeCount() > 0)
                TS_TRY(step());
        }
        for (const ValueId id : model_.graph().outputs()) {
            const Value& value = model_.graph().value(id);
            result_.outputs.push_back(value.isConstant() ? value.constant : known_.at(value.name));
        }
        return std::move(result_);
    }

private:
    const std::string& nameOf(ValueId id) const { return left_.value(id).name; }

    // What is left, for the values that are known.
    Status specialise() {
        TS_ASSIGN(left_, inferFor(left_, knownInputs()));
        GraphBuilder builder(left_);
        bool burnt = false;
        for (const ValueId id : operandsToBurnIn()) {
            builder.setConstant(id, known_.at(nameOf(id)));
            burnt = true;
        }
        if (burnt) {
            TS_ASSIGN(left_, builder.build());
            TS_ASSIGN(left_, inferFor(left_, knownInputs()));
        }
        FoldOptions options;
        options.stop = request_.work.stop;
        TS_ASSIGN(const Graph folded, foldConstants(left_, options));
        TS_ASSIGN(left_, expandNodes(folded, {.stop = request_.work.stop}));
        for (const ValueId id : left_.outputs())
            if (left_.value(id).isConstant())
                known_[nameOf(id)] = left_.value(id).constant;
        return {};
    }

    std::vector<Tensor> knownInputs() const {
        std::vector<Tensor> inputs;
        for (const ValueId id : left_.inputs())
            inputs.push_back(known_.at(nameOf(id)));
        return inputs;
    }

    std::set<ValueId> operandsToBurnIn() const {
        std::set<ValueId> found;
        for (std::size_t n = 0; n < left_.nodeCount(); ++n) {
            const Node& node = *left_.nodes()[n];
            const Operator* op = findOperator(node.op, node.domain);
            const bool waits = op && op->lower && !checkLowerable(left_, idOf(n)).ok();
            for (std::size_t i = 0; i < node.inputs.size(); ++i)
                if (node.hasInput(i) && (steers(node, i) || (waits && mayBeBurntIn(node, i))) && isSmallInput(node.inputs[i]))
                    found.insert(node.inputs[i]);
        }
        return found;
    }

    bool isSmallInput(ValueId id) const {
        const auto& inputs = left_.inputs();
        if (std::find(inputs.begin(), inputs.end(), id) == inputs.end())
            return false;
        const Tensor& value = known_.at(nameOf(id));
        return value.type() != DType::undefined && value.count() <= kSmallOperand; // a sequence is no constant
    }

    // The next part: all kernels that wait for nothing, else nodes that will never be kernels with those that follow on them, else the nodes for the reference
    // that wait for nothing.
    Status step() {
        if (request_.work.stop.stopRequested())
            return cancelledError();
        const NodeIds compiled = ready([this](NodeId id) { return compiles(id); }, true);
        NodeIds part = !compiled.empty() ? compiled : ready([this](NodeId id) { return neverCompiles(id); }, true);
        if (part.empty())
            part = ready([](NodeId) { return true; }, false);
        TS_ASSIGN(const GraphPart cut, cutOut(left_, part));
        std::vector<Tensor> inputs;
        for (const ValueId id : cut.graph.inputs())
            inputs.push_back(known_.at(cut.graph.value(id).name));
        TS_ASSIGN(std::vector<Tensor> outputs,
                  !compiled.empty() ? runCompiled(cut.graph, inputs) : runReference(cut.graph, inputs));
        for (std::size_t i = 0; i < outputs.size(); ++i)
            known_[cut.graph.value(cut.graph.outputs()[i]).name] = std::move(outputs[i]);
        return drop(part);
    }

    bool neverCompiles(NodeId id) const {
        const Node& node = left_.node(id);
        const Operator* op = findOperator(node.op, node.domain);
        return op && op->eval && !op->lower && !op->expand;
    }

    // Nodes of a kind whose operands are known or, with `chains`, made by nodes that were taken before.
    template <class Kind> NodeIds ready(const Kind& kind, bool chains) const {
        std::set<ValueId> made;
        const auto waits = [&](ValueId id) {
            return id.valid() && left_.value(id).producer.valid() && !(chains && made.contains(id));
        };
        NodeIds taken;
        for (std::size_t n = 0; n < left_.nodeCount(); ++n) {
            const Node& node = *left_.nodes()[n];
            if (std::ranges::any_of(node.inputs, waits) ||
                std::ranges::any_of(capturedNames(node), [&](const std::string& name) { return waits(left_.findValue(name)); }) ||
                !kind(idOf(n)))
                continue;
            taken.push_back(idOf(n));
            made.insert(node.outputs.begin(), node.outputs.end());
        }
        return taken;
    }

    bool compiles(NodeId id) const { return !refused_.contains(left_.node(id).name) && whyNotCompiled(id).ok(); }

    Status whyNotCompiled(NodeId id) const {
        TS_TRY(checkLowerable(left_, id));
        const auto program = lowerNode(left_, id);
        return program.ok() ? Status() : Status(program.error());
    }

    Result<std::vector<Tensor>> runCompiled(const Graph& part, const std::vector<Tensor>& inputs) {
        auto planned = planGraph(part, model_.name(), request_);
        if (!planned.ok() && planned.error().kind == ErrorKind::unsupported) {
            for (const auto& node : part.nodes())
                refused_[node->name] = planned.error().message;
            return runReference(part, inputs);
        }
        TS_TRY(planned);
        TS_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
        const auto module = exportPlanned(*planned, folder.path() / "module");
        if (!module.ok())
            return withRemedy(module.error(), folder);
        request_.work.report("running the compiled kernels");
        const auto begin = std::chrono::steady_clock::now();
        auto outputs = runModule(worker_, {module->folder, request_.threads, inputs}, kPatience, request_.work.stop);
        addTime(begin);
        return outputs;
    }

    Result<std::vector<Tensor>> runReference(const Graph& part, const std::vector<Tensor>& inputs) {
        for (const auto& node : part.nodes()) {
            const auto refused = refused_.find(node->name);
            const Status why = whyNotCompiled(left_.findNode(node->name));
            result_.byReference.push_back({node->name, node->op, refused != refused_.end() ? refused->second
                                                                 : why.ok()                ? std::string()
                                                                                           : why.error().message});
        }
        request_.work.report("running the reference kernels");
        RunOptions options;
        options.stop = request_.work.stop;
        const auto begin = std::chrono::steady_clock::now();
        auto outputs = Interpreter(part).run(inputs, options);
        addTime(begin);
        if (!outputs.ok() && !outputs.error().isCancelled())
            return outputs.error().within(model_.name());
        return outputs;
    }

    void addTime(std::chrono::steady_clock::time_point begin) {
        result_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

    Status drop(const NodeIds& done) {
        NodeIds rest;
        for (std::size_t n = 0; n < left_.nodeCount(); ++n)
            if (std::ranges::find(done, idOf(n)) == done.end())
                rest.push_back(idOf(n));
        TS_ASSIGN(GraphPart cut, cutOut(left_, rest));
        left_ = std::move(cut.graph);
        return {};
    }

    const Model& model_;
    const PlanRequest& request_;
    WorkerClient& worker_;
    Graph left_; // what is still to be computed
    std::map<std::string, Tensor> known_;
    std::map<std::string, std::string> refused_; // nodes that lower but cannot be made to code, and why
    MixedRun result_;
};

} // namespace

Result<MixedRun> runMixed(const Model& model, const std::vector<Tensor>& inputs, const PlanRequest& request,
                          WorkerClient& worker) {
    TS_TRY(requireComputable(model));
    TS_TRY(checkInputs(model.graph(), inputs));
    TS_ASSIGN(const Graph typed, inferFor(model.graph(), inputs));
    TS_TRY(checkIndices(typed, inputs));
    return MixedRunner(model, request, worker).run(inputs);
}

} // namespace tunesmith
