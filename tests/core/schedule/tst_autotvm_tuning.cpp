// SPDX-License-Identifier: GPL-3.0-or-later
#include "schedule_testing.h"

#include <nlohmann/json.hpp>

#include "core/autotvm/store_exchange.h"
#include "core/schedule/autotvm_starts.h"
#include "core/schedule/autotvm_template.h"
#include "core/schedule/records.h"
#include "core/schedule/tuner.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Bench {
    QTemporaryDir folder;
    std::shared_ptr<Store> store = take(Store::open(folder.filePath("t.db").toStdString()));
    Target target = take(hostTarget(1));
    Workload own = convWorkload(target), theirs = inSpace(own, SpaceKind::autotvm);

    TuneResult tune(const Workload& workload, std::size_t trials, bool fake = true, const TuneObserver& observer = {},
                    const StopToken& stop = {}) const {
        return take(Tuner(*store, observer).run({{workload, 1}}, target, optionsFor(workload, trials, fake), stop));
    }

    static TuneOptions optionsFor(const Workload& workload, std::size_t trials, bool fake) {
        TuneOptions options;
        options.trialsPerWorkload = trials;
        options.workers = testWorkers(fake ? std::map<std::string, std::string>{{"TEST_FAKE_PROFILE", "1"}} : std::map<std::string, std::string>());
        options.batch = 4;
        options.seed = 5;
        options.space = workload.space;
        return options;
    }

    QStringList trail(RunId run) const {
        TrialFilter filter;
        filter.run = run;
        auto rows = take(store->trials(filter));
        std::ranges::sort(rows, {}, &TrialRow::index);
        QStringList out;
        for (const TrialRow& row : rows)
            out << QString::fromStdString(row.workload + " " + row.config + " " + std::to_string(row.p5Ms.value_or(0)));
        return out;
    }
};

} // namespace

// Tuning over AutoTVM's space, and that nothing of one space is taken for the other's.
class TestAutotvmTuning : public QObject {
    Q_OBJECT

private slots:
    void tunesAConvolution() {
        Bench bench;
        const TuneResult result = bench.tune(bench.theirs, 12, false);
        const TunedWorkload& tuned = result.workloads.at(0);
        QCOMPARE(QString::fromStdString(tuned.space), QString("conv2d_NCHWc.x86"));
        QCOMPARE(tuned.key, bench.theirs.key);
        QCOMPARE(tuned.failed, std::size_t(0)); // all agree with the reference
        QVERIFY(tuned.defaultMs && tuned.bestMs && *tuned.bestMs <= *tuned.defaultMs);
        const RunRow run = take(bench.store->run(result.run));
        QCOMPARE(QString::fromStdString(nlohmann::json::parse(run.options).at("space").get<std::string>()), QString("autotvm"));
        QCOMPARE(take(bench.store->runWorkloads(result.run)).at(0).plan.space, std::string("conv2d_NCHWc.x86"));
    }

    void recordsNeverMix() {
        Bench bench;
        bench.tune(bench.theirs, 8);
        QVERIFY(!take(bestConfig(*bench.store, bench.own.key, bench.target)));
        const auto alone = take(bestConfig(*bench.store, bench.theirs.key, bench.target));
        QVERIFY(alone && take(ScheduleSpace::make(bench.theirs, bench.target)).space().validate(alone->config).ok());
        QVERIFY(!take(bestOfSpaces(*bench.store, bench.own, bench.target))); // not known to beat our untuned schedule
        bench.tune(bench.own, 8);
        const auto ours = take(bestConfig(*bench.store, bench.own.key, bench.target));
        QVERIFY(ours && take(ScheduleSpace::make(bench.own, bench.target)).space().validate(ours->config).ok());
        QCOMPARE(take(bestConfig(*bench.store, bench.theirs.key, bench.target))->config, alone->config);
    }

