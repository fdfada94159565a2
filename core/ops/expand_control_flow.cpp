// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/expand_control_flow.h"

#include <algorithm>

#include "core/graph/body_splicer.h"
#include "core/graph/derived_name.h"
#include "core/ops/copied_size.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

constexpr std::int64_t kMostCopiedNodes = 20'000; // of all turns of one loop

using Body = std::shared_ptr<const Graph>;

Result<Body> bodyOf(const ExpandContext& context, const char* attribute) {
    const auto found = context.node.attributes.find(attribute);
    const auto* body = found == context.node.attributes.end() ? nullptr : std::get_if<Body>(&found->second);
    if (!body || !*body)
        return context.unsupported(std::string("has no ") + attribute);
    return *body;
}

BodySplicer splicerFor(ExpandContext& context, const Graph& body, const std::string& suffix) {
    return {context.to, body, derivedName(context.node.name, suffix + "/"), [&context](const std::string& name) { return context.captured(name); }};
}

Status checkTurns(const ExpandContext& context, std::int64_t turns, const Graph& body) {
    const auto size = static_cast<std::int64_t>(copiedSize(body)) + 1;
    if (turns > kMostCopiedNodes / size)
        return context.unsupported(std::to_string(turns) + " turns of " + std::to_string(size) + " nodes, or of the memory of so many, are too many to be written out");
    return {};
}

// Both branches are computed, so both must be able to give what the node gives.
Status checkChoice(const ExpandContext& context, const Graph& branch) {
    for (std::size_t i = 0; i < context.outputs.size(); ++i) {
        if (!context.wanted(i))
            continue;
        const TensorType &wanted = context.outputType(i), &given = branch.value(branch.outputs()[i]).type;
        if (!wanted.isStatic() || (given.isStatic() && given.shape() != wanted.shape()))
            return context.unsupported("its branches give results of different shapes, and which is taken is known when it runs");
        if (wanted.dtype == DType::string)
            return context.unsupported("it chooses between strings");
    }
    for (const auto& node : branch.nodes())
        if (const Operator* op = findOperator(node->op, node->domain); op && !op->deterministic)
            return context.unsupported("a branch draws random numbers");
    return {};
}

Status expandChoice(ExpandContext& context, const Graph& then, const Graph& otherwise) {
    for (const char* branch : {"then_branch", "else_branch"})
        if (const Status works = context.checkBody(branch); !works.ok())
            return context.unsupported(std::string("its ") + branch + " cannot work with these shapes: " + works.error().message);
    TS_TRY(checkChoice(context, then));
    TS_TRY(checkChoice(context, otherwise));
    TS_ASSIGN(const std::vector<ValueId> yes, splicerFor(context, then, ".then").splice({}));
    TS_ASSIGN(const std::vector<ValueId> no, splicerFor(context, otherwise, ".else").splice({}));
    const ValueId condition = context.reshape(context.node.inputs[0], {});
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        if (context.wanted(i))
            context.outputs[i] = context.add("Where", {condition, yes[i], no[i]});
    return {};
}

// What a loop gathers: the value of each turn under a new axis.
ValueId joined(ExpandContext& context, const std::vector<ValueId>& parts, std::int64_t axis) {
    std::vector<ValueId> slices;
    for (const ValueId part : parts)
        slices.push_back(context.unsqueeze(part, axis));
    return context.concat(slices, axis);
}

Result<std::int64_t> loopTurns(const ExpandContext& context, const Graph& body) {
    const bool starts = !context.has(1) || (context.isConstant(1) && context.constant(1).count() == 1);
    if (starts && context.has(1) && context.constant(1).asInt(0) == 0)
        return 0;
    if (!context.isConstant(0) || context.constant(0).count() != 1)
        return context.unsupported("how often it turns is known when it runs");
    if (!starts)
        return context.unsupported("whether it starts is known when it runs");
    if (!goesOn(body))
        return context.unsupported("whether it goes on is known when it runs");
    return std::max<std::int64_t>(context.constant(0).asInt(0), 0);
}

// A value that no turn gathers has a shape and no elements.
Status checkNothingGathered(const ExpandContext& context, std::size_t states) {
    for (std::size_t i = states; i < context.outputs.size(); ++i)
        if (context.wanted(i) && !context.outputType(i).isStatic())
            return context.unsupported("it never turns, and the shape of what it gathers is not known: " + context.outputType(i).text());
    return {};
}

ValueId nothingGathered(ExpandContext& context, std::size_t output) {
    const TensorType& type = context.outputType(output);
    return context.addConstant(Tensor::zeros(type.dtype, type.shape()));
}

} // namespace

