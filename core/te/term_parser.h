// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/lexer.h"

namespace tunesmith::te {

// A stream of tokens with one of them in view.
class Tokens {
public:
    Tokens(std::string_view text, const std::string& source) : lexer_(text, source), source_(source) {}
    Status start() { return advance(); }

    const Token& now() const { return now_; }
    Status advance() {
        TS_ASSIGN(now_, lexer_.next());
        return {};
    }
    Result<bool> accept(std::string_view sign); // takes it when it is there
    Status expect(std::string_view sign, const std::string& after);
    Result<Name> name(const std::string& what);
    Error error(const std::string& sentence) const { return errorAt(source_, now_.place, sentence); }
    const std::string& source() const { return source_; }

private:
    Lexer lexer_;
    std::string source_;
    Token now_;
};

// The expressions of one statement, by precedence climbing. Counts terms: what is longer or nested deeper than limits.h
// allows is refused before it is built.
class TermParser {
public:
    explicit TermParser(Tokens& tokens) : tokens_(tokens) {}
    Result<Term> expression(); // with ?:
    Result<Term> sum() { return binary(kSumLevel); } // no comparison and no choice: the bounds of a range

private:
    static constexpr int kSumLevel = 3;
    Result<Term> binary(int level);
    Result<Term> comparison();
    Result<Term> unary();
    Result<Term> primary();
    Result<Term> named();
    Status arguments(Term& term, std::string_view close);
    Status count(std::size_t more);
    Result<Term> combined(const Token& sign, Term a, Term b);

    Tokens& tokens_;
    std::size_t terms_ = 0;
    int depth_ = 0;
};

} // namespace tunesmith::te
