// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/term_parser.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/te/limits.h"

namespace tunesmith::te {
namespace {

// The levels of operators, loosest first. Comparisons have one of their own between 1 and 3: they may be chained.
constexpr std::array<std::array<std::string_view, 3>, 5> kLevels{{{"||"}, {"&&"}, {}, {"+", "-"}, {"*", "/", "%"}}};
constexpr int kComparisonLevel = 2;

bool isComparison(const Token& token) {
    constexpr std::array<std::string_view, 6> signs{"<", "<=", ">", ">=", "==", "!="};
    return token.kind == Token::Kind::sign && std::ranges::find(signs, token.text) != signs.end();
}

std::size_t sizeOf(const Term& term) {
    std::size_t size = 1;
    for (const Term& arg : term.args)
        size += sizeOf(arg);
    return size;
}

} // namespace

Result<bool> Tokens::accept(std::string_view sign) {
    if (!now_.is(sign))
        return false;
    TS_TRY(advance());
    return true;
}

Status Tokens::expect(std::string_view sign, const std::string& after) {
    if (!now_.is(sign))
        return error("'" + std::string(sign) + "' is missing after " + after + "; here stands " + tokenText(now_));
    return advance();
}

Result<Name> Tokens::name(const std::string& what) {
    if (now_.kind != Token::Kind::name)
        return error(what + " is missing; here stands " + tokenText(now_));
    const Name found{std::string(now_.text), now_.place};
    TS_TRY(advance());
    return found;
}

Status TermParser::count(std::size_t more) {
    terms_ += more;
    if (terms_ <= kMostTerms)
        return {};
    return tokens_.error("a statement has at most " + std::to_string(kMostTerms) + " numbers, names and operators; split it in two");
}

Result<Term> TermParser::combined(const Token& sign, Term a, Term b) {
    TS_TRY(count(1));
    Term term{.kind = Term::Kind::operation, .place = sign.place, .name = std::string(sign.text), .args = {}};
    term.args.push_back(std::move(a));
    term.args.push_back(std::move(b));
    return term;
}

Result<Term> TermParser::expression() {
    if (++depth_ > kDeepestNesting)
        return tokens_.error("expressions may be nested " + std::to_string(kDeepestNesting) + " deep, and this one is deeper; name a part of it as a tensor of its own");
    TS_ASSIGN(Term condition, binary(0));
    if (!tokens_.now().is("?")) {
        --depth_;
        return condition;
    }
    TS_TRY(count(1));
    Term term{.kind = Term::Kind::choice, .place = tokens_.now().place, .name = {}, .args = {}};
    TS_TRY(tokens_.advance());
    TS_ASSIGN(Term then, expression());
    TS_TRY(tokens_.expect(":", "what a choice (c ? a : b) takes when its condition holds"));
    TS_ASSIGN(Term otherwise, expression());
    term.args = {std::move(condition), std::move(then), std::move(otherwise)};
    --depth_;
    return term;
}

Result<Term> TermParser::binary(int level) {
    if (level == kComparisonLevel)
        return comparison();
    if (level == static_cast<int>(kLevels.size()))
        return unary();
    TS_ASSIGN(Term left, binary(level + 1));
    const auto& signs = kLevels[static_cast<std::size_t>(level)];
    while (tokens_.now().kind == Token::Kind::sign && std::ranges::find(signs, tokens_.now().text) != signs.end()) {
        const Token sign = tokens_.now();
        TS_TRY(tokens_.advance());
        TS_ASSIGN(Term right, binary(level + 1));
        TS_ASSIGN(left, combined(sign, std::move(left), std::move(right)));
    }
    return left;
}

// 0 <= h < H is 0 <= h && h < H.
Result<Term> TermParser::comparison() {
    TS_ASSIGN(Term left, binary(kComparisonLevel + 1));
    std::optional<Term> all;
    while (isComparison(tokens_.now())) {
        const Token sign = tokens_.now();
        TS_TRY(tokens_.advance());
        TS_ASSIGN(Term right, binary(kComparisonLevel + 1));
        const bool goesOn = isComparison(tokens_.now());
        if (goesOn)
            TS_TRY(count(sizeOf(right)));
        Term next = goesOn ? right : Term();
        TS_ASSIGN(Term one, combined(sign, std::move(left), std::move(right)));
        left = std::move(next);
        if (!all) {
            all = std::move(one);
            continue;
        }
        Token both = sign;
        both.text = "&&";
        TS_ASSIGN(all, combined(both, std::move(*all), std::move(one)));
    }
    return all ? std::move(*all) : std::move(left);
}

Result<Term> TermParser::unary() {
    const Token sign = tokens_.now();
    if (!sign.is("-") && !sign.is("!"))
        return primary();
    if (++depth_ > kDeepestNesting)
        return tokens_.error("more than " + std::to_string(kDeepestNesting) + " signs and brackets are nested here");
    TS_TRY(tokens_.advance());
    TS_TRY(count(1));
    TS_ASSIGN(Term operand, unary());
    --depth_;
    Term term{.kind = Term::Kind::operation, .place = sign.place, .name = std::string(sign.text), .args = {}};
    term.args.push_back(std::move(operand));
    return term;
}

Result<Term> TermParser::primary() {
    const Token token = tokens_.now();
    TS_TRY(count(1));
    switch (token.kind) {
    case Token::Kind::integer:
    case Token::Kind::real: {
        TS_TRY(tokens_.advance());
        const bool real = token.kind == Token::Kind::real;
        return Term{.kind = real ? Term::Kind::real : Term::Kind::integer, .place = token.place, .name = {},
                    .integer = token.integer, .real = token.real, .args = {}};
    }
    case Token::Kind::name: return named();
    default: break;
    }
    if (!token.is("("))
        return tokens_.error("a value is missing: a number, a name, tensor[index], function(value) or (value); here stands " + tokenText(token));
    TS_TRY(tokens_.advance());
    TS_ASSIGN(Term inner, expression());
    TS_TRY(tokens_.expect(")", "what is in brackets"));
    return inner;
}

Result<Term> TermParser::named() {
    TS_ASSIGN(const Name name, tokens_.name("a name"));
    Term term{.kind = Term::Kind::name, .place = name.place, .name = name.text, .args = {}};
    if (tokens_.now().is("[")) {
        term.kind = Term::Kind::read;
        TS_TRY(arguments(term, "]"));
    } else if (tokens_.now().is("(")) {
        term.kind = Term::Kind::call;
        TS_TRY(arguments(term, ")"));
    }
    return term;
}

Status TermParser::arguments(Term& term, std::string_view close) {
    TS_TRY(tokens_.advance());
    TS_ASSIGN(bool done, tokens_.accept(close));
    while (!done) {
        TS_ASSIGN(Term argument, expression());
        term.args.push_back(std::move(argument));
        TS_ASSIGN(done, tokens_.accept(close));
        if (!done)
            TS_TRY(tokens_.expect(",", "an argument of '" + term.name + "'"));
    }
    return {};
}

} // namespace tunesmith::te
