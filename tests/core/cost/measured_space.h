// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/search/search_session.h"
#include "core/search/union_space.h"

namespace tunesmith {

// A workload whose every schedule was measured once (data/*.json, written by tests/bench/measure_table): strategies can be judged
// without a machine's noise, and again on any machine.
class MeasuredSpace {
public:
    static MeasuredSpace read(const std::string& path);

    const Space& space() const { return *space_; }
    std::size_t size() const; // configs with a kernel
    double optimum() const { return optimum_; } // ms
    double ms(const Config& config) const;
    Evaluate evaluate() const;

private:
    std::shared_ptr<const UnionSpace> space_;
    std::vector<std::vector<double>> ms_; // by part and its index; 0: none
    double optimum_ = 0;
};

} // namespace tunesmith
