// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string_view>

#include "core/te/ast.h"

namespace tunesmith::te {

struct Token {
    enum class Kind : std::uint8_t { name, integer, real, sign, end };
    Kind kind = Kind::end;
    std::string_view text; // of the source, which outlives its tokens
    Place place;
    std::int64_t integer = 0;
    double real = 0;

    bool is(std::string_view sign) const { return (kind == Kind::sign || kind == Kind::name) && text == sign; }
};

std::string tokenText(const Token& token); // "'P'", "the end of the file": for sentences

// A text as tokens, one after the other. Space and comments (# to the end of the line) stand between them.
class Lexer {
public:
    Lexer(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}
    Result<Token> next();

private:
    void skipSpace();
    Result<Token> number(Token token);
    Result<Token> sign(Token token);
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    std::string_view take(std::size_t count);

    std::string_view text_;
    std::string source_;
    std::size_t at_ = 0;
    Place place_;
};

} // namespace tunesmith::te
