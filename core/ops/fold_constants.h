// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/ops/operator.h"

namespace tunesmith {

// How much a model may grow by folding. A result is kept as a node when it has more than maxResultBytes, or more than
// slackBytes and more than maxGrowth times the bytes that it is computed from (a ConstantOfShape of 400 MB).
//
// Weights stay in the type that the model has them in: what has the elements of its input in a wider type (DequantizeLinear, Cast)
// is folded only where all such nodes of the graph together add no more than widening.
struct FoldOptions {
    std::int64_t maxResultBytes = std::int64_t(64) << 20;
    std::int64_t maxGrowth = 16;
    std::int64_t slackBytes = std::int64_t(1) << 20;
    StopToken stop;
    std::int64_t widening = std::int64_t(1) << 16; // what is no weight but the arithmetic of shapes
    bool keepQuantised = true;                     // DequantizeLinear stays, however small: the model is to be written again
    // All results together: so much, and kWeightsGrowth times the constants that the graph has, but no more than half of the budget
    // of values (base/memory_budget.h). Nodes beyond it stay, and the log says which was the first.
    std::int64_t sumBytes = std::int64_t(256) << 20;
    static constexpr std::int64_t kWeightsGrowth = 8;
    double mostSteps = 0x1p30; // of all kernels together (node_steps.h), which takes seconds; nodes beyond it stay

    // For compiling: whatever can be a weight becomes one, up to 2 GB each.
    static FoldOptions weights() {
        return {std::int64_t(2) << 30, std::int64_t(1) << 40, std::int64_t(1) << 20, {}, std::int64_t(128) << 20, false, std::int64_t(2) << 30, 0x1p35};
    }
    // For graphs that are rewritten and written again: the same, but quantised weights stay.
    static FoldOptions rewriting() {
        FoldOptions options = weights();
        options.widening = FoldOptions().widening;
        options.keepQuantised = true;
        return options;
    }
};

// Evaluates what depends only on constants, and what shape inference knows (the Shape of a static input), then drops what
// is dead. A node whose kernel refuses its inputs stays and says so when it runs. Non-deterministic nodes stay. Infers
// shapes on the way; ids change.
Result<Graph> foldConstants(const Graph& graph, const FoldOptions& options = {});

} // namespace tunesmith
