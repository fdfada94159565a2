// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <map>

#include "core/loops/free_selects.h"
#include "core/ops/lower_node.h"
#include "core/schedule/workload.h"
#include "core/te/comprehension.h"
#include "core/te/graph.h"

namespace tunesmith {
namespace {

using loops::Program;
using loops::Stage;
using loops::TensorRef;
using Renaming = std::map<TensorRef, TensorRef>;

void rename(Stage& stage, const Renaming& names) {
    stage.body = loops::renameTensors(stage.body, names);
    if (stage.guard.valid())
        stage.guard = loops::renameTensors(stage.guard, names);
}

std::int64_t nodesOf(const loops::Expr& e) {
    std::int64_t count = 1;
    for (const loops::Expr& arg : e->args)
        count += nodesOf(arg);
    return count;
}

std::int64_t loadsOf(const loops::Expr& e, const TensorRef& tensor) {
    std::int64_t count = e->op == loops::Op::load && e->tensor == tensor ? 1 : 0;
    for (const loops::Expr& arg : e->args)
        count += loadsOf(arg, tensor);
    return count;
}

// A chain of stages that each read the one before several times would grow without measure.
bool staysSmall(const Program& program, const Stage& merged) {
    constexpr std::int64_t kLargest = 4096; // nodes of an expression
    return std::ranges::all_of(program.stages, [&](const Stage& reader) {
        std::int64_t loads = loadsOf(reader.body, merged.output), nodes = nodesOf(reader.body);
        if (reader.guard.valid()) {
            loads += loadsOf(reader.guard, merged.output);
            nodes += nodesOf(reader.guard);
        }
        return loads == 0 || nodes + loads * nodesOf(merged.body) <= kLargest;
    });
}

// Elementwise stages that one other stage reads are computed where they are read.
void mergeStages(Program& program) {
    for (std::size_t i = 0; i < program.stages.size();) {
        const Stage& stage = program.stages[i];
        const bool isOutput = std::find(program.outputs.begin(), program.outputs.end(), stage.output) != program.outputs.end();
        const auto readers = std::count_if(program.stages.begin(), program.stages.end(),
                                           [&](const Stage& other) { return reads(other, stage.output); });
        if (isOutput || readers > 1 || stage.reduction != loops::Reduction::none || !staysSmall(program, stage)) {
            ++i;
            continue;
        }
        const Stage merged = stage;
        program.stages.erase(program.stages.begin() + static_cast<std::ptrdiff_t>(i));
        if (readers == 1)
            for (Stage& other : program.stages)
                loops::inlineInto(other, merged);
        i = 0;
    }
}

// A statement with a schedule begins a kernel.
Result<std::shared_ptr<const te::BoundSchedule>> writtenSchedule(const Graph& graph) {
    std::shared_ptr<const te::BoundSchedule> none;
    const Node& head = *graph.nodes().front();
    if (head.domain != te::kDomain || head.op != te::kComprehension)
        return none;
    TS_ASSIGN(const te::Comprehension comprehension, te::Comprehension::fromText(head.stringAttr(te::kTextAttribute)));
    std::vector<TensorType> types;
    for (const ValueId input : head.inputs)
        types.push_back(graph.value(input).type);
    TS_ASSIGN(auto written, comprehension.schedule(types));
    return written ? std::make_shared<const te::BoundSchedule>(std::move(*written)) : none;
}

} // namespace

Result<LoweredWorkload> lowerWorkload(const Workload& workload) {
    const Graph& graph = workload.graph;
    LoweredWorkload lowered;
    Program& program = lowered.program;
    program.name = "kernel";
    std::map<ValueId, TensorRef> tensors;
    std::vector<std::pair<ValueId, TensorRef>> arguments;
    for (std::size_t n = 0; n < graph.nodeCount(); ++n) {
        const NodeId id(static_cast<std::int64_t>(n));
        const Node& node = graph.node(id);
        TS_ASSIGN(Program part, lowerNode(graph, id));
        Renaming names;
        std::size_t position = 0;
        for (const ValueId input : node.inputs) {
            if (!input.valid())
                continue;
            const TensorRef& mine = part.inputs[position++];
            if (const auto known = tensors.find(input); known != tensors.end()) {
                names[mine] = known->second;
            } else {
                tensors[input] = mine;
                arguments.emplace_back(input, mine);
            }
        }
        for (Stage& stage : part.stages) {
            rename(stage, names);
            program.stages.push_back(std::move(stage));
        }
        position = 0;
        for (const ValueId output : node.outputs)
            if (output.valid())
                tensors[output] = part.outputs[position++];
    }
    for (const ValueId output : graph.outputs())
        program.outputs.push_back(tensors.at(output));
    lowered.outputLayouts = workload.outputLayouts;
    TS_ASSIGN(lowered.written, writtenSchedule(graph));
    mergeStages(program);
    for (Stage& stage : program.stages)
        loops::markFreeSelects(stage);
    for (const auto& [value, tensor] : arguments) {
        const bool used = std::any_of(program.stages.begin(), program.stages.end(), [&](const Stage& s) { return reads(s, tensor); });
        if (!used)
            continue;
        const auto input = std::find(graph.inputs().begin(), graph.inputs().end(), value) - graph.inputs().begin();
        const bool embedded = graph.value(value).isConstant();
        program.inputs.push_back(tensor);
        lowered.arguments.push_back(value);
        lowered.argumentLayouts.push_back(embedded ? loops::Layout::rowMajor(tensor->shape.size())
                                                   : workload.inputLayouts[static_cast<std::size_t>(input)]);
        lowered.constantArguments.push_back(embedded || workload.constantInputs[static_cast<std::size_t>(input)]);
    }
    lowered.argumentTransforms.resize(lowered.arguments.size(), WeightTransform::none);
    return lowered;
}

} // namespace tunesmith
