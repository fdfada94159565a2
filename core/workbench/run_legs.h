// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <vector>

#include "core/store/rows.h"

namespace tunesmith {

// Inside core/workbench only: which stored runs are one tuning, a leg for each thread count.
class RunLegs {
public:
    explicit RunLegs(std::vector<RunRow> runs);

    std::vector<RunRow> of(RunId first) const; // in their order; none where the first is unknown

private:
    std::vector<RunRow> runs_;
    std::map<std::int64_t, std::size_t> places_, followers_; // of runs_, by number and by that of the run before
};

} // namespace tunesmith
