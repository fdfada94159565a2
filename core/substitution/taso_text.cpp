// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/taso_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

namespace tunesmith::substitution {
namespace {

TermShape shape(std::initializer_list<std::uint16_t> extents) {
    TermShape made;
    made.rank = static_cast<std::uint8_t>(extents.size());
    std::ranges::copy(extents, made.extents.begin());
    return made;
}

std::optional<TermShape> shapeOfInput(std::string_view name) {
    int number = 0;
    if (name.size() < 2 || std::from_chars(name.data() + 1, name.data() + name.size(), number).ptr != name.data() + name.size())
        return std::nullopt;
    const auto within = [&](int first, int last) { return number >= first && number <= last; };
    switch (name[0]) {
    case 'x': return within(1, 3) ? std::optional(shape({2, 4})) : std::nullopt;
    case 'i': return within(1, 3) ? std::optional(shape({2, 4, 5, 5})) : std::nullopt;
    case 's': return number == 0 ? std::optional(shape({1})) : std::nullopt;
    case 'w':
        return within(1, 3)     ? std::optional(shape({4, 4}))
               : within(4, 6)   ? std::optional(shape({4, 4, 3, 3}))
               : within(7, 9)   ? std::optional(shape({4, 4, 1, 3}))
               : within(10, 12) ? std::optional(shape({4, 4, 3, 1}))
               : number == 13   ? std::optional(shape({4, 1, 3, 3}))
                                : std::nullopt;
    default: return std::nullopt;
    }
}

const std::map<std::string_view, Term>& operators() {
    static const std::map<std::string_view, Term> all{
        {"Matmul", {TermOp::matmul}}, {"MatMul", {TermOp::matmul}}, {"EWAdd", {TermOp::add}}, {"EWMul", {TermOp::mul}}, {"ScalarMul", {TermOp::scale}}, {"Relu", {TermOp::relu}},
        {"Conv3x3S", {TermOp::conv}}, {"Conv1x3S", {TermOp::conv}}, {"Conv3x1S", {TermOp::conv}}, {"Conv1x1S", {TermOp::conv}},
        {"Conv3x3SR", {TermOp::convRelu}}, {"Conv1x3SR", {TermOp::convRelu}}, {"Conv3x1SR", {TermOp::convRelu}}, {"Conv1x1SR", {TermOp::convRelu}},
        {"Pool3x3SA", {TermOp::averagePool}}, {"Pool3x3SM", {TermOp::maxPool}}, {"Enlarge3x3", {TermOp::enlarge}},
        {"Concat_0", {TermOp::concat, 0}}, {"Concat_1", {TermOp::concat, 1}}, {"Split_0", {TermOp::split, 0}}, {"Split_1", {TermOp::split, 1}},
        {"Transpose_10", {TermOp::transpose}}, {"TransposeShuffle_10", {TermOp::transpose}}, // how memory lies is no part of a value
        {"Constant_Pool", {TermOp::poolWeights}}, {"Constant_IConv", {TermOp::convIdentity, 3, 3}}, {"Constant_IMM", {TermOp::productIdentity}},
        {"Constant_One", {TermOp::ones}},
    };
    return all;
}

// One line; `place` is where reading has come to.
class LineReader {
public:
    explicit LineReader(std::string_view line) : rest_(line), builder_(rule_) {}

    Result<Rule> read() {
        TS_TRY(readSide(rule_.left));
        if (!take("=>"))
            return problem("'=>'");
        TS_TRY(readSide(rule_.right));
        if (!rest_.empty())
            return problem("the end of the line");
        if (rule_.left.size() != rule_.right.size())
            return inputError(std::to_string(rule_.left.size()) + " results on the left and " + std::to_string(rule_.right.size()) + " on the right");
        if (rule_.nodes.size() > Rule::kMostNodes || rule_.left.size() > Rule::kMostResults)
            return unsupportedError("more than " + std::to_string(Rule::kMostNodes) + " operators and inputs, or " + std::to_string(Rule::kMostResults) + " results");
        if (const auto fault = shapeFault(rule_))
            return inputError(fault->what);
        return std::move(rule_);
    }

private:
    static constexpr int kMostDeep = 32;

    Status readSide(std::vector<TermId>& results) {
        do {
            TS_ASSIGN(const TermId term, readTerm(0));
            results.push_back(term);
        } while (take("|"));
        return {};
    }

    Result<TermId> readTerm(int depth) {
        const std::string_view name = word();
        if (!take("["))
            return readInput(name);
        const auto known = operators().find(name);
        if (known == operators().end())
            return unsupportedError("no operator is called '" + std::string(name) + "'");
        if (depth > kMostDeep)
            return unsupportedError("more than " + std::to_string(kMostDeep) + " operators in each other");
        Term term = known->second;
        const std::string_view part = word();
        if (part != "0" && (part != "1" || term.op != TermOp::split))
            return problem("the number of a result");
        if (term.op == TermOp::split)
            term.part = part == "1";
        if (!take("]") || !take("{"))
            return problem("']{'");
        for (int i = 0; i < traits(term.op).inputs; ++i) {
            if (!take("input" + std::to_string(i) + "("))
                return problem("'input" + std::to_string(i) + "('");
            TS_ASSIGN(term.inputs[static_cast<std::size_t>(i)], readTerm(depth + 1));
            if (!take(")"))
                return problem("')'");
        }
        if (!take("}"))
            return problem("'}'");
        return builder_.add(term);
    }

    Result<TermId> readInput(std::string_view name) {
        const auto shape = shapeOfInput(name);
        if (!shape)
            return name.empty() ? problem("an operator or an input") : inputError("no input is called '" + std::string(name) + "'");
        const auto known = inputs_.find(name);
        return known != inputs_.end() ? known->second : inputs_[std::string(name)] = builder_.variable(*shape);
    }

    void skipSpace() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }

    bool take(std::string_view token) {
        skipSpace();
        if (!rest_.starts_with(token))
            return false;
        rest_.remove_prefix(token.size());
        skipSpace();
        return true;
    }

    std::string_view word() {
        skipSpace();
        const auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
        const std::string_view found(rest_.begin(), std::ranges::find_if_not(rest_, isPart));
        rest_.remove_prefix(found.size());
        return found;
    }

    Error problem(const std::string& expected) const {
        return inputError("expected " + expected + (rest_.empty() ? " where the line ends" : " before '" + std::string(rest_.substr(0, 20)) + "'"));
    }

    std::string_view rest_;
    Rule rule_;
    RuleBuilder builder_;
    std::map<std::string, TermId, std::less<>> inputs_;
};

} // namespace

Result<std::vector<Rule>> parseTasoRules(std::string_view text) {
    std::vector<Rule> rules;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.starts_with('#'))
            continue;
        Result<Rule> rule = LineReader(line).read();
        if (!rule.ok())
            return rule.error().within("line " + std::to_string(number));
        rules.push_back(std::move(*rule));
    }
    return rules;
}

} // namespace tunesmith::substitution
