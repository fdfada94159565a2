// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <stdexcept>

#include "core/base/rng.h"
#include "core/check/equivalence.h"
#include "core/graph/graph_builder.h"
#include "core/ops/fold_constants.h"
#include "core/ops/interpreter.h"
#include "core/rewrite/model_draft.h"
#include "core/rewrite/written/written.h"

// Models to which one substitution is applied, compared with what they were by the reference engine.
namespace tunesmith::rewrite {

inline Tensor someNumbers(const Shape& shape, std::uint64_t seed, double low = -2, double high = 2) {
    Rng rng(seed);
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& x : tensor.mutableData<float>())
        x = rng.uniform(static_cast<float>(low), static_cast<float>(high));
    return tensor;
}

// A builder with short words for inputs and weights.
class Model {
public:
    explicit Model(std::int64_t opset = 17) { graph.setOpset("", opset); }
    ValueId input(const Shape& shape) { return graph.addInput("x" + std::to_string(++made_), TensorType(DType::f32, shape)); }
    ValueId weight(const Shape& shape, double low = -2, double high = 2) { return graph.addConstant("", someNumbers(shape, ++made_, low, high)); }
    ValueId number(float value) { return graph.addConstant("", Tensor::scalar(value)); }
    ValueId ints(const std::vector<std::int64_t>& values) { return graph.addConstant("", Tensor::ofInts(values)); }
    ValueId add(const std::string& op, const std::vector<ValueId>& inputs, std::map<std::string, Attribute> attributes = {}, int outputs = 1) {
        return graph.add(op, inputs, std::move(attributes), outputs);
    }
    Graph build(std::vector<ValueId> outputs) {
        graph.setOutputs(std::move(outputs));
        return graph.build().value();
    }
    GraphBuilder graph;

private:
    std::uint64_t made_ = 0;
};

inline SubstitutionPtr ruleNamed(const std::string& name) {
    for (const SubstitutionPtr& rule : writtenSubstitutions())
        if (rule->card().name == name)
            return rule;
    throw std::invalid_argument("no substitution is called " + name);
}

inline std::vector<Match> matchesOf(const Draft& draft, const Substitution& rule) {
    std::vector<Match> found;
    for (const NodeNo node : draft.order())
        rule.find(draft, node, found);
    return found;
}

// Why the models differ; empty where they compute the same.
inline std::string differenceBetween(const Graph& before, const Graph& after, const Tolerance& tolerance = {}) {
    std::vector<Tensor> inputs;
    for (const ValueId id : before.inputs())
        inputs.push_back(someNumbers(before.value(id).type.shape(), 100 + inputs.size()).cast(before.value(id).type.dtype));
    const auto a = Interpreter(before).run(inputs), b = Interpreter(after).run(inputs);
    if (!a.ok() || !b.ok())
        return a.ok() ? b.error().message : a.error().message;
    const Status same = requireEquivalent(*a, *b, {}, tolerance);
    return same.ok() ? "" : same.error().message;
}

// Simplifies as long as something is found; how many steps that took.
inline int simplify(Draft& draft, const std::vector<SubstitutionPtr>& rules, int most) {
    for (int steps = 0; steps < most; ++steps) {
        bool changed = false;
        for (const SubstitutionPtr& rule : rules) {
            const std::vector<Match> matches = rule->card().simplifies ? matchesOf(draft, *rule) : std::vector<Match>();
            if (Applied made = matches.empty() ? Applied() : applied(draft, *rule, matches[0]); made.draft) {
                draft = std::move(*made.draft);
                changed = true;
                break;
            }
        }
        if (!changed)
            return steps;
    }
    return most;
}

struct Rewritten {
    std::size_t found = 0;
    std::string problem; // of the first match: a refusal, or how the rewritten model differs
    std::optional<Graph> graph; // with weights computed
    int count(const std::string& op) const {
        return static_cast<int>(std::ranges::count_if(graph->nodes(), [&](const auto& node) { return node->op == op; }));
    }
    const Node& node(const std::string& op) const {
        return **std::ranges::find_if(graph->nodes(), [&](const auto& each) { return each->op == op; });
    }
};

inline Rewritten rewritten(const Graph& graph, const std::string& name, const Tolerance& tolerance = {}) {
    const ModelDraft model = draftOf(graph).value();
    const SubstitutionPtr rule = ruleNamed(name);
    const std::vector<Match> matches = matchesOf(model.draft, *rule);
    Rewritten result{matches.size(), {}, {}};
    if (matches.empty())
        return result;
    const Applied made = applied(model.draft, *rule, matches[0]);
    if (!made.draft) {
        result.problem = made.refusal;
        return result;
    }
    result.graph = foldConstants(graphOf(model, *made.draft, name).value()).value();
    result.problem = differenceBetween(graph, *result.graph, tolerance);
    return result;
}

} // namespace tunesmith::rewrite
