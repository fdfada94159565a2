// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/bandit_credit.h"

#include <cmath>
#include <limits>

namespace tunesmith {

void BanditCredit::record(std::size_t technique, bool newBest) {
    history_.emplace_back(technique, newBest);
    if (history_.size() > window_)
        history_.pop_front();
}

std::vector<double> BanditCredit::scores(const std::vector<std::size_t>& underWay) const {
    std::vector<std::size_t> uses(techniques_, 0);
    std::vector<double> areas(techniques_, 0);
    for (const auto& [technique, newBest] : history_) {
        ++uses[technique];
        if (newBest)
            areas[technique] += static_cast<double>(uses[technique]);
    }
    std::size_t all = history_.size();
    for (const std::size_t count : underWay)
        all += count;
    std::vector<double> out;
    for (std::size_t i = 0; i < techniques_; ++i) {
        const double known = static_cast<double>(uses[i]);
        const double n = known + static_cast<double>(underWay[i]);
        const double area = known > 0 ? areas[i] * 2 / (known * (known + 1)) : 0;
        out.push_back(n == 0 ? std::numeric_limits<double>::infinity()
                             : area + exploration_ * std::sqrt(2 * std::log2(static_cast<double>(all)) / n));
    }
    return out;
}

} // namespace tunesmith
