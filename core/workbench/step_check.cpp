// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/step_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/check/sensitivity.h"
#include "core/graph/cut_out.h"
#include "core/module/worker_verbs.h"
#include "core/ops/interpreter.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

using Place = PlanBuffer::Place;
constexpr std::uint64_t kStepNudges = 5; // an integer that one of them does not turn, two others may

class StepChecker {
public:
    StepChecker(const PlannedModel& planned, const std::filesystem::path& folder, WorkerClient& worker, const Work& work)
        : graph_(planned.prepared), plan_(planned.plan), folder_(folder), worker_(worker), work_(work) {
        for (std::size_t step = 0; step < plan_.steps.size(); ++step)
            for (const std::string& name : valuesOf(plan_.steps[step]))
                lastStep_[name] = step;
    }

    // Steps are judged as soon as the reference has what they read and write; what no later one needs is dropped.
    Result<StepFindings> run(const std::vector<Tensor>& inputs) {
        for (std::size_t i = 0; i < inputs.size(); ++i)
            keep(graph_.inputs()[i], inputs[i]);
        for (const auto& [name, last] : lastStep_)
            if (const ValueId id = graph_.findValue(name); id.valid() && graph_.value(id).isConstant())
                keep(id, graph_.value(id).constant);
        TS_TRY(advance());
        Status judged;
        RunOptions options;
        options.stop = work_.stop;
        options.observer = [&](const Node& node, const std::vector<Tensor>& outputs, double) {
            for (std::size_t i = 0; i < outputs.size() && judged.ok(); ++i)
                keep(node.outputs[i], outputs[i]);
            if (judged.ok())
                judged = advance();
        };
        const auto ran = Interpreter(graph_).run(inputs, options);
        TS_TRY(judged);
        if (!ran.ok())
            return ran.error();
        return std::move(findings_);
    }

private:
    std::vector<std::string> valuesOf(const PlanStep& step) const {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < step.inputs + step.outputs; ++i)
            if (const PlanBuffer& buffer = plan_.buffers[step.arguments[i]]; buffer.place != Place::constant)
                names.push_back(buffer.name);
        return names;
    }

    void keep(ValueId id, const Tensor& tensor) {
        if (id.valid() && lastStep_.contains(graph_.value(id).name))
            known_[graph_.value(id).name] = tensor;
    }

    Status advance() {
        for (; next_ < plan_.steps.size(); ++next_) {
            const std::vector<std::string> names = valuesOf(plan_.steps[next_]);
            if (!std::ranges::all_of(names, [&](const std::string& name) { return known_.contains(name); }))
                return {};
            if (work_.stop.stopRequested())
                return cancelledError();
            work_.report("checking each kernel", static_cast<double>(next_) / static_cast<double>(plan_.steps.size()), plan_.steps[next_].name);
            if (!plan_.steps[next_].node) // the module holds the reference itself
                TS_TRY(judge(plan_.steps[next_]));
            for (const std::string& name : names)
                if (lastStep_.at(name) == next_)
                    known_.erase(name);
        }
        return {};
    }

    // The step's inputs and outputs as buffers, and what the reference has in its outputs.
    struct Case {
        StepProbe probe;
        std::vector<Tensor> expected;
        std::vector<loops::Layout> layouts; // of the outputs
        std::vector<std::string> reads, writes;
    };

    Case caseOf(const PlanStep& step) const {
        Case made;
        made.probe.step = static_cast<std::int64_t>(next_);
        for (std::size_t i = 0; i < step.inputs + step.outputs; ++i) {
            const PlanBuffer& buffer = plan_.buffers[step.arguments[i]];
            if (buffer.place == Place::constant)
                continue;
            const Tensor& value = known_.at(buffer.name);
            LoadedModule::Probe probe{static_cast<std::int64_t>(step.arguments[i]), loops::pack(value, buffer.order)};
            if (i < step.inputs) {
                made.probe.inputs.push_back(std::move(probe));
                made.reads.push_back(buffer.name);
                continue;
            }
            made.probe.outputs.push_back(std::move(probe));
            made.expected.push_back(value);
            made.layouts.push_back(buffer.order);
            made.writes.push_back(buffer.name);
        }
        return made;
    }

    Status judge(const PlanStep& step) {
        const Case asked = caseOf(step);
        TS_ASSIGN(std::vector<Tensor> outputs, probeStep(worker_, {folder_, 0, {}}, asked.probe, kPatience, work_.stop));
        for (std::size_t i = 0; i < outputs.size(); ++i)
            outputs[i] = loops::unpack(outputs[i], asked.expected[i].shape(), asked.layouts[i]);
        Agreement agreement;
        agreement.addDraw(asked.expected, outputs);
        if (!agreement.plain())
            TS_TRY(nudge(asked, agreement));
        ++findings_.judged;
        findings_.largest = std::max(findings_.largest, agreement.difference());
        if (agreement.holds())
            return {};
        findings_.unexplained = std::max(findings_.unexplained, agreement.difference());
        if (findings_.wrong.empty())
            findings_.wrong = "kernel " + plan_.kernels[step.kernel].name + " of '" + step.name + "' differs from the reference on the same inputs: " + agreement.text();
        return {};
    }

    // What nudges of the step's own inputs do to the reference of its nodes.
    Status nudge(const Case& asked, Agreement& agreement) const {
        const std::vector<NodeId> nodes = nodesBetween(asked);
        if (nodes.empty())
            return {}; // another layout of the same values
        TS_ASSIGN(const GraphPart part, cutOut(graph_, nodes));
        std::vector<Tensor> inputs;
        for (const ValueId id : part.inputs) {
            const auto known = known_.find(graph_.value(id).name);
            if (known == known_.end())
                return {};
            inputs.push_back(known->second);
        }
        for (std::uint64_t seed = 1; seed <= kStepNudges; ++seed) {
            TS_ASSIGN(const auto results, Interpreter(part.graph).run(nudgedInputs(inputs, seed), {work_.stop, {}, 0}));
            std::vector<Tensor> moved;
            for (const std::string& name : asked.writes)
                for (std::size_t i = 0; i < part.outputs.size(); ++i)
                    if (graph_.value(part.outputs[i]).name == name)
                        moved.push_back(results[i]);
            if (moved.size() == asked.expected.size())
                agreement.addNudge(asked.expected, moved);
        }
        return {};
    }

    // The nodes that make what the step writes of what it reads, in the order of the graph.
    std::vector<NodeId> nodesBetween(const Case& asked) const {
        const std::set<std::string> reads(asked.reads.begin(), asked.reads.end());
        std::set<NodeId> found;
        std::vector<ValueId> open;
        for (const std::string& name : asked.writes)
            open.push_back(graph_.findValue(name));
        while (!open.empty()) {
            const ValueId id = open.back();
            open.pop_back();
            if (!id.valid() || reads.contains(graph_.value(id).name))
                continue;
            const NodeId producer = graph_.value(id).producer;
            if (producer.valid() && found.insert(producer).second)
                open.insert(open.end(), graph_.node(producer).inputs.begin(), graph_.node(producer).inputs.end());
        }
        return {found.begin(), found.end()};
    }

    const Graph& graph_;
    const ModulePlan& plan_;
    const std::filesystem::path& folder_;
    WorkerClient& worker_;
    const Work& work_;
    std::map<std::string, std::size_t> lastStep_; // by value
    std::map<std::string, Tensor> known_;
    std::size_t next_ = 0;
    StepFindings findings_;
};

