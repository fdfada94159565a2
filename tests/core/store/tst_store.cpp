// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/core/store/require.h"
#include "tests/core/store/store_samples.h"

using namespace tunesmith;

class TestStore : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::shared_ptr<Store> store_;
    std::string path_;
    int files_ = 0;

private slots:
    void init() {
        path_ = folder_.filePath(QString::number(++files_) + ".db").toStdString();
        auto store = Store::open(path_);
        REQUIRE_OK(store);
        store_ = store.value();
    }
    void cleanup() { store_.reset(); }

    void thingsComeBackAsTheyWere();
    void addingAgainGivesTheSameId();
    void trialsComeBackAsTheyWere();
    void refusesTrialsThatBreakTheRules_data();
    void refusesTrialsThatBreakTheRules();
    void manyTrialsAtOnce();
    void runsEndAndResume();
    void batchClosesWithItsState();
    void curveFalls();
    void summariesCount();
    void checkFindsGaps();
    void garbageGoes();
    void readsWhileWriting();
    void manyThreadsWrite();
    void manyOpenANewOne();
};

// Whoever comes while another one makes the tables waits for them.
void TestStore::manyOpenANewOne() {
    for (int round = 0; round < 10; ++round) {
        const std::string path = folder_.filePath(QString("new%1.db").arg(round)).toStdString();
        std::array<std::string, 6> errors;
        {
            std::vector<std::jthread> threads;
            for (std::string& error : errors)
                threads.emplace_back([&path, &error] {
                    const auto store = Store::open(path);
                    error = store.ok() ? std::string() : store.error().message;
                });
        }
        for (const std::string& error : errors)
            QVERIFY2(error.empty(), error.c_str());
    }
}

void TestStore::thingsComeBackAsTheyWere() {
    const auto run = samples::beginRun(*store_);
    REQUIRE_OK(run);
    const auto machines = store_->machines();
    REQUIRE_OK(machines);
    QCOMPARE(machines.value().size(), std::size_t(1));
    QCOMPARE(machines.value()[0].ceilings, std::string(R"({"fma":[100.5,199]})"));
    const auto found = store_->workload(samples::key(1));
    REQUIRE_OK(found);
    QVERIFY(found.value());
    QCOMPARE(found.value()->graph, samples::workload(1).graph);
    QCOMPARE(found.value()->flops, 2.3e8);
    QVERIFY(!store_->workload("0123456789abcdef").value());

    const auto row = store_->run(run.value());
    REQUIRE_OK(row);
    QCOMPARE(row.value().seed, std::uint64_t(0xfedcba9876543210ull));
    QCOMPARE(row.value().options, std::string(R"({"batch":8})"));
    QCOMPARE(row.value().modelName, std::string("resnet18"));
    QCOMPARE(row.value().targetKey, std::string("cpu-avx512-t1"));
    QVERIFY(row.value().state == RunState::running);
    QVERIFY(!row.value().interrupted);
    QVERIFY(row.value().startedAt > 1'600'000'000'000);
    const auto plan = store_->runWorkloads(run.value());
    REQUIRE_OK(plan);
    QCOMPARE(plan.value().size(), std::size_t(3));
    QCOMPARE(plan.value()[2].plan.occurrences, 3);
    QCOMPARE(plan.value()[2].plan.spaceSize, 1e30 + 2);
    QVERIFY(!store_->run(RunId(99)).ok());
    REQUIRE_CLEAN(*store_);
}

void TestStore::addingAgainGivesTheSameId() {
    const auto machine = store_->addMachine({{}, "m", "cpu", "avx2", 4, "{}"});
    REQUIRE_OK(machine);
    const auto again = store_->addMachine({{}, "m", "cpu", "avx2", 4, R"({"fma":1})"});
    REQUIRE_OK(again);
    QVERIFY(machine.value() == again.value());
    QCOMPARE(store_->machines().value()[0].ceilings, std::string(R"({"fma":1})"));
    QVERIFY(store_->addTarget({{}, "t", machine.value()}).value() ==
            store_->addTarget({{}, "t", machine.value()}).value());
    const auto model = store_->addModel({{}, "a", "p", hexHash(1)}).value();
    QVERIFY(store_->addModel({{}, "b", "p", hexHash(1)}).value() == model);
    QCOMPARE(store_->models().value()[0].name, std::string("b"));
    QVERIFY(!store_->addModel({{}, "a", "p", "short"}).ok());
    QVERIFY(!store_->addTarget({{}, "t", MachineId(77)}).ok());
    QVERIFY(!store_->addMachine({{}, "n", "cpu", "avx2", 4, "no json"}).ok());
    QVERIFY(!store_->beginRun({}, {{samples::key(0), 1, "s", 1, 1}}).ok()); // unknown workload
    QVERIFY(store_->runs().value().empty());
}

