// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tunesmith::rewrite {

// Cases of a rule without conditions: which of the conditions that there are hold in them, and whether the rule was true. Conditions are
// learned from these.
class RuleCases {
public:
    void add(const std::vector<bool>& holds, bool isTrue) {
        auto& [trueOnes, falseOnes] = counts_[holds];
        ++(isTrue ? trueOnes : falseOnes);
    }

    // Up to four conditions that hold together in no false case and in as many true ones as can be, by number. A further condition must be
    // worth it and keep a quarter more of the true cases. Nothing where every set loses all true cases or keeps a false one, and of many conditions the best of the first million sets.
    std::optional<std::vector<std::size_t>> tellingConditions(std::size_t conditions) const;

private:
    struct Counts {
        std::int64_t trueOnes = 0, falseOnes = 0;
    };
    std::map<std::vector<bool>, Counts> counts_;
};

} // namespace tunesmith::rewrite
