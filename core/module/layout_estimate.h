// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/module/layout_problem.h"

namespace tunesmith {

// What workloads of a layout problem may cost that were not measured, so that measuring can begin with the promising ones: what the greedy
// plan's workload of the same family costs, by the vectors that are busy and the values that are gathered lane by lane. How
// wrong that was for kernels of the same kind and layouts that were measured (narrow vectors are as fast as wide ones or not) corrects it.
class LayoutEstimate {
public:
    explicit LayoutEstimate(const LayoutProblem& problem);

    // In ms, for each workload: measured, or estimated.
    std::vector<double> costs(const std::vector<std::optional<double>>& measured) const;

private:
    std::vector<double> references(const std::vector<std::optional<double>>& measured) const;

    const LayoutProblem& problem_;
    std::vector<double> cycles_;      // of each workload, roughly
    std::vector<std::string> kinds_;  // likewise: what is wrong by the same factor
    std::vector<std::size_t> greedy_; // workloads of the greedy plan
};

} // namespace tunesmith