void TestStore::trialsComeBackAsTheyWere() {
    const auto run = samples::beginRun(*store_).value();
    auto trial = samples::trial(run, 0, 0);
    trial.effective = "tile=[4, 2]";
    trial.objectives.push_back({"caf\xc3\xa9 \"x\"", -0.1, ""});
    trial.objectives.push_back({"lost", std::numeric_limits<double>::quiet_NaN(), "ms"});
    trial.samples = {1.5f, 1e-30f, std::numeric_limits<float>::infinity(), -0.0f};
    trial.measuredAt = 1'700'000'000'123;
    const auto id = store_->addTrial(trial);
    REQUIRE_OK(id);
    const auto back = store_->trial(id.value());
    REQUIRE_OK(back);
    const TrialRow& row = back.value();
    QVERIFY(row.run == run && row.id == id.value());
    QCOMPARE(row.workload, trial.workload);
    QCOMPARE(row.config, trial.config);
    QCOMPARE(row.configHash, trial.configHash);
    QVERIFY(row.effective == trial.effective);
    QVERIFY(row.predicted == trial.predicted);
    QVERIFY(row.p5Ms == trial.p5Ms);
    QCOMPARE(row.samples, trial.samples);
    QVERIFY(std::signbit(row.samples[3]));
    QCOMPARE(row.objectives.size(), std::size_t(4));
    QVERIFY(row.objectives[2] == trial.objectives[2]);
    QVERIFY(std::isnan(row.objectives[3].value));
    QCOMPARE(row.measuredAt, trial.measuredAt);
    QCOMPARE(row.featureVersion, 3);

    auto failed = samples::trial(run, 0, 4);
    failed.predicted = std::numeric_limits<double>::infinity();
    failed.detail = std::string("error: \xff\0 'quoted'", 18);
    const auto failedId = store_->addTrial(failed);
    REQUIRE_OK(failedId);
    const auto failedBack = store_->trial(failedId.value()).value();
    QCOMPARE(failedBack.status, std::string("run_timeout"));
    QCOMPARE(failedBack.detail, failed.detail);
    QVERIFY(!failedBack.p5Ms && !failedBack.predicted && !failedBack.effective && failedBack.samples.empty());
    QVERIFY(!store_->trial(TrialId(999)).ok());
}

void TestStore::refusesTrialsThatBreakTheRules_data() {
    QTest::addColumn<QString>("what");
    for (const char* what :
         {"ok without time", "failed with time", "time is NaN", "ok without samples", "negative index",
          "no status", "unknown workload", "unknown run", "same index again"})
        QTest::newRow(what) << what;
}

void TestStore::refusesTrialsThatBreakTheRules() {
    QFETCH(QString, what);
    const auto run = samples::beginRun(*store_).value();
    REQUIRE_OK(store_->addTrial(samples::trial(run, 0, 0)));
    auto trial = samples::trial(run, 0, 1);
    if (what == "ok without time")
        trial.p5Ms.reset();
    if (what == "failed with time")
        trial.status = "crash";
    if (what == "time is NaN")
        trial.p5Ms = std::numeric_limits<double>::quiet_NaN();
    if (what == "ok without samples")
        trial.samples.clear();
    if (what == "negative index")
        trial.index = -1;
    if (what == "no status")
        trial.status.clear();
    if (what == "unknown workload")
        trial.workload = hexHash(12345);
    if (what == "unknown run")
        trial.run = RunId(55);
    if (what == "same index again")
        trial.index = 0;
    const auto added = store_->addTrial(trial);
    QVERIFY(!added.ok());
    QVERIFY(!added.error().message.empty());
    QCOMPARE(store_->stats().value().trials, std::int64_t(1));
    REQUIRE_OK(store_->addTrial(samples::trial(run, 0, 1))); // the store works on
    REQUIRE_CLEAN(*store_);
}

