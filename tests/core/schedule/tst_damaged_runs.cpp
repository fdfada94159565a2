// SPDX-License-Identifier: GPL-3.0-or-later
#include "tuner_testing.h"

#include <nlohmann/json.hpp>

#include "core/schedule/stored_rows.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// Runs whose rows are not what the tuner writes: a store may come from anybody.
struct Damaged : Bench {
    Workload workload = convWorkload(target);
    TuneOptions tuning = options(12, fakeWorkers());
    RunId whole = take(Tuner(*store).run({{workload, 1}}, target, tuning)).run;

    // The run anew, with other starting points and with the trials given.
    RunId copy(const std::string& starts, const std::vector<TrialRow>& trials, const std::string& strategy = "model-guided") const {
        RunRow row = take(store->run(whole));
        auto json = nlohmann::json::parse(row.options);
        if (!starts.empty())
            json["starts"][workload.key] = nlohmann::json::parse(starts);
        row.options = json.dump();
        row.strategy = strategy;
        std::vector<RunWorkloadRow> plan;
        for (const auto& summary : take(store->runWorkloads(whole)))
            plan.push_back(summary.plan);
        const RunId made = take(store->beginRun(row, plan));
        for (TrialRow trial : trials) {
            trial.run = made;
            take(store->addTrial(trial));
        }
        return made;
    }
    TrialRow trial(const std::string& config, std::int64_t index) const {
        TrialRow row;
        row.workload = workload.key;
        row.config = config;
        row.index = index;
        row.status = "ok";
        row.objectives = {{"time", 1e-6, "ms"}};
        row.p5Ms = 1e-6;
        row.samples = {1e-6f};
        return row;
    }
};

} // namespace

class TestDamagedRuns : public QObject {
    Q_OBJECT

