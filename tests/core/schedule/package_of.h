// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/kernel_bench.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/template.h"
#include "tests/take.h"

namespace tunesmith::testing {

inline KernelPackage packageOf(const ScheduledKernel& scheduled, const Target& target) {
    KernelPackage package;
    package.kernel = take(compileKernel(scheduled.nest, target, {"candidate", false})).kernel;
    package.argumentLayouts = scheduled.lowered.argumentLayouts;
    package.argumentTransforms = scheduled.lowered.argumentTransforms;
    package.outputLayouts = scheduled.lowered.outputLayouts;
    return package;
}

} // namespace tunesmith::testing