void TestStore::manyTrialsAtOnce() {
    const auto run = samples::beginRun(*store_);
    REQUIRE_OK(run);
    std::vector<TrialRow> trials;
    for (int index = 0; index < 12; ++index)
        trials.push_back(samples::trial(run.value(), index % 2, index / 2));
    QVERIFY(store_->addTrials(trials).ok());
    QVERIFY(store_->addTrials({}).ok());
    const auto stored = store_->trials({.run = run.value()});
    REQUIRE_OK(stored);
    QCOMPARE(stored.value().size(), trials.size());
    double best = 1e9;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        QCOMPARE(stored.value()[i].config, trials[i].config);
        QCOMPARE(stored.value()[i].workload, trials[i].workload);
        if (trials[i].p5Ms && trials[i].workload == samples::key(0))
            best = std::min(best, *trials[i].p5Ms);
    }
    QCOMPARE(store_->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.p5Ms.value(), best);
    // one of them is there already, or breaks a rule: none is added
    const std::vector<TrialRow> repeated{samples::trial(run.value(), 2, 0), trials[3]};
    QVERIFY(!store_->addTrials(repeated).ok());
    TrialRow wrong = samples::trial(run.value(), 2, 1);
    wrong.p5Ms.reset();
    QVERIFY(!store_->addTrials({samples::trial(run.value(), 2, 0), wrong}).ok());
    QCOMPARE(store_->trials({.run = run.value()}).value().size(), trials.size());
    QVERIFY(store_->check().value().ok);
}

void TestStore::runsEndAndResume() {
    const auto run = samples::beginRun(*store_).value();
    REQUIRE_OK(store_->setRunLatency(run, 9.0, std::nullopt));
    REQUIRE_OK(store_->endRun(run, {RunState::stopped, "user", std::nullopt, 4.0}));
    auto row = store_->run(run).value();
    QVERIFY(row.state == RunState::stopped && row.endedAt && *row.endedAt >= row.startedAt);
    QCOMPARE(row.stopReason, std::string("user"));
    QCOMPARE(*row.beforeMs, 9.0);
    QCOMPARE(*row.afterMs, 4.0);
    QVERIFY(!store_->addTrial(samples::trial(run, 0, 0)).ok()); // it is over
    QVERIFY(!store_->endRun(run, {RunState::completed, "", {}, {}}).ok());
    REQUIRE_OK(store_->resumeRun(run));
    row = store_->run(run).value();
    QVERIFY(row.state == RunState::running && !row.endedAt && row.stopReason.empty());
    REQUIRE_OK(store_->addTrial(samples::trial(run, 0, 0)));
    QVERIFY(!store_->endRun(run, {RunState::running, "", {}, {}}).ok());
    QVERIFY(!store_->resumeRun(RunId(42)).ok());

    // One process, two windows.
    auto other = Store::open(store_->path());
    REQUIRE_OK(other);
    const auto refused = other.value()->resumeRun(run);
    QVERIFY(!refused.ok());
    QVERIFY2(refused.error().message.find("elsewhere in this program") != std::string::npos, refused.error().message.c_str());
    REQUIRE_OK(store_->endRun(run, {RunState::stopped, "cancelled", {}, {}}));
    REQUIRE_OK(other.value()->resumeRun(run));
    QVERIFY(!store_->resumeRun(run).ok());
    other = inputError("closed");
    REQUIRE_OK(store_->resumeRun(run));
    QVERIFY(!store_->setRunLatency(RunId(42), 1.0, 1.0).ok());
    REQUIRE_CLEAN(*store_);
}

