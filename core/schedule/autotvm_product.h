// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/autotvm_template.h"

namespace tunesmith {

// A workload's matrix product as AutoTVM's templates see it: [batch] m x k times [batch] n x k.
struct AutotvmProduct {
    explicit AutotvmProduct(const LoweredWorkload& lowered) : AutotvmProduct(lowered.program, lowered) {}
    AutotvmProduct(const loops::Program& program, const LoweredWorkload& lowered); // also of a program with a copied operand

    // Rows along one dimension that all share a matrix of rank 2, which is what TVM's dense computes after it has flattened
    // dimensions of 1; or matrices on the right that have dimensions in front. Neither: no template.
    static bool isDense(const LoweredWorkload& lowered);
    static bool isBatch(const LoweredWorkload& lowered);

    autotvm::Task denseTask(const std::string& name) const;
    autotvm::Task batchTask(const std::string& name) const;
    std::vector<loops::Var> otherAxes(const loops::StageSchedule& stage) const; // neither rows nor columns

    std::int64_t batch = 1, m, n, k;
    std::size_t rank, rowAxis;           // of the output
    std::size_t columnDim = 0, depthDim = 0; // of the right operand
    std::size_t rightRank;
    std::size_t rightArgument; // as many as there are arguments if it is a copy
    bool rightIsConstant = false;
};

} // namespace tunesmith
