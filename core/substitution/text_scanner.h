// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tunesmith::substitution {

// Where reading of a line has come to. Blanks between what is read mean nothing.
class TextScanner {
public:
    explicit TextScanner(std::string_view text) : text_(text) { skipBlanks(); }

    std::size_t place() const { return place_; }
    bool atEnd() const { return place_ == text_.size(); }
    bool sees(std::string_view token) const { return text_.substr(place_).starts_with(token); }

    bool take(std::string_view token) {
        if (!sees(token))
            return false;
        place_ += token.size();
        skipBlanks();
        return true;
    }

    // Letters, digits and underscores; empty where there are none.
    std::string_view word() {
        std::size_t end = place_;
        while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
            ++end;
        const std::string_view found = text_.substr(place_, end - place_);
        place_ = end;
        skipBlanks();
        return found;
    }

    // A whole number from 1 to `most`.
    Result<int> number(int most) {
        const std::size_t begin = place_;
        int value = 0;
        const auto [end, code] = std::from_chars(text_.data() + place_, text_.data() + text_.size(), value);
        if (code != std::errc() || value < 1 || value > most)
            return expected("a number from 1 to " + std::to_string(most), begin);
        place_ = static_cast<std::size_t>(end - text_.data());
        skipBlanks();
        return value;
    }

    Error expected(const std::string& what) const { return expected(what, place_); }
    Error expected(const std::string& what, std::size_t at) const {
        const std::string found = at >= text_.size() ? ", but the line ends" : ", not '" + std::string(text_.substr(at, 20)) + "'";
        return problem("expected " + what + found, at);
    }
    static Error problem(const std::string& what, std::size_t at) { return inputError("column " + std::to_string(at + 1) + ": " + what); }

private:
    void skipBlanks() {
        while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t' || text_[place_] == '\r'))
            ++place_;
    }

    std::string_view text_;
    std::size_t place_ = 0;
};

} // namespace tunesmith::substitution