    // One tuning for all rows that end before theirs begins.
    static const Damaged& damaged() {
        static const Damaged bench;
        return bench;
    }

private slots:
    void startsOfAnotherSpaceAreRefused_data() {
        QTest::addColumn<QString>("starts");
        for (const char* starts : {R"(["100000000,100000000,100000000,100000000"])", R"([""])", R"(["-1,-1,-1,-1"])", R"(["3"])", R"(["zzz"])", R"(["9,9,9,9,9,9,9,9,9"])", "[3]", "7"})
            QTest::newRow(starts) << starts;
    }
    void startsOfAnotherSpaceAreRefused() {
        QFETCH(QString, starts);
        const Damaged bench;
        const RunId run = bench.copy(starts.toStdString(), {});
        const auto resumed = Tuner(*bench.store).resume(run, bench.tuning);
        QVERIFY(!resumed.ok());
        const std::string& said = resumed.error().message;
        QVERIFY2(said.find("run " + std::to_string(run.value())) != std::string::npos && said.find("start a new run") != std::string::npos, said.c_str());
    }
    void optionsThatTuneNothingAreRefused_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("value");
        for (const char* name : {"batch", "trials_per_workload", "trials"})
            for (const char* value : {"0", "-1", "1000000000000000", "18446744073709551615", "3e74", "\"8\"", "null"})
                QTest::addRow("%s %s", name, value) << name << value;
    }
    void optionsThatTuneNothingAreRefused() {
        QFETCH(QString, name);
        QFETCH(QString, value);
        const Damaged& bench = damaged();
        RunRow row = take(bench.store->run(bench.whole));
        auto json = nlohmann::json::parse(row.options);
        json[name.toStdString()] = nlohmann::json::parse(value.toStdString());
        row.options = json.dump();
        std::vector<RunWorkloadRow> plan{take(bench.store->runWorkloads(bench.whole)).front().plan};
        const RunId run = take(bench.store->beginRun(row, plan));
        const auto resumed = Tuner(*bench.store).resume(run, bench.tuning);
        QVERIFY(!resumed.ok());
        QVERIFY2(resumed.error().message.find("start a new run") != std::string::npos, resumed.error().message.c_str());
    }
    void budgetsWithoutEndAreRefused() {
        const Damaged& bench = damaged();
        RunWorkloadRow plan = take(bench.store->runWorkloads(bench.whole)).front().plan;
        plan.budget = std::numeric_limits<std::int64_t>::max();
        const RunId run = take(bench.store->beginRun(take(bench.store->run(bench.whole)), {plan}));
        QVERIFY(!Tuner(*bench.store).resume(run, bench.tuning).ok());
    }
    void workloadsThatAreNoneAreRefused() {
        const Damaged& bench = damaged();
        WorkloadRow row = rowOf(bench.workload, bench.workload.serialize());
        row.key = "0123456789abcdef";
        std::string graph(row.graph.begin(), row.graph.end());
        const std::string layout = "[[0,1,0]"; // the first axis of the first operand
        graph.replace(graph.find(layout), layout.size(), "[[0,0,0]");
        row.graph.assign(graph.begin(), graph.end());
        take(bench.store->addWorkload(row));
        RunWorkloadRow plan = take(bench.store->runWorkloads(bench.whole)).front().plan;
        plan.workload = row.key;
        const RunId run = take(bench.store->beginRun(take(bench.store->run(bench.whole)), {plan}));
        const auto resumed = Tuner(*bench.store).resume(run, bench.tuning);
        QVERIFY(!resumed.ok());
        QVERIFY2(resumed.error().message.find("damaged") != std::string::npos, resumed.error().message.c_str());
    }
    void longConfigsAreShortened() {
        const Damaged bench;
        const RunId run = bench.copy("[\"" + std::string(1 << 20, 'z') + "\"]", {});
        QVERIFY(Tuner(*bench.store).resume(run, bench.tuning).error().message.size() < 500);
    }
    void trialsOfAnotherSpaceAreLeftOut_data() {
        QTest::addColumn<QString>("strategy");
        for (const char* strategy : {"model-guided", "random", "grid", "annealing", "genetic", "bandit", "coordinate"})
            QTest::newRow(strategy) << strategy;
    }
    void trialsOfAnotherSpaceAreLeftOut() {
        QFETCH(QString, strategy);
        const Damaged bench;
        std::vector<TrialRow> trials;
        for (const char* config : {"3", "", "zzz", "-1,-1,-1,-1", "100000000,100000000,100000000,100000000"})
            trials.push_back(bench.trial(config, static_cast<std::int64_t>(trials.size())));
        TrialRow noTime = bench.trial(take(bench.store->trials({.run = bench.whole})).front().config, 5);
        noTime.objectives.clear();
        trials.push_back(noTime);
        noTime.index = 6;
        noTime.objectives = {{"time", std::numeric_limits<double>::quiet_NaN(), "ms"}};
        trials.push_back(noTime);
        TrialRow last = bench.trial("3", 7);
        last.isFinal = true;
        trials.push_back(last);
        const RunId run = bench.copy({}, trials, strategy.toStdString());
        const TuneResult resumed = take(Tuner(*bench.store).resume(run, bench.tuning));
        QCOMPARE(resumed.reason, StopReason::budgetTrials);
        QCOMPARE(resumed.failed, std::size_t(0));
        QVERIFY(*resumed.afterMs > 1e-5); // none of theirs
        QVERIFY(resumed.workloads[0].best != "3");
    }
    void recordsOfAnotherSpaceAreLeftOut() {
        Damaged bench;
        bench.copy({}, {bench.trial("zzz", 0), bench.trial("3", 1)});
        const TuneResult fresh = take(Tuner(*bench.store).run({{bench.workload, 1}}, bench.target, bench.tuning));
        QCOMPARE(fresh.reason, StopReason::budgetTrials);
    }
};

QTEST_GUILESS_MAIN(TestDamagedRuns)
#include "tst_damaged_runs.moc"
