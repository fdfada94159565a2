// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/kernel_times.h"

#include <nlohmann/json.hpp>

#include "core/measure/machine.h"
#include "core/schedule/records.h"
#include "core/schedule/stage_memory.h"
#include "core/schedule/stored_rows.h"
#include "core/schedule/workload_search.h"
#include "core/workbench/open_store.h"
#include "core/workbench/version.h"

namespace tunesmith {

Result<std::unique_ptr<KernelTimes>> KernelTimes::open(Setup setup) {
    TS_ASSIGN(auto store, openStore(setup.store, StoreMode::readWrite));
    TS_ASSIGN(const MachineRow machine, thisMachine());
    return std::unique_ptr<KernelTimes>(new KernelTimes(std::move(setup), std::move(store), machine.key));
}

KernelTimes::~KernelTimes() {
    if (run_.valid())
        static_cast<void>(store_->endRun(run_, {RunState::completed, {}, {}, {}}));
}

std::optional<double> KernelTimes::ms(const Workload& workload) {
    const auto known = bestOfSpaces(*store_, workload, setup_.target, machine_);
    if (known.ok() && *known && (*known)->record.targetKey == setup_.target.key() && (*known)->record.machineKey == machine_) { // times of others say nothing here
        ++fromStore_;
        return (*known)->ms;
    }
    if (!setup_.work.stop.stopRequested()) {
        setup_.work.report("measuring kernels", -1, workload.name);
        const StageTurns::Rest rest(setup_.turns);
        const auto measured = measure(workload);
        if (measured.ok())
            return *measured;
    }
    gaveUp_ = gaveUp_ || setup_.work.stop.stopRequested();
    return std::nullopt;
}

Status KernelTimes::begin() {
    KernelWorkerOptions options;
    options.seed = setup_.seed;
    TS_ASSIGN(workers_, KernelWorkers::start(options));
    RunRow row;
    row.kind = "optimize";
    row.model = setup_.model;
    row.strategy = "untuned";
    row.seed = setup_.seed;
    row.options = nlohmann::json{{"threads", setup_.target.threads}}.dump();
    row.version = versionText();
    TS_ASSIGN(row.target, storedTarget(*store_, setup_.target));
    TS_ASSIGN(run_, store_->beginRun(row));
    return {};
}

Result<Trial> KernelTimes::profile(ScheduleProblem& problem) {
    const Workload& workload = problem.workload();
    StageTurns& turns = setup_.turns;
    TS_TRY(turns.enter("build", buildNeed(1)));
    workers_->keepBuildsTo(turns.processors());
    auto outcome = problem.tryBuild(problem.schedules().defaultConfig(), setup_.work.stop);
    if (!outcome.built)
        return unsupportedError(workload.name + ": " + outcome.message);
    TS_TRY(turns.enter("profile", profileNeed(workload, setup_.target.threads)));
    workers_->keepMeasurementsTo(turns.processors());
    Trial trial = problem.profile(outcome.built->artifact, {workers_->options().profileSeconds, {}, {}, setup_.work.stop});
    turns.leave();
    return trial;
}

Result<double> KernelTimes::measure(const Workload& workload) {
    if (!workers_)
        TS_TRY(begin());
    TS_ASSIGN(const auto problem, ScheduleProblem::make(workload, setup_.target, *workers_));
    TS_ASSIGN(const Trial trial, profile(*problem));
    TS_TRY(store_->addWorkload(rowOf(workload, problem->serialized())));
    TS_TRY(store_->addRunWorkloads(run_, {{workload.key, 1, problem->space().name(), problem->space().size().value_or(0), 1}}));
    const auto added = store_->addTrial(rowFromTrial(trial, run_, workload.key, problem->featureVersion()));
    if (!added.ok())
        return added.error();
    ++measured_;
    return trial.ok() ? Result<double>(trial.objectives.front().value) : Result<double>(unsupportedError(workload.name + ": " + trial.message));
}

} // namespace tunesmith