ModuleTrace traceOf(const ModulePlan& plan) {
    ModuleTrace trace;
    for (const PlanStep& step : plan.steps) {
        LoadedModule::TracedStep& traced = trace.emplace_back();
        for (std::size_t i = 0; i < step.inputs + step.outputs; ++i)
            if (const PlanBuffer& buffer = plan.buffers[step.arguments[i]]; buffer.place != Place::constant)
                (i < step.inputs ? traced.inputs : traced.outputs).push_back({static_cast<std::int64_t>(step.arguments[i]), buffer.bytes, buffer.name + " " + buffer.layout});
    }
    return trace;
}

} // namespace

Result<std::string> checkWiring(const PlannedModel& planned, const std::filesystem::path& folder, const std::vector<Tensor>& inputs,
                                WorkerClient& worker, const StopToken& stop) {
    TS_ASSIGN(const LoadedModule::Clobbered found, traceModule(worker, {folder, 0, inputs}, traceOf(planned.plan), kPatience, stop));
    if (found.step < 0)
        return std::string();
    const PlanStep& step = planned.plan.steps[static_cast<std::size_t>(found.step)];
    return "'" + step.name + "' does not find '" + found.value + "' in memory as it was left there";
}

Result<StepFindings> checkSteps(const PlannedModel& planned, const std::filesystem::path& folder, const std::vector<Tensor>& inputs,
                                WorkerClient& worker, const Work& work) {
    return StepChecker(planned, folder, worker, work).run(inputs);
}

} // namespace tunesmith
