// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// A command as a file writes it: words with placeholders. A word that is nothing but {name} becomes the words that the name stands for, so that an empty
// value leaves none and "-a -b" two; within a longer word, as in -O{level}, they are put in as one text. {{ and }} are braces.
class CommandText {
public:
    using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

    CommandText() = default;
    static Result<CommandText> parse(const std::vector<std::string>& words); // an open brace is an error

    bool empty() const { return words_.empty(); }
    std::vector<std::string> names() const; // of all placeholders
    std::vector<std::string> expand(const Values& values) const; // which has all names

private:
    struct Piece {
        bool isName = false;
        std::string text;
    };
    std::vector<std::vector<Piece>> words_;
};

std::vector<std::string> splitWords(std::string_view text); // at spaces

} // namespace tunesmith