void TestStore::batchClosesWithItsState() {
    const auto run = samples::beginRun(*store_).value();
    QVERIFY(!store_->runState(run, samples::key(0)).value());
    QCOMPARE(store_->runState(run, "").value()->state, std::string("{}"));
    for (int index = 0; index < 16; ++index) {
        const RunStateRow state{run, samples::key(0), index / 8, index + 1,
                                "{\"n\":" + std::to_string(index) + "}"};
        REQUIRE_OK(store_->addTrial(samples::trial(run, 0, index), index % 8 == 7 ? &state : nullptr));
    }
    const auto state = store_->runState(run, samples::key(0)).value();
    QVERIFY(state);
    QCOMPARE(state->nextIndex, std::int64_t(16));
    QCOMPARE(state->state, std::string("{\"n\":15}"));
    REQUIRE_OK(store_->saveRunState({run, "", 0, 0, R"({"queue":[1]})"}));
    QCOMPARE(store_->runState(run, "").value()->state, std::string(R"({"queue":[1]})"));

    const RunStateRow broken{run, samples::key(0), 2, 17, "no json"};
    QVERIFY(!store_->addTrial(samples::trial(run, 0, 16), &broken).ok());
    QCOMPARE(store_->stats().value().trials, std::int64_t(16)); // the trial went with its state
    REQUIRE_CLEAN(*store_);
    REQUIRE_OK(store_->saveRunState({run, samples::key(0), 3, 20, "{}"})); // accounts for more than there is
    QVERIFY(!store_->check().value().ok);
}

void TestStore::curveFalls() {
    const auto run = samples::beginRun(*store_).value();
    for (const int index : {3, 0, 1, 4, 2}) // builds end in any order
        REQUIRE_OK(store_->addTrial(samples::trial(run, 0, index)));
    const auto curve = store_->curve(run, samples::key(0));
    REQUIRE_OK(curve);
    QCOMPARE(curve.value().size(), std::size_t(5));
    double best = 1e300;
    for (std::size_t index = 0; index < 5; ++index) {
        const auto& point = curve.value()[index];
        QCOMPARE(point.index, std::int64_t(index));
        best = std::min(best, point.p5Ms.value_or(1e300));
        QCOMPARE(*point.bestMs, best);
        QVERIFY(point.predicted);
    }
    QVERIFY(!curve.value()[4].p5Ms);
    QCOMPARE(curve.value()[4].status, std::string("run_timeout"));
    QVERIFY(store_->curve(run, samples::key(1)).value().empty());
}

void TestStore::summariesCount() {
    const auto run = samples::beginRun(*store_).value();
    for (int index = 0; index < 10; ++index)
        REQUIRE_OK(store_->addTrial(samples::trial(run, 1, index)));
    const auto summaries = store_->runWorkloads(run).value();
    QCOMPARE(summaries[0].trials, std::int64_t(0));
    QVERIFY(!summaries[0].bestMs && !summaries[0].best);
    QCOMPARE(summaries[1].trials, std::int64_t(10));
    QCOMPARE(summaries[1].failed, std::int64_t(2));
    const auto record = store_->bestRecord(samples::key(1), "cpu-avx512-t1").value();
    QCOMPARE(*summaries[1].bestMs, *record->trial.p5Ms);
    QVERIFY(*summaries[1].best == record->trial.id);
    const auto stats = store_->stats().value();
    QCOMPARE(stats.trials, std::int64_t(10));
    QCOMPARE(stats.records, std::int64_t(1));
    QCOMPARE(stats.workloads, std::int64_t(3));
    QCOMPARE(stats.trialsByStatus.size(), std::size_t(2));
    QVERIFY(stats.fileBytes > 0);
    TrialFilter again;
    again.workload = samples::key(1);
    again.configHash = samples::trial(run, 1, 6).configHash;
    QCOMPARE(store_->trials(again).value().size(), std::size_t(1));
    again.configHash = 1;
    QVERIFY(store_->trials(again).value().empty());
    again.workload.clear();
    QVERIFY(!store_->trials(again).ok());
    QVERIFY(!store_->trials({.limit = 0}).ok());
    QVERIFY(!store_->trials({.order = TrialOrder::fastestFirst}).ok());
}

void TestStore::checkFindsGaps() {
    const auto run = samples::beginRun(*store_).value();
    for (const int index : {0, 2})
        REQUIRE_OK(store_->addTrial(samples::trial(run, 0, index)));
    REQUIRE_CLEAN(*store_); // an open batch may have gaps
    REQUIRE_OK(store_->endRun(run, {RunState::completed, "budget", {}, {}}));
    const auto check = store_->check().value();
    QVERIFY(!check.ok);
    QCOMPARE(check.problems.size(), std::size_t(1));
    QVERIFY(check.problems[0].find("lacks 1 trials") != std::string::npos);
    REQUIRE_OK(store_->resumeRun(run));
    auto late = samples::trial(run, 0, 1);
    late.batch = 7; // later than that of the trial after it
    REQUIRE_OK(store_->addTrial(late));
    const auto again = store_->check().value();
    QVERIFY(!again.ok && again.problems[0].find("earlier batch") != std::string::npos);
}

