// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/check/random_inputs.h"
#include "core/ops/coverage.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/te/comprehension.h"
#include "core/te/definition.h"
#include "core/te/graph.h"
#include "core/te/printer.h"
#include "tests/core/te/schedule_case.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"

namespace tunesmith::fuzz {
namespace {

std::int64_t stepsOf(const loops::Program& program) {
    double steps = 0;
    for (const loops::Stage& stage : program.stages) {
        double own = 1;
        for (const auto* axes : {&stage.axes, &stage.reduceAxes})
            for (const loops::Axis& axis : *axes)
                own *= static_cast<double>(axis.extent);
        steps += own;
    }
    for (const loops::TensorRef& input : program.inputs)
        steps += static_cast<double>(elementCount(input->shape));
    return steps < 1e15 ? static_cast<std::int64_t>(steps) : std::int64_t(1) << 50;
}

// What a statement's node carries is read again as the same.
void checkNodes(const te::Definition& definition) {
    for (std::size_t i = 0; i < definition.statements.size(); ++i) {
        std::vector<std::string> reads;
        const auto made = te::Comprehension::of(definition, i, reads);
        const auto again = te::Comprehension::fromText(made.text());
        require(again.ok(), again.ok() ? "" : "a node's text is read: " + again.error().message);
        require(again->text() == made.text() && again->isElementwise() == made.isElementwise(), "a node's text comes back");
    }
}

// Sums, products and extrema of moderate numbers: what may be added up in any order.
bool isMild(const te::Term& term) {
    const bool operation = term.kind != te::Term::Kind::operation || std::string("+-*").find(term.name) != std::string::npos;
    const bool call = term.kind != te::Term::Kind::call || term.name == "min" || term.name == "max";
    if (!operation || !call || term.kind == te::Term::Kind::choice || std::abs(term.real) > 100 || term.integer > 100)
        return false;
    return term.kind == te::Term::Kind::read || std::ranges::all_of(term.args, isMild);
}

// The loops of some choices of a statement's schedule, run as they stand.
void checkSchedule(const te::Definition& definition, std::size_t index, const loops::Program& whole, const std::vector<Tensor>& inputs, const std::vector<Tensor>& made) {
    constexpr std::size_t kChoices = 4, kMostSplits = 8; // tails of splits of splits double what is run in vain
    const te::Statement& statement = definition.statements[index];
    testing::ScheduledStatement scheduled(definition, index, whole);
    require(scheduled.problem.empty(), "a schedule that was checked is the same in its node: " + scheduled.problem);
    if (statement.schedule->steps.size() > kMostSplits)
        return;
    std::vector<Tensor> known = inputs;
    known.insert(known.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(index));
    const std::size_t last = index + scheduled.program.stages.size() - 1;
    const bool comparable = std::ranges::all_of(definition.statements.begin() + static_cast<std::ptrdiff_t>(index), definition.statements.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                                [](const te::Statement& one) { return isMild(one.value); });
    for (std::size_t i = 0; i < kChoices; ++i) {
        const std::string wrong = scheduled.check(i * 7 % scheduled.choices(), known, {made[last]}, comparable);
        require(wrong.empty(), "a schedule computes what its statement says: " + wrong);
    }
}

void checkSchedules(const te::Definition& definition, const loops::Program& program, const std::vector<Tensor>& inputs) {
    loops::Program all = program;
    all.outputs.clear();
    for (const loops::Stage& stage : all.stages)
        all.outputs.push_back(stage.output);
    const auto made = loops::evaluate(all, inputs);
    require(made.ok(), "what was proven runs");
    for (std::size_t i = 0; i < definition.statements.size(); ++i)
        if (definition.statements[i].schedule)
            checkSchedule(definition, i, program, inputs, *made);
}

} // namespace

void tensorExpressions(std::span<const std::byte> bytes) {
    const auto definition = te::readDefinition({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "f.te");
    if (!definition.ok()) {
        require(isSentence(definition.error().message), "an error is one sentence: " + definition.error().message);
        return;
    }
    const std::string printed = te::toText(*definition);
    const auto again = te::readDefinition(printed, "f.te");
    require(again.ok() && te::toText(*again) == printed, "a printed text is read as the same");
    checkNodes(*definition);
    const auto graph = te::makeGraph(*definition);
    require(graph.ok(), graph.ok() ? "" : "a text becomes a graph: " + graph.error().message);
    const te::Sizes sizes = te::defaultSizes(*definition);
    const auto program = te::lowerDefinition(*definition, sizes);
    const auto typed = inferShapes(*graph, sizes);
    require(!program.ok() || typed.ok(), typed.ok() ? "" : "nodes can be computed as their text: " + typed.error().message);
    if (!program.ok())
        return require(isSentence(program.error().message), "an error is one sentence: " + program.error().message);
    static_cast<void>(coverage(*typed));
    if (stepsOf(*program) > 1 << 16)
        return;
    const auto inputs = randomInputs(*typed, 1);
    require(inputs.ok(), "inputs can be drawn");
    const auto results = Interpreter(*typed).run(*inputs); // reports a read outside of a tensor, of which there must be none
    require(results.ok(), results.ok() ? "" : "what was proven runs: " + results.error().message);
    if (stepsOf(*program) <= 1 << 12)
        checkSchedules(*definition, *program, *inputs);
}

} // namespace tunesmith::fuzz
