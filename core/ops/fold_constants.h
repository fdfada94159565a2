// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/ops/operator.h"

namespace tunesmith {

// How much a model may grow by folding. A result is kept as a node when it has more than maxResultBytes, or more than
// slackBytes and more than maxGrowth times the bytes that it is computed from (a ConstantOfShape of 400 MB).
struct FoldOptions {
    std::int64_t maxResultBytes = std::int64_t(64) << 20;
    std::int64_t maxGrowth = 16;
    std::int64_t slackBytes = std::int64_t(1) << 20;
    StopToken stop;

    // For compiling: whatever can be a weight becomes one, up to 2 GB each.
    static FoldOptions weights() { return {std::int64_t(2) << 30, std::int64_t(1) << 40, std::int64_t(1) << 20, {}}; }
};

// Evaluates what depends only on constants, and what shape inference knows (the Shape of a static input), then drops what
// is dead. A node whose kernel refuses its inputs stays and says so when it runs. Non-deterministic nodes stay. Infers
// shapes on the way; ids change.
Result<Graph> foldConstants(const Graph& graph, const FoldOptions& options = {});

} // namespace tunesmith