    void theFasterRecordOfAllSpacesIsKnownByItsSpace() {
        Bench bench;
        bench.tune(bench.theirs, 8);
        bench.tune(bench.own, 8);
        const auto ours = take(bestConfig(*bench.store, bench.own.key, bench.target));
        const auto theirs = take(bestConfig(*bench.store, bench.theirs.key, bench.target));
        for (const Workload& asked : {bench.own, bench.theirs}) {
            const auto best = take(bestOfSpaces(*bench.store, asked, bench.target));
            QVERIFY(best);
            QCOMPARE(best->ms, std::min(ours->ms, theirs->ms));
            QCOMPARE(best->space, theirs->ms < ours->ms ? SpaceKind::autotvm : SpaceKind::tunesmith);
            QVERIFY(take(ScheduleSpace::make(inSpace(bench.own, best->space), bench.target)).space().validate(best->config).ok());
        }
        Target other = bench.target;
        other.threads = 5; // both of the nearest thread count, so they compare
        QVERIFY(take(bestOfSpaces(*bench.store, bench.own, other)));
    }

    void transferStaysInItsSpace() {
        Bench bench;
        bench.tune(bench.own, 12);
        const TuneResult first = bench.tune(bench.theirs, 12);
        const TuneResult second = bench.tune(bench.theirs, 2);
        QCOMPARE(*second.afterMs, *first.afterMs); // what the first one found was tried at once
    }

    // Its outermost parts are written in full, as older versions of TVM did.
    void importedRecordsAreTriedFirst() {
        Bench bench;
        autotvm::Record record;
        record.target = "llvm -mcpu=skylake-avx512";
        record.task = autotvmTasks(bench.theirs).at(0);
        record.costs = {1e-5};
        record.entity = {{"tile_ic", "sp", "[4,4]"}, {"tile_oc", "sp", "[16,2]"}, {"tile_ow", "sp", "[2,7]"}, {"unroll_kw", "ot", "true"}};
        autotvm::Record slower = record, foreign = record;
        slower.costs = {2e-5};
        slower.entity[0].value = "[2,8]";
        foreign.costs = {5e-6};
        foreign.task.args.replace(foreign.task.args.find("16"), 2, "17");
        QCOMPARE(take(autotvm::importRecords(*bench.store, {slower, record, foreign}, {"a log", "test"})).imported, 3);
        const TuneResult result = bench.tune(bench.theirs, 4);
        const auto space = take(ScheduleSpace::make(bench.theirs, bench.target));
        TrialFilter filter;
        filter.run = result.run;
        QStringList tried;
        for (const TrialRow& row : take(bench.store->trials(filter)))
            tried << QString::fromStdString(space.space().describe(take(Config::parse(row.config))));
        QCOMPARE(tried.at(1), QString("tile_ic [-1,4], tile_oc [-1,2], tile_ow [-1,7], unroll_kw true")); // behind the untuned one
        bench.tune(bench.own, 4); // our space has no use for them
        record.entity[2].value = "[1,13]";
        record.costs = {1e-6};
        QCOMPARE(take(autotvm::importRecords(*bench.store, {record}, {"a log", "test"})).imported, 1);
        QVERIFY(take(importedGuesses(*bench.store, bench.theirs, space)).empty()); // of no config of this space
    }

    void resumeKeepsItsSpace() {
        Bench whole, parts;
        const TuneResult uninterrupted = whole.tune(whole.theirs, 16);
        StopSource stop;
        int seen = 0;
        const TuneResult begun = parts.tune(
            parts.theirs, 16, true, [&](const TuneEvent& event) { event.kind == TuneEvent::Kind::measured && ++seen == 6 ? stop.requestStop() : void(); },
            stop.token());
        QCOMPARE(begun.reason, StopReason::cancelled);
        TuneOptions now = Bench::optionsFor(parts.own, 1, true); // asks for our own space: a resumed run does not listen
        const TuneResult resumed = take(Tuner(*parts.store).resume(begun.run, now));
        QCOMPARE(resumed.reason, StopReason::budgetTrials);
        QCOMPARE(resumed.workloads.at(0).key, parts.theirs.key);
        QCOMPARE(parts.trail(resumed.run), whole.trail(uninterrupted.run));
        QVERIFY(!take(bestConfig(*parts.store, parts.own.key, parts.target)));
    }
};

QTEST_GUILESS_MAIN(TestAutotvmTuning)
#include "tst_autotvm_tuning.moc"
