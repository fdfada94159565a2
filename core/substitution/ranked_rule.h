// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <optional>
#include <tuple>

#include "core/substitution/part_folder.h"
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// A rule with its place among others: the small come first, and of these the general, which have many variables. Rules of one text differ in
// names only; their order is settled by what else is different, so that it is the same wherever they come from.
struct RankedRule {
    int operators = 0, variables = 0; // of both sides; different ones
    std::string text;
    Rule rule;

    auto rank() const { return std::tuple(operators, -variables, text.size(), std::string_view(text)); }
    bool operator<(const RankedRule& other) const;
};
RankedRule ranked(Rule rule);

// Rules in few bytes, for files of this program on this machine.
void append(const RankedRule& rule, Bytes& bytes);

// Reads what append() wrote, piece by piece: `more(offset, count)` gives bytes of a file, fewer at its end.
class RuleReader {
public:
    using More = std::function<Result<Bytes>(std::size_t offset, std::size_t count)>;
    RuleReader(More more, std::size_t begin, std::size_t piece) : more_(std::move(more)), next_(begin), piece_(piece) {}
    Result<std::optional<RankedRule>> next();

private:
    Result<bool> fill(std::size_t count); // whether so many bytes are left

    More more_;
    std::size_t next_, piece_, at_ = 0; // where the next piece begins; its size; where in the last one we are
    Bytes bytes_;
};

// All rules of a part of a folder, which begin at some offset.
RuleReader readerOf(const PartFolder& folder, const std::string& part, std::size_t begin = 0, std::size_t piece = std::size_t(1) << 16);
Result<std::vector<RankedRule>> rulesIn(const PartFolder& folder, const std::string& part);

} // namespace tunesmith::substitution
