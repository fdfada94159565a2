// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>

#include "package_of.h"

namespace tunesmith::testing {

inline Target targetOf(Isa isa) {
    Target target;
    target.isa = isa;
    return target;
}

// Whether it is the same workload when a store or a worker reads it.
inline bool survivesItsText(const Workload& workload) { return take(Workload::deserialize(workload.serialize())).key == workload.key; }

// What is wrong with a kernel, on one thread or two, under some config of the workload's space; empty when nothing is. The space is that of one template.
inline std::string wrongUnderAnyConfig(const Workload& workload, const std::string& expectedTemplate,
                                       const std::function<std::string(const ScheduledKernel&)>& alsoWrong = {}) {
    if (!survivesItsText(workload))
        return "its text is another workload";
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (!hostSupports(isa))
            continue;
        const Target target = targetOf(isa);
        const auto space = take(ScheduleSpace::make(workload, target));
        if (space.space().name() != expectedTemplate)
            return "the template is " + space.space().name();
        const auto reference = take(KernelCase::make(workload, 1));
        const auto one = take(PhaseRunner::make(1)), two = take(PhaseRunner::make(2));
        const auto& knobs = dynamic_cast<const KnobSpace&>(space.space());
        for (std::uint64_t i = 0; i < knobs.indexCount(); ++i) {
            const Config config = *knobs.at(i);
            const auto scheduled = take(space.schedule(config));
            const auto kernel = take(BenchKernel::load(reference, packageOf(scheduled, target)));
            std::string wrong = kernel->check(*one) + kernel->check(*two);
            if (wrong.empty() && alsoWrong)
                wrong = alsoWrong(scheduled);
            if (!wrong.empty())
                return std::string(isaName(isa)) + ", " + knobs.describe(config) + ": " + wrong;
        }
    }
    return {};
}

} // namespace tunesmith::testing
