// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/telling_conditions.h"

#include <algorithm>

namespace tunesmith::rewrite {
namespace {

constexpr std::size_t kMostConditions = 4;
constexpr std::int64_t kMostSets = 1'000'000; // takes seconds; of 1,000 conditions there are 40 thousand million

// Tries all sets of so many conditions, up to a limit, and keeps the best.
template <class Counts> class Choice {
public:
    Choice(const Counts& counts, std::size_t conditions) : counts_(counts), conditions_(conditions) {}

    void tryAll(std::size_t size) {
        least_ = kept_ + kept_ / 4;
        choose(0, size);
    }

    std::optional<std::vector<std::size_t>> best() const { return kept_ > 0 ? std::optional(best_) : std::nullopt; }

private:
    void choose(std::size_t from, std::size_t left) {
        if (++tried_ > kMostSets)
            return;
        std::int64_t kept = 0;
        bool letsFalse = false;
        for (const auto& [holds, count] : counts_)
            if (std::ranges::all_of(chosen_, [&](std::size_t c) { return holds[c]; })) {
                kept += count.trueOnes;
                letsFalse = letsFalse || count.falseOnes > 0;
            }
        if (kept < least_ || kept <= kept_)
            return;
        if (left == 0) {
            if (letsFalse)
                return;
            best_ = chosen_;
            kept_ = kept;
        }
        for (std::size_t c = from; left > 0 && c < conditions_; ++c) {
            chosen_.push_back(c);
            choose(c + 1, left - 1);
            chosen_.pop_back();
        }
    }

    const Counts& counts_;
    const std::size_t conditions_;
    std::vector<std::size_t> best_, chosen_;
    std::int64_t kept_ = 0, least_ = 0, tried_ = 0;
};

} // namespace

std::optional<std::vector<std::size_t>> RuleCases::tellingConditions(std::size_t conditions) const {
    Choice choice(counts_, conditions);
    for (std::size_t size = 0; size <= kMostConditions; ++size)
        choice.tryAll(size);
    return choice.best();
}

} // namespace tunesmith::rewrite
