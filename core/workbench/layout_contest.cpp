// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/layout_contest.h"

#include "core/check/equivalence.h"

namespace tunesmith {
namespace {

Result<bool> agree(const Subject& a, const Subject& b, const StopToken& stop) {
    TS_ASSIGN(const auto worker, startWorker());
    TS_ASSIGN(const std::vector<Tensor> first, runModule(*worker, {a.folder, a.threads, a.inputs}, kPatience, stop));
    TS_ASSIGN(const std::vector<Tensor> second, runModule(*worker, {b.folder, b.threads, b.inputs}, kPatience, stop));
    return requireEquivalent(first, second).ok();
}

} // namespace

Result<LayoutContest> contestLayouts(const Subject& a, const Subject& b, double seconds, const StopToken& stop) {
    LayoutContest contest;
    TS_ASSIGN(contest.agree, agree(a, b, stop));
    TS_ASSIGN(const JudgedPair pair, judgeSubjects(a, b, seconds, stop));
    contest.faster = pair.verdict.kind == VerdictKind::faster;
    contest.aMs = latencyOf(pair.samples.a, a, 0).p5Ms;
    contest.bMs = latencyOf(pair.samples.b, b, 0).p5Ms;
    return contest;
}

} // namespace tunesmith