void TestStore::garbageGoes() {
    const auto keep = samples::beginRun(*store_).value();
    REQUIRE_OK(store_->addTrial(samples::trial(keep, 0, 0)));
    REQUIRE_OK(store_->addWorkload(samples::workload(17)));
    REQUIRE_OK(store_->addModel({{}, "unused", "x.onnx", hexHash(9)}));
    const auto machine = store_->addMachine({{}, "gone", "cpu", "sse", 1, "{}"}).value();
    REQUIRE_OK(store_->addTarget({{}, "cpu-sse-t1", machine}));
    const auto big = samples::beginRun(*store_).value();
    for (int index = 0; index < 300; ++index) {
        auto trial = samples::trial(big, 0, index);
        trial.samples.assign(trial.ok() ? 500 : 0, 1.0f);
        REQUIRE_OK(store_->addTrial(trial));
    }
    REQUIRE_OK(store_->endRun(big, {RunState::stopped, "user", {}, {}}));
    REQUIRE_OK(store_->gc()); // everything into the file
    REQUIRE_OK(store_->addModel({{}, "unused", "x.onnx", hexHash(9)}));
    REQUIRE_OK(store_->removeRun(big));
    const auto gone = store_->gc();
    REQUIRE_OK(gone);
    QCOMPARE(gone.value().models, std::int64_t(1));
    QVERIFY(gone.value().bytesFreed > 400'000);
    const auto stats = store_->stats().value();
    QCOMPARE(stats.machines, std::int64_t(1));
    QCOMPARE(stats.targets, std::int64_t(1));
    QCOMPARE(stats.workloads, std::int64_t(3));
    QCOMPARE(stats.freeBytes, std::int64_t(0));
    QVERIFY(store_->bestRecord(samples::key(0), "cpu-avx512-t1").value());
    REQUIRE_CLEAN(*store_);
}

// Readers of this process and through a second, read-only store see only whole states while the writer works.
void TestStore::readsWhileWriting() {
    const auto run = samples::beginRun(*store_).value();
    const auto other = Store::open(path_, StoreMode::readOnly);
    REQUIRE_OK(other);
    QVERIFY(!other.value()->addWorkload(samples::workload(9)).ok());
    QVERIFY(!other.value()->gc().ok());
    std::atomic<bool> done = false;
    std::atomic<int> bad = 0;
    std::atomic<std::int64_t> reported = 0;
    const auto read = [&](const Store& store) {
        while (!done) {
            const auto before = reported.load();
            const auto curve = store.curve(run, samples::key(0));
            const auto best = store.bestRecord(samples::key(0), "cpu-avx512-t1");
            bad += !curve.ok() || !best.ok() || std::int64_t(curve.value().size()) < before;
            bad += best.ok() && before > 0 && (!best.value() || best.value()->trial.samples.size() != 20);
        }
    };
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 4; ++reader)
        readers.emplace_back(read, std::cref(reader % 2 ? *store_ : *other.value()));
    bool written = true;
    for (int index = 0; index < 200; ++index) {
        written = store_->addTrial(samples::trial(run, 0, index)).ok() && written;
        reported = index + 1;
    }
    done = true;
    for (auto& reader : readers)
        reader.join();
    QVERIFY(written);
    QCOMPARE(bad.load(), 0);
    REQUIRE_CLEAN(*other.value());
}

void TestStore::manyThreadsWrite() {
    const auto run = samples::beginRun(*store_).value();
    std::atomic<int> failed = 0;
    std::vector<std::thread> writers;
    for (int number = 0; number < 3; ++number)
        writers.emplace_back([&, number] {
            for (int index = 0; index < 50; ++index)
                failed += !store_->addTrial(samples::trial(run, number, index)).ok();
        });
    for (auto& writer : writers)
        writer.join();
    QCOMPARE(failed.load(), 0);
    QCOMPARE(store_->stats().value().trials, std::int64_t(150));
    REQUIRE_OK(store_->endRun(run, {RunState::completed, "budget", {}, {}}));
    REQUIRE_CLEAN(*store_);
}

QTEST_GUILESS_MAIN(TestStore)
#include "tst_store.moc"
