// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/rule_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/substitution/text_scanner.h"

namespace tunesmith::substitution {
namespace {

constexpr int kMostExtent = 4096, kMostElements = 1 << 16; // of a variable
constexpr int kMostDeep = 32;

std::optional<int> digit(char c, int most) { return c >= '0' && c <= '0' + most ? std::optional(c - '0') : std::nullopt; }

// The operator of a name, with axis and part, as namedRule writes it.
std::optional<Term> operatorOf(std::string_view name) {
    for (std::size_t i = 1; i < kTermOps; ++i) {
        Term term{static_cast<TermOp>(i)};
        if (!name.starts_with(traits(term.op).name))
            continue;
        const std::string_view rest = name.substr(traits(term.op).name.size());
        const auto first = rest.empty() ? std::nullopt : digit(rest[0], 9);
        if (term.op == TermOp::concat || term.op == TermOp::split) {
            const bool isSplit = term.op == TermOp::split;
            if (!first || *first > 3 || rest.size() != (isSplit ? 2U : 1U) || (isSplit && rest[1] != 'a' && rest[1] != 'b'))
                continue;
            term.axis = static_cast<std::uint8_t>(*first);
            term.part = isSplit && rest[1] == 'b';
        } else if (term.op == TermOp::convIdentity) {
            const auto second = rest.size() == 2 ? digit(rest[1], 9) : std::nullopt;
            if (!first || !second || *first % 2 == 0 || *second % 2 == 0)
                continue;
            term.axis = static_cast<std::uint8_t>(*first);
            term.part = static_cast<std::uint8_t>(*second);
        } else if (!rest.empty()) {
            continue;
        }
        return term;
    }
    return std::nullopt;
}

Result<TermShape> readShape(TextScanner& text) {
    TermShape shape;
    const std::size_t begin = text.place();
    do {
        if (shape.rank == shape.extents.size())
            return text.problem("a shape has at most four extents", begin);
        int extent = 0, cut = 0;
        const bool isCut = text.take("(");
        TS_ASSIGN(extent, text.number(kMostExtent));
        if (isCut) {
            if (!text.take("+"))
                return text.expected("'+'");
            TS_ASSIGN(const int second, text.number(kMostExtent));
            if (!text.take(")"))
                return text.expected("')'");
            cut = std::exchange(extent, extent + second);
        }
        if (extent > kMostExtent)
            return text.problem("an extent is more than " + std::to_string(kMostExtent), begin);
        shape.extents[shape.rank] = static_cast<std::uint16_t>(extent);
        shape.cuts[shape.rank++] = static_cast<std::uint16_t>(cut);
        if (shape.count() > kMostElements)
            return text.problem("a shape has more than " + std::to_string(kMostElements) + " elements", begin);
    } while (text.take("x"));
    return shape;
}

// Reads the equation, then the shapes, then asks whether the operators take them.
class RuleTextReader {
public:
    explicit RuleTextReader(std::string_view line) : text_(line), builder_(rule_) {}

    Result<Rule> read(std::size_t* end, std::size_t length) {
        do {
            TS_TRY(readResult(rule_.left));
        } while (text_.take(";"));
        if (!text_.take("="))
            return text_.expected("';' or '='");
        for (std::size_t i = 0; i < rule_.left.size(); ++i) {
            if (i > 0 && !text_.take(";"))
                return text_.expected("';' and another result, as on the left,");
            TS_TRY(readResult(rule_.right));
        }
        TS_TRY(readShapes());
        const bool more = end && text_.take(";");
        if (!more && !text_.atEnd())
            return text_.expected("the end of the rule");
        TS_TRY(checkShapes());
        if (end)
            *end = more ? text_.place() : length;
        return std::move(rule_);
    }

private:
    Status readResult(std::vector<TermId>& results) {
        if (results.size() >= Rule::kMostResults)
            return text_.problem("more than " + std::to_string(Rule::kMostResults) + " results", text_.place());
        TS_ASSIGN(const TermId term, readTerm(0));
        results.push_back(term);
        return {};
    }

    Result<TermId> readTerm(int depth) {
        const std::size_t place = text_.place();
        const std::string_view name = text_.word();
        if (name.empty())
            return text_.expected("an operator or a variable");
        auto term = operatorOf(name);
        if (!term)
            return text_.sees("(") ? text_.problem("no operator is called '" + std::string(name) + "'", place) : variable(name, place);
        if (depth == kMostDeep)
            return text_.problem("more than " + std::to_string(kMostDeep) + " operators in each other", place);
        const int inputs = traits(term->op).inputs;
        for (int i = 0; i < inputs; ++i) {
            if (!text_.take(i == 0 ? "(" : ","))
                return text_.expected(i == 0 ? "'('" : "','");
            TS_ASSIGN(term->inputs[static_cast<std::size_t>(i)], readTerm(depth + 1));
        }
        if (inputs > 0 && !text_.take(")"))
            return text_.expected("')'");
        return placed(builder_.add(*term), place);
    }

    Result<TermId> variable(std::string_view name, std::size_t place) {
        if (digit(name[0], 9))
            return text_.expected("an operator or a variable", place);
        const auto known = variables_.find(name);
        if (known != variables_.end())
            return known->second;
        const TermId id = builder_.variable({});
        variables_.emplace(name, id);
        return placed(id, place);
    }

    // Remembers where a node was met first.
    Result<TermId> placed(TermId id, std::size_t place) {
        if (id >= Rule::kMostNodes)
            return text_.problem("more than " + std::to_string(Rule::kMostNodes) + " operators and variables", place);
        if (id == places_.size())
            places_.push_back(place);
        return id;
    }

    Status readShapes() {
        if (!variables_.empty()) {
            if (!text_.take("where"))
                return text_.expected("an operand or 'where' with the shapes of the variables");
            do {
                TS_TRY(readVariableShape());
            } while (text_.take(","));
        }
        for (const auto& [name, id] : variables_)
            if (shapeOfVariable(id).rank == 0)
                return text_.expected("a shape for " + name);
        return {};
    }

    Status readVariableShape() {
        const std::size_t place = text_.place();
        const std::string name(text_.word());
        const auto known = variables_.find(name);
        if (known == variables_.end())
            return name.empty() ? text_.expected("a variable") : text_.problem("the equation has no variable '" + name + "'", place);
        TermShape& shape = shapeOfVariable(known->second);
        if (shape.rank > 0)
            return text_.problem("'" + name + "' has a shape already", place);
        if (!text_.take(":"))
            return text_.expected("':'");
        TS_ASSIGN(shape, readShape(text_));
        return {};
    }

    TermShape& shapeOfVariable(TermId id) { return rule_.variables[rule_.nodes[id].inputs[0]]; }

    Status checkShapes() {
        const auto fault = shapeFault(rule_);
        return fault ? Status(text_.problem(fault->what, places_[fault->node])) : Status();
    }

    TextScanner text_;
    Rule rule_;
    RuleBuilder builder_;
    std::map<std::string, TermId, std::less<>> variables_;
    std::vector<std::size_t> places_; // of nodes
};

} // namespace

std::string ruleText(const Rule& rule) {
    const NamedRule named = namedRule(rule);
    std::string text = named.left + " = " + named.right;
    const char* separator = " where ";
    for (const auto& [name, shape] : named.variables)
        text += std::exchange(separator, ", ") + name + ": " + toText(shape);
    return text;
}

Result<Rule> parseRule(std::string_view text, std::size_t* end) { return RuleTextReader(text).read(end, text.size()); }

} // namespace tunesmith::substitution
