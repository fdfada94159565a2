// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/graph_race.h"

#include "core/measure/machine.h"
#include "core/onnx/export.h"
#include "core/schedule/stage_memory.h"
#include "core/schedule/stored_rows.h"
#include "core/workbench/layout_contest.h"
#include "core/workbench/layout_records.h"
#include "core/workbench/open_store.h"
#include "core/workbench/version.h"

namespace tunesmith {
namespace {

constexpr double kContestSeconds = 2;

Status remember(const PlanRequest& request, const Graph& prepared, const LayoutVerdict& verdict) {
    TS_ASSIGN(const auto store, openStore(request.store, StoreMode::readWrite));
    TS_ASSIGN(const MachineRow machine, thisMachine());
    TS_ASSIGN(const Target target, hostTarget(request.threads));
    RunRow run;
    run.version = versionText();
    TS_ASSIGN(run.target, storedTarget(*store, target));
    const auto stored = storeLayouts(*store, prepared, run, machine.key, verdict);
    return stored.ok() ? Status() : Status(stored.error());
}

} // namespace

Result<GraphRace> GraphRace::make(const Model& original, const PlanRequest& plan, const InputChoice& inputs, StageTurns& turns, LayoutPlanner planner) {
    GraphRace race(plan, inputs, turns, std::move(planner));
    TS_ASSIGN(race.original_, race.runnerOf(original));
    return race;
}

Result<Subject> GraphRace::compiled(const Model& model, const PlanRequest& plan) const {
    TS_TRY(turns_->enter("build", moduleNeed(model.graph(), plan.builders > 0 ? plan.builders : coreCount())));
    return compiledSubject(model, plan, inputs_);
}

Status GraphRace::beginMeasuring(const Graph& graph) const { return turns_->enter("profile", moduleNeed(graph, plan_.threads)); }

Result<Subject> GraphRace::runnerOf(const Model& model) const {
    TS_ASSIGN(Subject usual, compiled(model, plan_));
    if (!planner_ || !model.info().notCompiled.empty())
        return usual;
    TS_TRY(turns_->enter("search", {1, 2 * constantMb(model.graph())}, StageTurns::By::thread));
    plan_.work.report("planning layouts");
    TS_ASSIGN(const Graph prepared, prepareGraph(model.graph()));
    TS_ASSIGN(const optimize::PlannedLayouts planned, planner_(prepared));
    turns_->leave();
    return fasterOf(std::move(usual), model, prepared, planned);
}

Result<Subject> GraphRace::fasterOf(Subject usual, const Model& model, const Graph& prepared, const optimize::PlannedLayouts& planned) const {
    if (differencesOf(planned.greedy.plan, planned.best.plan) == 0)
        return usual;
    PlanRequest asked = plan_;
    asked.layouts = planned.best.plan;
    TS_ASSIGN(Subject subject, compiled(model, asked));
    TS_TRY(beginMeasuring(prepared));
    plan_.work.report("comparing layouts in the whole model");
    TS_ASSIGN(const LayoutContest contest, contestLayouts(usual, subject, kContestSeconds, plan_.work.stop));
    if (!contest.agree || !contest.faster)
        return usual;
    TS_TRY(remember(plan_, prepared, {planned.best.plan, true, planned.greedy.ms, planned.best.ms, contest.aMs, contest.bMs}));
    return subject;
}

// By way of a file, as whoever uses the rewritten model would read it.
Result<GraphRace::Times> GraphRace::time(const Graph& rewritten, double seconds) const {
    TS_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
    const std::filesystem::path file = folder.path() / "rewritten.onnx";
    TS_TRY(turns_->enter("prepare", {1, 2 * constantMb(rewritten)}));
    TS_TRY(exportOnnx(rewritten, file));
    TS_ASSIGN(const Model model, openModel(file.string(), {}, plan_.work));
    TS_ASSIGN(const Subject subject, runnerOf(model));
    TS_TRY(beginMeasuring(rewritten));
    plan_.work.report("measuring against the original");
    TS_ASSIGN(const JudgedPair pair, judgeSubjects(original_, subject, seconds, plan_.work.stop));
    return Times{latencyOf(pair.samples.a, original_, 0).p5Ms, latencyOf(pair.samples.b, subject, 0).p5Ms, pair.verdict.kind, subject.layouts};
}

} // namespace tunesmith
