// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace tunesmith {

// Which of several techniques deserves the next trial: OpenTuner's AUC bandit (Ansel et al., PACT 2014). Over
// a sliding window of uses, a technique's credit is the area under the curve of "it found a new best", so
// that late successes weigh more; seldom used ones get a bonus, unused ones come first.
class BanditCredit {
public:
    using History = std::deque<std::pair<std::size_t, bool>>; // technique, new best; oldest first

    BanditCredit(std::size_t techniques, double exploration, std::size_t window)
        : techniques_(techniques), exploration_(exploration), window_(window) {}

    void record(std::size_t technique, bool newBest);

    // sum of i * success_i over a technique's n uses / (n (n + 1) / 2) + C sqrt(2 log2(all uses) / n).
    // `underWay`: uses of each technique without an outcome yet. They count as uses, or one technique would
    // get a whole batch.
    std::vector<double> scores(const std::vector<std::size_t>& underWay) const;

    const History& history() const { return history_; }
    void setHistory(History history) { history_ = std::move(history); }

private:
    std::size_t techniques_;
    double exploration_;
    std::size_t window_;
    History history_;
};

} // namespace tunesmith
