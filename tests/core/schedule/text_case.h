// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/infer_shapes.h"
#include "core/te/definition.h"
#include "core/te/graph.h"
#include "package_of.h"

// Kernels of text tensor expressions.
namespace tunesmith::testing {

inline std::vector<Workload> workloadsOf(const std::string& text, const Target& target) {
    const te::Definition definition = take(te::readDefinition(text, "f.te"));
    const Graph graph = take(inferShapes(take(te::makeGraph(definition)), te::defaultSizes(definition)));
    const auto groups = groupNodes(graph);
    std::vector<Workload> workloads;
    for (const KernelGroup& group : groups)
        workloads.push_back(take(extractWorkload(graph, group, chooseLayouts(graph, groups, target))).workload);
    return workloads;
}

// The default and some others, compared with the reference kernel on one thread and on two; what is wrong with the first that differs.
inline std::string wrongConfig(const Workload& workload, const ScheduleSpace& space, const Target& target, int others) {
    constexpr std::uint64_t kSeed = 20260101;
    std::vector<Config> configs{space.defaultConfig()};
    Rng rng(kSeed);
    for (int i = 0; i < others; ++i)
        configs.push_back(space.space().sample(rng));
    const auto reference = take(KernelCase::make(workload, kSeed));
    const auto one = take(PhaseRunner::make(1)), two = take(PhaseRunner::make(2));
    for (const Config& config : configs) {
        const auto kernel = take(BenchKernel::load(reference, packageOf(take(space.schedule(config)), target)));
        const std::string wrong = kernel->check(*one) + kernel->check(*two);
        if (!wrong.empty())
            return std::string(isaName(target.isa)) + ", " + space.space().describe(config) + ": " + wrong;
    }
    return {};
}

} // namespace tunesmith::testing