Status expandIf(ExpandContext& context) {
    TS_ASSIGN(const Body then, bodyOf(context, "then_branch"));
    TS_ASSIGN(const Body otherwise, bodyOf(context, "else_branch"));
    if (!context.isConstant(0))
        return expandChoice(context, *then, *otherwise);
    const bool taken = context.constant(0).count() == 1 && context.constant(0).asInt(0) != 0;
    TS_ASSIGN(context.outputs, splicerFor(context, taken ? *then : *otherwise, taken ? ".then" : ".else").splice({}));
    return {};
}

Status expandLoop(ExpandContext& context) {
    TS_ASSIGN(const Body body, bodyOf(context, "body"));
    TS_ASSIGN(const std::int64_t turns, loopTurns(context, *body));
    TS_TRY(checkTurns(context, turns, *body));
    const std::size_t states = body->inputs().size() - 2;
    TS_TRY(turns == 0 ? checkNothingGathered(context, states) : Status());
    std::vector<ValueId> state(context.node.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(context.node.inputs)),
                               context.node.inputs.end());
    std::vector<std::vector<ValueId>> gathered(context.outputs.size() - std::min(states, context.outputs.size()));
    BodySplicer splicer = splicerFor(context, *body, "");
    for (std::int64_t turn = 0; turn < turns; ++turn) {
        std::vector<ValueId> inputs{context.addConstant(Tensor::scalar(turn)), context.addConstant(Tensor::scalar(true))};
        inputs.insert(inputs.end(), state.begin(), state.end());
        TS_ASSIGN(const std::vector<ValueId> results, splicer.splice(inputs));
        std::copy_n(results.begin() + 1, states, state.begin());
        for (std::size_t s = 0; s < gathered.size(); ++s)
            gathered[s].push_back(results[1 + states + s]);
    }
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        if (context.wanted(i))
            context.outputs[i] = i < states   ? state[i]
                                 : turns == 0 ? nothingGathered(context, i)
                                              : joined(context, gathered[i - states], 0);
    return {};
}

Status expandScan(ExpandContext& context) {
    TS_ASSIGN(const Body body, bodyOf(context, "body"));
    const auto scanned = static_cast<std::size_t>(context.node.intAttr("num_scan_inputs", 0));
    if (context.opset < 9 || scanned == 0 || scanned > context.count())
        return context.unsupported("the batched form of opset 8 is not written out");
    const std::size_t states = context.count() - scanned;
    const auto list = [&](const char* key, std::size_t size) {
        auto values = context.node.intsAttr(key);
        values.resize(size, 0);
        return values;
    };
    const auto axes = list("scan_input_axes", scanned), backwards = list("scan_input_directions", scanned);
    const auto outputAxes = list("scan_output_axes", context.outputs.size() - states);
    const auto outputBackwards = list("scan_output_directions", context.outputs.size() - states);
    const TensorType& first = context.type(states);
    if (!first.dims)
        return context.unsupported("its length is known when it runs");
    const Dim& length = (*first.dims)[frontAxis(axes[0], first.dims->size())];
    if (!length.known())
        return context.unsupported("its length is known when it runs");
    TS_TRY(length.extent == 0 ? checkNothingGathered(context, states) : Status());
    TS_TRY(checkTurns(context, length.extent, *body));
    std::vector<ValueId> state(context.node.inputs.begin(), context.node.inputs.begin() + static_cast<std::ptrdiff_t>(states));
    std::vector<std::vector<ValueId>> gathered(outputAxes.size());
    BodySplicer splicer = splicerFor(context, *body, "");
    for (std::int64_t turn = 0; turn < length.extent; ++turn) {
        std::vector<ValueId> inputs = state;
        for (std::size_t i = 0; i < scanned; ++i)
            inputs.push_back(context.pick(context.node.inputs[states + i], backwards[i] ? length.extent - 1 - turn : turn, axes[i]));
        TS_ASSIGN(const std::vector<ValueId> results, splicer.splice(inputs));
        std::copy_n(results.begin(), states, state.begin());
        for (std::size_t s = 0; s < gathered.size(); ++s)
            gathered[s].insert(outputBackwards[s] ? gathered[s].begin() : gathered[s].end(), results[states + s]);
    }
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        if (context.wanted(i))
            context.outputs[i] = i < states             ? state[i]
                                 : length.extent == 0 ? nothingGathered(context, i)
                                                      : joined(context, gathered[i - states], outputAxes[i - states]);
    return {};
}

bool goesOn(const Graph& body) {
    ValueId id = body.outputs()[0];
    for (;;) {
        const Value& value = body.value(id);
        if (value.isConstant())
            return value.constant.count() == 1 && value.constant.asInt(0) != 0;
        if (!value.producer.valid())
            return id == body.inputs()[1];
        const Node& node = body.node(value.producer);
        if ((node.op != "Identity" && node.op != "Cast") || !node.hasInput(0))
            return false;
        id = node.inputs[0];
    }
}

bool hasBody(const Node& node) {
    return std::ranges::any_of(node.attributes, [](const auto& entry) { return std::holds_alternative<Body>(entry.second); });
}

} // namespace tunesmith::ops
