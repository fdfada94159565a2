// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/lexer.h"

#include <array>
#include <charconv>

#include "core/te/limits.h"

namespace tunesmith::te {
namespace {

// Without the locale's opinion.
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool startsName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continuesName(char c) { return startsName(c) || isDigit(c); }

// Longer ones before those that they begin with.
constexpr std::array<std::string_view, 32> kSigns{"+=!", "*=!", "+=", "*=", "=!", "==", "!=", "<=", ">=", "&&", "||",
                                                  "->",  "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ";",  "?",
                                                  "=",   "<",   ">",  "+",  "-",  "*",  "/",  "%",  "!",  "|"};

std::string characterText(char c) {
    const auto code = static_cast<unsigned char>(c);
    if (code > 32 && code < 127)
        return std::string("'") + c + "'";
    constexpr const char* digits = "0123456789abcdef";
    return std::string("the byte 0x") + digits[code >> 4] + digits[code & 15];
}

} // namespace

std::string tokenText(const Token& token) {
    return token.kind == Token::Kind::end ? "the end of the file" : "'" + std::string(token.text) + "'";
}

std::string_view Lexer::take(std::size_t count) {
    const std::string_view taken = text_.substr(at_, count);
    at_ += count;
    place_.column += static_cast<int>(count);
    return taken;
}

void Lexer::skipSpace() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '\n') {
            ++at_;
            ++place_.line;
            place_.column = 1;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            take(1);
        } else if (c == '#') {
            take(std::min(text_.find('\n', at_), text_.size()) - at_);
        } else {
            return;
        }
    }
}

Result<Token> Lexer::next() {
    skipSpace();
    Token token;
    token.place = place_;
    if (at_ == text_.size())
        return token;
    if (startsName(peek())) {
        std::size_t length = 1;
        while (continuesName(peek(length)))
            ++length;
        if (length > kLongestName)
            return errorAt(source_, place_, "a name has at most " + std::to_string(kLongestName) + " characters");
        token.kind = Token::Kind::name;
        token.text = take(length);
        return token;
    }
    return isDigit(peek()) || (peek() == '.' && isDigit(peek(1))) ? number(token) : sign(token);
}

Result<Token> Lexer::number(Token token) {
    std::size_t length = 0;
    bool real = false;
    const auto digits = [&] {
        while (isDigit(peek(length)))
            ++length;
    };
    digits();
    if (peek(length) == '.') {
        real = true;
        ++length;
        digits();
    }
    if (const std::size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-' ? 2 : 1;
        (peek(length) == 'e' || peek(length) == 'E') && isDigit(peek(length + sign))) {
        real = true;
        length += sign;
        digits();
    }
    if (continuesName(peek(length)))
        return errorAt(source_, token.place, "a number cannot go on with '" + std::string(1, peek(length)) + "'; write a space or an operator between them");
    token.text = take(length);
    token.kind = real ? Token::Kind::real : Token::Kind::integer;
    const char *const first = token.text.data(), *const last = first + length;
    const auto error = real ? std::from_chars(first, last, token.real).ec : std::from_chars(first, last, token.integer).ec;
    if (error != std::errc())
        return errorAt(source_, token.place, "this number is larger than 64 bits hold");
    return token;
}

Result<Token> Lexer::sign(Token token) {
    for (const std::string_view sign : kSigns)
        if (text_.substr(at_, sign.size()) == sign) {
            token.kind = Token::Kind::sign;
            token.text = take(sign.size());
            return token;
        }
    return errorAt(source_, token.place, characterText(peek()) + " has no meaning here; comments begin with #");
}

} // namespace tunesmith::te
