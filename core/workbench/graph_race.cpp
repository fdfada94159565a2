// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/graph_race.h"

#include "core/onnx/export.h"

namespace tunesmith {

Result<GraphRace> GraphRace::make(const Model& original, const PlanRequest& plan, std::uint64_t seed) {
    TS_ASSIGN(Subject subject, compiledSubject(original, plan, {{}, seed}));
    return GraphRace(plan, seed, std::move(subject));
}

// By way of a file, as whoever uses the rewritten model would read it.
Result<GraphRace::Times> GraphRace::time(const Graph& rewritten, double seconds) const {
    TS_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
    const std::filesystem::path file = folder.path() / "rewritten.onnx";
    TS_TRY(exportOnnx(rewritten, file));
    TS_ASSIGN(const Model model, openModel(file.string(), {}, plan_.work));
    TS_ASSIGN(const Subject subject, compiledSubject(model, plan_, {{}, seed_}));
    plan_.work.report("measuring against the original");
    TS_ASSIGN(const PairSamples pair, measurePair(original_, subject, seconds, plan_.work.stop));
    TS_ASSIGN(const Verdict verdict, judgePaired(pair.a, pair.b));
    return Times{latencyOf(pair.a, original_, 0).p5Ms, latencyOf(pair.b, subject, 0).p5Ms, verdict.kind};
}

} // namespace tunesmith
