// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/interpreter.h"

#include <algorithm>
#include <chrono>

#include "core/base/mapped_ranges.h"
#include "core/ops/containers.h"
#include "core/ops/evaluate_node.h"

namespace tunesmith {
namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One run of a graph or of a body; a body sees the values of the frames around it by name.
class Frame {
public:
    Frame(const Graph& graph, const RunOptions& options, const Frame* outer, std::int64_t& bodyRuns)
        : graph_(graph), options_(options), outer_(outer), bodyRuns_(bodyRuns), values_(graph.valueCount()) {}

    Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) {
        for (std::size_t i = 0; i < graph_.valueCount(); ++i)
            values_[i] = graph_.values()[i]->constant;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            values_[graph_.inputs()[i].index()] = inputs[i];
        TS_TRY(takeCaptures());
        planFrees();
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i) {
            if (options_.stop.stopRequested())
                return cancelledError();
            TS_TRY(runNode(*graph_.nodes()[i]));
            for (const ValueId id : dead_[i])
                values_[id.index()] = Tensor();
        }
        std::vector<Tensor> outputs;
        for (const ValueId id : graph_.outputs())
            outputs.push_back(values_[id.index()]);
        return outputs;
    }

private:
    Status takeCaptures() {
        for (const ValueId id : graph_.captures()) {
            const std::string& name = graph_.value(id).name;
            for (const Frame* frame = outer_; frame && values_[id.index()].absent(); frame = frame->outer_)
                if (const ValueId source = frame->graph_.findValue(name); source.valid())
                    values_[id.index()] = frame->values_[source.index()];
            if (values_[id.index()].absent())
                return inputError("graph '" + graph_.name() + "' reads value '" + name + "', which is not known around it");
        }
        return {};
    }

    // After which node each value is read for the last time.
    void planFrees() {
        dead_.resize(graph_.nodeCount());
        std::vector<bool> kept(graph_.valueCount(), false);
        for (const ValueId id : graph_.outputs())
            kept[id.index()] = true;
        for (std::size_t i = 0; i < graph_.valueCount(); ++i) {
            const ValueId id(static_cast<std::int64_t>(i));
            NodeId last = graph_.value(id).producer;
            for (const NodeId consumer : graph_.consumers(id))
                last = std::max(last, consumer);
            if (!kept[i] && last.valid())
                dead_[last.index()].push_back(id);
        }
    }

    Status runNode(const Node& node) {
        std::vector<Tensor> inputs(node.inputs.size());
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (node.hasInput(i))
                inputs[i] = values_[node.inputs[i].index()];
        EvaluateOptions options;
        options.memoryLimit = options_.memoryLimit;
        options.runBody = [&](const Graph& body, std::vector<Tensor> arguments) -> Result<std::vector<Tensor>> {
            if (++bodyRuns_ > options_.mostBodyRuns)
                return inputError("node '" + node.name + "' (" + node.op + ") does not end: bodies of the model ran " +
                                  std::to_string(options_.mostBodyRuns) + " times");
            return runBody(body, std::move(arguments));
        };
        const auto start = std::chrono::steady_clock::now();
        TS_ASSIGN(std::vector<Tensor> outputs, evaluateNode(node, effectiveOpset(graph_, node.domain), inputs, options));
        for (const Tensor& input : inputs)
            dropMappedPages(input.bytes());
        if (!outer_ && options_.observer)
            options_.observer(node, outputs, secondsSince(start));
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                values_[node.outputs[i].index()] = std::move(outputs[i]);
        return {};
    }

    Result<std::vector<Tensor>> runBody(const Graph& body, std::vector<Tensor> inputs) const {
        if (inputs.size() != body.inputs().size())
            return inputError("the body '" + body.name() + "' has " + std::to_string(body.inputs().size()) +
                              " inputs and is given " + std::to_string(inputs.size()));
        return Frame(body, options_, this, bodyRuns_).run(inputs);
    }

    const Graph& graph_;
    const RunOptions& options_;
    const Frame* outer_;
    std::int64_t& bodyRuns_; // of all frames of the run
    std::vector<Tensor> values_;
    std::vector<std::vector<ValueId>> dead_;
};

