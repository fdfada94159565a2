// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <set>

#include "core/module/layout_estimate.h"

namespace tunesmith {

// What is known of a layout problem's workloads while it is solved by measuring few of them: the times of those that were measured, which cannot be,
// and what the rest promises by an estimate. Ask promising(), measure those, tell with learn(), until nothing promises more; then best().
// The problem must outlive it.
class LayoutKnowledge {
public:
    explicit LayoutKnowledge(const LayoutProblem& problem);

    void learn(std::size_t workload, std::optional<double> ms); // none: it cannot be had
    bool isMeasured(std::size_t workload) const { return measured_[workload].has_value(); }

    const std::vector<std::size_t>& greedy() const { return greedy_; } // workloads of the greedy choice, ascending
    std::vector<std::size_t> unmeasured(std::vector<std::size_t> workloads) const; // those of which nothing was learnt
    std::vector<std::size_t> promising() const; // of the plan that promises most, what was not measured; at most a few of each family

    std::vector<double> costs() const; // infinite where nothing was measured
    // Of what was measured alone. A plan that differs from the greedy one has to gain something for it.
    std::optional<LayoutChoice> best() const;

private:
    std::vector<double> promises() const;

    const LayoutProblem& problem_;
    LayoutEstimate estimate_;
    std::vector<std::optional<double>> measured_; // of each workload
    std::set<std::size_t> failed_;
    std::vector<std::size_t> greedy_;
};

} // namespace tunesmith
