// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/stage_memory.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kBuilderMb = 80, kProfilerMb = 80; // resident without large tensors, most of it the program: 73 to 80 and 73 to 100 were seen

} // namespace

StageNeed buildNeed(int builders) { return {builders, builders * kBuilderMb}; }

// A tensor is there for the reference, in the kernel's layout, and in buffers: 3.2 to 4.1 times were seen for a product and an elementwise kernel of 66 and 128 MiB.
StageNeed profileNeed(const Workload& workload, int threads) {
    constexpr std::int64_t kCopies = 4;
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
