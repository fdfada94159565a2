// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/taso_file.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/substitution/enumeration.h"
#include "core/substitution/taso_message.h"
#include "core/substitution/wire_reader.h"

namespace tunesmith::substitution {
namespace {

constexpr std::size_t kMostOperators = 8; // of a side, as in TASO; what a text of shared operators may grow to is bounded by it
constexpr std::size_t kMostVariables = 8;

// Numbers of TASO's OpType and PMParameter (include/taso/ops.h).
enum TasoType : std::int64_t { conv2d = 3, relu = 8, concat = 12, split = 13, add = 16, mul = 17, matmul = 18 };
enum TasoParameter : std::int64_t { inputCount = 1, outputCount = 2, kernelH = 4, kernelW = 5, strideH = 6, strideW = 7, pad = 8, activation = 9, rank = 10, axis = 11 };
constexpr std::int64_t kReluActivation = 2;

// What an operator says of its operands beside what the shape rule asks: 0 is anything.
struct Demand {
    std::int64_t rank = 0;
    std::array<std::int64_t, 2> kernel{}; // of its weights
    bool operator==(const Demand&) const = default;
};

std::string numbered(const char* what, std::size_t number) { return what + std::to_string(number); }

class RuleReader {
public:
    explicit RuleReader(const TasoRule& from) : from_(from), builder_(rule_) {}

    Result<Rule> read() {
        TS_TRY(readSide(from_.source, "source operator ", source_));
        TS_TRY(readSide(from_.target, "target operator ", target_));
        if (from_.outputs.empty())
            return inputError("it has no outputs");
        if (from_.outputs.size() > 2 * kMostOperators)
            return unsupportedError(std::to_string(from_.outputs.size()) + " outputs, more than are taken");
        for (const TasoRule::Output& output : from_.outputs) {
            TS_ASSIGN(const TermId left, tensor(output.source, source_));
            TS_ASSIGN(const TermId right, tensor(output.target, target_));
            rule_.left.push_back(left);
            rule_.right.push_back(right);
        }
        demands_.resize(rule_.nodes.size());
        TS_TRY(chooseShapes());
        return std::move(rule_);
    }

private:
    // Both results of an operator; one that is no split has one.
    using Results = std::vector<std::array<TermId, 2>>;

    Status readSide(const std::vector<TasoOperator>& operators, const char* what, Results& results) {
        if (operators.empty() || operators.size() > kMostOperators)
            return unsupportedError("a side has " + std::to_string(operators.size()) + " operators; 1 to " + std::to_string(kMostOperators) + " are taken");
        for (std::size_t i = 0; i < operators.size(); ++i)
            if (const Status done = readOperator(operators[i], results); !done.ok())
                return done.error().within(numbered(what, i));
        return {};
    }

    Status readOperator(const TasoOperator& from, Results& results) {
        TS_ASSIGN(Term term, termOf(from));
        if (from.inputs.size() != static_cast<std::size_t>(traits(term.op).inputs))
            return inputError(std::to_string(from.inputs.size()) + " operands where " + std::string(traits(term.op).name) + " has " + std::to_string(traits(term.op).inputs));
        for (std::size_t i = 0; i < from.inputs.size(); ++i) {
            TS_ASSIGN(term.inputs[i], tensor(from.inputs[i], results));
        }
        const TermId first = builder_.add(term);
        TS_TRY(demand(first, from));
        term.part = 1;
        results.push_back({first, term.op == TermOp::split ? builder_.add(term) : kNoTerm});
        return {};
    }

    Result<TermId> tensor(const TasoTensor& of, const Results& results) {
        if (of.op < 0) {
            if (const auto known = variables_.find(of); known != variables_.end())
                return known->second;
            if (variables_.size() == kMostVariables)
                return unsupportedError("it has more than " + std::to_string(kMostVariables) + " variables");
            return variables_[of] = builder_.variable({});
        }
        const auto op = static_cast<std::uint64_t>(of.op);
        if (op >= results.size())
            return inputError("operator " + std::to_string(of.op) + " is read before it is there");
        if (of.result < 0 || of.result > 1 || results[op][static_cast<std::size_t>(of.result)] == kNoTerm)
            return inputError("operator " + std::to_string(of.op) + " has no result " + std::to_string(of.result));
        return results[op][static_cast<std::size_t>(of.result)];
    }

    static std::int64_t parameter(const TasoOperator& of, TasoParameter key, std::int64_t absent) {
        const auto found = of.parameters.find(key);
        return found == of.parameters.end() ? absent : found->second;
    }

    static Result<Term> termOf(const TasoOperator& from) {
        const std::int64_t along = parameter(from, axis, -1), activated = parameter(from, activation, 0);
        const auto only = [&](TermOp op) { return Result<Term>(Term{op}); };
        switch (from.type) {
        case relu: return only(TermOp::relu);
        case add: return only(TermOp::add);
        case mul: return only(TermOp::mul);
        case matmul: return activated == 0 ? only(TermOp::matmul) : unsupportedError("a matmul with activation " + std::to_string(activated));
        case conv2d: return convOf(from, activated);
        case concat:
        case split:
            if (along < 0 || along > 3)
                return inputError("an axis " + std::to_string(along));
            if (parameter(from, from.type == concat ? inputCount : outputCount, 2) != 2)
                return unsupportedError("a concat or split of more or less than two parts");
            return Term{from.type == concat ? TermOp::concat : TermOp::split, static_cast<std::uint8_t>(along)};
        default: return unsupportedError("an operator of type " + std::to_string(from.type) + ", which is none of those that are read");
        }
    }

