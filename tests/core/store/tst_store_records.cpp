// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "tests/core/store/require.h"
#include "tests/core/store/store_samples.h"

using namespace tunesmith;

// Which trial is the record of a workload on a target.
class TestStoreRecords : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::shared_ptr<Store> store_;
    int files_ = 0;

private slots:
    void init() {
        auto store = Store::open(folder_.filePath(QString::number(++files_) + ".db").toStdString());
        REQUIRE_OK(store);
        store_ = store.value();
    }
    void cleanup() { store_.reset(); }

    void recordIsTheFastestTrial() {
        const auto run = samples::beginRun(*store_).value();
        std::optional<double> best;
        TrialId bestId;
        for (int index = 0; index < 60; ++index) {
            const auto trial = samples::trial(run, 0, index);
            const auto id = store_->addTrial(trial).value();
            if (trial.p5Ms && (!best || *trial.p5Ms < *best)) {
                best = trial.p5Ms;
                bestId = id;
            }
            const auto record = store_->bestRecord(samples::key(0), "cpu-avx512-t1");
            REQUIRE_OK(record);
            QVERIFY(record.value());
            QVERIFY(record.value()->trial.id == bestId);
            QCOMPARE(*record.value()->trial.p5Ms, *best);
        }
        const auto record = store_->bestRecord(samples::key(0), "cpu-avx512-t1", "m1").value();
        QCOMPARE(record->workload.graph, samples::workload(0).graph);
        QCOMPARE(record->machineKey, std::string("m1"));
        auto equal = samples::trial(run, 0, 60);
        equal.p5Ms = best;
        REQUIRE_OK(store_->addTrial(equal));
        QVERIFY(store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.id ==
                bestId); // the oldest of equals
        QVERIFY(!store_->bestRecord(samples::key(1), "cpu-avx512-t1").value());
        QVERIFY(!store_->bestRecord(samples::key(0), "cuda").value());
        QVERIFY(!store_->bestRecord(samples::key(0), "cpu-avx512-t1", "other").value());
        REQUIRE_OK(store_->addTrial(samples::trial(run, 2, 0)));
        QCOMPARE(store_->bestRecords("cpu-avx512-t1").value().size(), std::size_t(2));
        REQUIRE_CLEAN(*store_);
    }

    void finalsSupersedeWhatIsOlder() {
        const auto early = samples::beginRun(*store_).value(), late = samples::beginRun(*store_).value();
        const auto best = [&] { return *store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.p5Ms; };
        const auto add = [&](RunId run, int index, double ms, bool isFinal) {
            auto trial = samples::trial(run, 0, index);
            trial.status = kTrialOk;
            trial.samples = {static_cast<float>(ms)};
            trial.p5Ms = ms;
            trial.isFinal = isFinal;
            return store_->addTrial(trial).value();
        };
        add(early, 0, 1.0, false);
        const TrialId chosen = add(early, 1, 1.5, true);
        QCOMPARE(best(), 1.5); // the 1.0 was luck
        QVERIFY(store_->trial(chosen).value().isFinal);
        add(late, 0, 1.6, false);
        QCOMPARE(best(), 1.5);
        add(late, 1, 1.4, false);
        QCOMPARE(best(), 1.4);
        REQUIRE_CLEAN(*store_);
        add(late, 2, 2.0, true);
        QCOMPARE(best(), 2.0);
        REQUIRE_CLEAN(*store_);
        REQUIRE_OK(store_->endRun(late, {RunState::stopped, "user", {}, {}}));
        REQUIRE_OK(store_->removeRun(late));
        QCOMPARE(best(), 1.5);
        REQUIRE_CLEAN(*store_);
        auto failed = samples::trial(early, 0, 2);
        failed.status = "crash";
        failed.p5Ms.reset();
        failed.isFinal = true;
        QVERIFY(!store_->addTrial(failed).ok());
    }

    // A comparison after the end of the run.
    void verdictsComeLast() {
        const auto run = samples::beginRun(*store_).value();
        auto trial = samples::trial(run, 0, 0);
        trial.status = kTrialOk;
        trial.samples = {1.0f};
        trial.p5Ms = 1.0;
        trial.batch = 3;
        REQUIRE_OK(store_->addTrial(trial));
        QVERIFY(!store_->addVerdict(trial).ok()); // not final
        REQUIRE_OK(store_->endRun(run, {RunState::completed, "budget_trials", {}, {}}));
        trial.p5Ms = 2.0;
        trial.isFinal = true;
        trial.batch = 0;
        QVERIFY(!store_->addTrial(trial).ok());
        const auto verdict = store_->addVerdict(trial);
        REQUIRE_OK(verdict);
        QCOMPARE(store_->trial(verdict.value()).value().index, std::int64_t(1));
        QCOMPARE(store_->trial(verdict.value()).value().batch, std::int64_t(3));
        QCOMPARE(*store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.p5Ms, 2.0);
        REQUIRE_CLEAN(*store_);
        trial.workload = "nobody's";
        QVERIFY(!store_->addVerdict(trial).ok());
    }

    void recordsAreKeptPerMachine() {
        const auto slow = samples::beginRun(*store_).value();
        const auto machine = store_->addMachine({{}, "m2", "Other", "avx512", 2, "{}"}).value();
        RunRow other;
        other.target = store_->addTarget({{}, "cpu-avx512-t1", machine}).value();
        const auto fast = store_->beginRun(other, samples::plan()).value();
        auto trial = samples::trial(slow, 0, 0);
        trial.p5Ms = 2.0;
        REQUIRE_OK(store_->addTrial(trial));
        trial.run = fast;
        trial.p5Ms = 1.0;
        REQUIRE_OK(store_->addTrial(trial));
        QCOMPARE(*store_->bestRecord(samples::key(0), "cpu-avx512-t1", "m1").value()->trial.p5Ms, 2.0);
        QCOMPARE(*store_->bestRecord(samples::key(0), "cpu-avx512-t1", "m2").value()->trial.p5Ms, 1.0);
        QCOMPARE(store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->machineKey, std::string("m2"));
        const auto all = store_->bestRecords("cpu-avx512-t1").value();
        QCOMPARE(all.size(), std::size_t(1));
        QCOMPARE(all[0].machineKey, std::string("m2"));
        QCOMPARE(store_->bestRecords("cpu-avx512-t1", "m1").value().at(0).machineKey, std::string("m1"));
        const auto none = store_->beginRun({}, samples::plan()).value(); // a run without target makes no record
        trial.run = none;
        trial.p5Ms = 0.5;
        REQUIRE_OK(store_->addTrial(trial));
        QCOMPARE(*store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.p5Ms, 1.0);
        REQUIRE_CLEAN(*store_);
    }

    void whatIsNoTimeIsNoRecord_data() {
        QTest::addColumn<double>("ms");
        for (const double ms : {0.0, -1.0, 1e-40, 1e300})
            QTest::newRow(qPrintable(QString::number(ms))) << ms;
    }
    void whatIsNoTimeIsNoRecord() {
        QFETCH(double, ms);
        auto trial = samples::trial(samples::beginRun(*store_).value(), 0, 0);
        trial.p5Ms = ms;
        REQUIRE_OK(store_->addTrial(trial));
        QVERIFY(!store_->bestRecord(samples::key(0), "cpu-avx512-t1").value());
    }

    void removingARunGivesTheRecordBack() {
        const auto first = samples::beginRun(*store_).value();
        const auto second = samples::beginRun(*store_).value();
        for (int number = 0; number < 2; ++number)
            for (const auto run : {first, second}) {
                auto trial = samples::trial(run, number, 0);
                trial.p5Ms = (run == first ? 3.0 : 2.0) + number;
                REQUIRE_OK(store_->addTrial(trial));
            }
        QCOMPARE(*store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.p5Ms, 2.0);
        QVERIFY(!store_->removeRun(second).ok()); // it is running
        REQUIRE_OK(store_->endRun(second, {RunState::stopped, "user", {}, {}}));
        REQUIRE_OK(store_->removeRun(second));
        QCOMPARE(*store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.p5Ms, 3.0);
        QCOMPARE(*store_->bestRecord(samples::key(1), "cpu-avx512-t1").value()->trial.p5Ms, 4.0);
        QCOMPARE(store_->stats().value().trials, std::int64_t(2));
        REQUIRE_CLEAN(*store_);
        REQUIRE_OK(store_->endRun(first, {RunState::failed, "no reason", {}, {}}));
        REQUIRE_OK(store_->removeRun(first));
        QVERIFY(!store_->bestRecord(samples::key(0), "cpu-avx512-t1").value());
        QVERIFY(!store_->removeRun(first).ok());
        QVERIFY(samples::beginRun(*store_).value().value() >
                second.value()); // numbers of runs are never used again
        REQUIRE_CLEAN(*store_);
    }

    void curvesFollowFinals() {
        const auto run = samples::beginRun(*store_).value();
        const std::pair<double, bool> times[] = {{2.0, false}, {1.0, false}, {1.5, true}, {1.7, false}};
        for (int index = 0; index < 4; ++index) {
            auto trial = samples::trial(run, 0, index);
            trial.status = kTrialOk;
            trial.samples = {1.0f};
            trial.p5Ms = times[index].first;
            trial.isFinal = times[index].second;
            trial.objectives = {{"time", *trial.p5Ms, "ms"}, {"untuned time", 1.9, "ms"}};
            REQUIRE_OK(store_->addTrial(trial));
        }
        const auto curve = store_->curve(run, samples::key(0)).value();
        QCOMPARE(curve.size(), std::size_t(4));
        for (const auto& [point, best] : {std::pair(0, 2.0), std::pair(1, 1.0), std::pair(2, 1.5), std::pair(3, 1.5)})
            QCOMPARE(*curve[static_cast<std::size_t>(point)].bestMs, best);
        QVERIFY(curve[2].isFinal && curve[2].objectives.size() == 2 && curve[1].objectives.empty());
        QCOMPARE(curve[2].objectives[1].value, 1.9);
    }
};

QTEST_GUILESS_MAIN(TestStoreRecords)
#include "tst_store_records.moc"