std::vector<Tensor> withDefaults(const Graph& graph, std::vector<Tensor> inputs) {
    for (std::size_t i = 0; i < std::min(inputs.size(), graph.inputs().size()); ++i)
        if (inputs[i].absent())
            inputs[i] = graph.value(graph.inputs()[i]).fallback;
    return inputs;
}

bool fits(const TensorType& type, const Tensor& tensor, std::map<std::string, std::int64_t>& symbols) {
    if (type.opaque)
        return isOfType(tensor, type);
    if (type.dtype != DType::undefined && type.dtype != tensor.type())
        return false;
    if (!type.dims)
        return true;
    if (type.dims->size() != tensor.rank())
        return false;
    for (std::size_t i = 0; i < tensor.rank(); ++i) {
        const Dim& dim = (*type.dims)[i];
        const std::int64_t extent = tensor.shape()[i];
        if (dim.known() && dim.extent != extent)
            return false;
        if (!dim.known() && !dim.symbol.empty() && symbols.emplace(dim.symbol, extent).first->second != extent)
            return false;
    }
    return true;
}

std::string symbolsText(const TensorType& type, const std::map<std::string, std::int64_t>& symbols) {
    std::string text;
    for (std::size_t i = 0; type.dims && i < type.dims->size(); ++i)
        if (const auto found = symbols.find((*type.dims)[i].symbol); found != symbols.end())
            text += (text.empty() ? " with " : ", ") + found->first + "=" + std::to_string(found->second);
    return text;
}

} // namespace

Status checkInputs(const Graph& graph, const std::vector<Tensor>& inputs) {
    if (inputs.size() != graph.inputs().size())
        return inputError("the model has " + std::to_string(graph.inputs().size()) + " inputs and is given " +
                          std::to_string(inputs.size()));
    std::map<std::string, std::int64_t> symbols;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Value& input = graph.value(graph.inputs()[i]);
        if (inputs[i].absent())
            return inputError("input '" + input.name + "' (" + input.type.text() + ") is not given");
        const auto before = symbols;
        if (!fits(input.type, inputs[i], symbols))
            return inputError("input '" + input.name + "': expected " + input.type.text() + symbolsText(input.type, before) +
                              ", got " + typeOf(inputs[i]).text());
    }
    return {};
}

Result<std::vector<Tensor>> orderInputs(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
    std::vector<Tensor> ordered;
    std::string names;
    for (const ValueId id : graph.inputs()) {
        const Value& input = graph.value(id);
        names += (names.empty() ? "" : ", ") + input.name;
        const auto found = inputs.find(input.name);
        if (found == inputs.end() && !input.hasDefault())
            return inputError("input '" + input.name + "' (" + input.type.text() + ") is not given");
        ordered.push_back(found == inputs.end() ? input.fallback : found->second);
    }
    for (const auto& [name, tensor] : inputs) {
        const ValueId id = graph.findValue(name);
        if (!id.valid() || std::find(graph.inputs().begin(), graph.inputs().end(), id) == graph.inputs().end())
            return inputError("the model has no input '" + name + "'; it has " + (names.empty() ? "none" : names));
    }
    return ordered;
}

Result<std::vector<Tensor>> Interpreter::run(const std::vector<Tensor>& inputs, const RunOptions& options) const {
    const std::vector<Tensor> all = withDefaults(graph_, inputs);
    TS_TRY(checkInputs(graph_, all));
    std::int64_t bodyRuns = 0;
    return Frame(graph_, options, nullptr, bodyRuns).run(all);
}

Result<std::vector<Tensor>> Interpreter::run(const std::map<std::string, Tensor>& inputs, const RunOptions& options) const {
    TS_ASSIGN(const std::vector<Tensor> ordered, orderInputs(graph_, inputs));
    return run(ordered, options);
}

} // namespace tunesmith
