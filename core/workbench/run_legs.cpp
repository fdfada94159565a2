// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/run_legs.h"

#include "core/workbench/run_options.h"

namespace tunesmith {

RunLegs::RunLegs(std::vector<RunRow> runs) : runs_(std::move(runs)) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        places_[runs_[i].id.value()] = i;
        if (const std::int64_t before = optionsOf(runs_[i]).follows; before > 0)
            followers_[before] = i;
    }
}

std::vector<RunRow> RunLegs::of(RunId first) const {
    std::vector<RunRow> legs;
    for (auto leg = places_.find(first.value()); leg != places_.end() && legs.size() < runs_.size();) { // a damaged store may go round in circles
        legs.push_back(runs_[leg->second]);
        const auto next = followers_.find(legs.back().id.value());
        leg = next == followers_.end() ? places_.end() : places_.find(runs_[next->second].id.value());
    }
    return legs;
}

} // namespace tunesmith