    static Result<Term> convOf(const TasoOperator& from, std::int64_t activated) {
        if (parameter(from, strideH, 1) != 1 || parameter(from, strideW, 1) != 1 || parameter(from, pad, 0) != 0)
            return unsupportedError("a convolution with a stride or without padding");
        if (activated != 0 && activated != kReluActivation)
            return unsupportedError("a convolution with activation " + std::to_string(activated));
        return Term{activated == 0 ? TermOp::conv : TermOp::convRelu};
    }

    Status demand(TermId of, const TasoOperator& from) {
        const Demand made{from.type == concat ? parameter(from, rank, 0) : 0,
                          from.type == conv2d ? std::array{parameter(from, kernelH, 0), parameter(from, kernelW, 0)} : std::array<std::int64_t, 2>{}};
        if (demands_.size() <= of)
            demands_.resize(of + 1U);
        if (demands_[of] != Demand() && demands_[of] != made)
            return inputError("the same operator has other ranks or kernels elsewhere");
        demands_[of] = made;
        return {};
    }

    // Shapes for variables as the nodes ask for them; every operator that does not take its operands ends a try.
    Status chooseShapes() {
        shapes_.resize(rule_.nodes.size());
        if (tryNode(0))
            return {};
        return unsupportedError(steps_ > kMostSteps ? "its shapes were not found in " + std::to_string(kMostSteps) + " steps"
                                                    : "there are no shapes of the generator with which both sides are the same");
    }

    bool tryNode(TermId id) {
        if (id == rule_.nodes.size())
            return sidesHaveTheSameShapes();
        if (++steps_ > kMostSteps)
            return false;
        const Term& term = rule_.nodes[id];
        if (term.op != TermOp::input)
            return isLegal(id, term) && tryNode(id + 1);
        for (const TermShape& shape : generatorShapes()) {
            shapes_[id] = rule_.variables[term.inputs[0]] = shape;
            if (tryNode(id + 1))
                return true;
        }
        return false;
    }

    bool isLegal(TermId id, const Term& term) {
        const auto shape = [&](std::size_t i) { return term.inputs[i] == kNoTerm ? TermShape() : shapes_[term.inputs[i]]; };
        const Demand& wanted = demands_[id];
        const auto weights = shape(1).extents;
        shapes_[id] = shapeOf(term, shape(0), shape(1));
        return shapes_[id].rank > 0 && (wanted.rank == 0 || wanted.rank == shapes_[id].rank) && (wanted.kernel[0] == 0 || wanted.kernel[0] == weights[2]) &&
               (wanted.kernel[1] == 0 || wanted.kernel[1] == weights[3]);
    }

    bool sidesHaveTheSameShapes() const {
        const auto same = [&](TermId left, TermId right) { return shapes_[left].sameExtents(shapes_[right]); };
        return std::ranges::equal(rule_.left, rule_.right, same);
    }

    // Each shape once, matrices and images before weights.
    static const std::vector<TermShape>& generatorShapes() {
        static const std::vector<TermShape> shapes = [] {
            std::vector<TermShape> distinct;
            for (const TermInput& input : defaultInputs())
                if (std::ranges::find(distinct, input.shape) == distinct.end())
                    distinct.push_back(input.shape);
            return distinct;
        }();
        return shapes;
    }

    static constexpr int kMostSteps = 100'000;

    const TasoRule& from_;
    Rule rule_;
    RuleBuilder builder_;
    Results source_, target_;
    std::map<TasoTensor, TermId> variables_;
    std::vector<Demand> demands_;   // of nodes
    std::vector<TermShape> shapes_; // of nodes
    int steps_ = 0;
};

Result<Rule> readRule(std::string_view message) {
    TS_ASSIGN(const TasoRule parsed, parseTasoRule(message));
    return RuleReader(parsed).read();
}

} // namespace

Result<std::vector<Rule>> parseTasoFile(std::string_view bytes) {
    std::vector<Rule> rules;
    WireReader reader(bytes);
    for (;;) {
        const Result<std::optional<WireField>> field = reader.next();
        if (!field.ok())
            return field.error().within(numbered("rule ", rules.size()));
        if (!*field)
            return rules.empty() ? Result<std::vector<Rule>>(inputError("there is no rule in it")) : std::move(rules);
        if ((*field)->number != 1 || !(*field)->isBytes)
            return inputError("field " + std::to_string((*field)->number) + " is no rule; this is no file of TASO's substitutions").within(numbered("rule ", rules.size()));
        Result<Rule> rule = readRule((*field)->bytes);
        if (!rule.ok())
            return rule.error().within(numbered("rule ", rules.size()));
        rules.push_back(std::move(*rule));
    }
}

} // namespace tunesmith::substitution
