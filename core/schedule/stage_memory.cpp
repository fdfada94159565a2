// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/stage_memory.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kBuilderMb = 110, kProfilerMb = 60; // resident, as seen of workers, without tensors

} // namespace

StageNeed buildNeed(int builders) { return {builders, builders * kBuilderMb}; }

// A tensor is there for the reference, in the kernel's layout, and in the buffers of a candidate and of the kernel beside which it is timed, with what they hold.
StageNeed profileNeed(const Workload& workload, int threads) {
    constexpr std::int64_t kCopies = 6;
    return {threads, kProfilerMb + kCopies * workload.bytes() / kMiB};
}

// Two modules, each with packed weights beside the model's own.
StageNeed moduleNeed(const Graph& model, int cores) {
    constexpr std::int64_t kCopies = 4;
    return {cores, cores * kBuilderMb + kCopies * constantMb(model)};
}

std::int64_t constantMb(const Graph& graph) {
    std::size_t bytes = 0;
    for (const auto& value : graph.values())
        bytes += value && value->isConstant() ? value->constant.byteCount() : 0;
    return static_cast<std::int64_t>(bytes) / kMiB;
}

} // namespace tunesmith
