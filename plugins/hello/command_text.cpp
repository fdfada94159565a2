// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/hello/command_text.h"

#include <utility>

namespace tunesmith {

std::vector<std::string> splitWords(std::string_view text) {
    std::vector<std::string> words;
    for (bool within = false; const char c : text) {
        const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (!space && !within)
            words.emplace_back();
        if (!space)
            words.back() += c;
        within = !space;
    }
    return words;
}

Result<CommandText> CommandText::parse(const std::vector<std::string>& words) {
    CommandText text;
    for (const std::string& word : words) {
        std::vector<Piece>& pieces = text.words_.emplace_back();
        std::string literal;
        for (std::size_t i = 0; i < word.size(); ++i) {
            const bool brace = word[i] == '{' || word[i] == '}';
            if (!brace || (i + 1 < word.size() && word[i + 1] == word[i])) {
                literal += word[i];
                i += brace;
                continue;
            }
            const std::size_t end = word.find('}', i);
            if (word[i] == '}' || end == std::string::npos)
                return inputError("the braces of '" + word + "' do not match; write {{ and }} for braces that are meant");
            if (!literal.empty())
                pieces.push_back({false, std::exchange(literal, {})});
            pieces.push_back({true, word.substr(i + 1, end - i - 1)});
            i = end;
        }
        if (!literal.empty() || pieces.empty())
            pieces.push_back({false, literal});
    }
    return text;
}

std::vector<std::string> CommandText::names() const {
    std::vector<std::string> names;
    for (const auto& word : words_)
        for (const Piece& piece : word)
            if (piece.isName)
                names.push_back(piece.text);
    return names;
}

std::vector<std::string> CommandText::expand(const Values& values) const {
    std::vector<std::string> out;
    for (const auto& word : words_) {
        if (word.size() == 1 && word.front().isName) {
            const auto& own = values.at(word.front().text);
            out.insert(out.end(), own.begin(), own.end());
            continue;
        }
        std::string text;
        for (const Piece& piece : word) {
            if (!piece.isName)
                text += piece.text;
            else
                for (bool first = true; const std::string& value : values.at(piece.text))
                    text += (std::exchange(first, false) ? "" : " ") + value;
        }
        out.push_back(std::move(text));
    }
    return out;
}

} // namespace tunesmith
