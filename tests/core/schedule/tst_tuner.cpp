// SPDX-License-Identifier: GPL-3.0-or-later
#include "tuner_testing.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/schedule/records.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

std::vector<TrialRow> trialsOf(const Store& store, RunId run, const std::string& workload = {}) {
    TrialFilter filter;
    filter.run = run;
    filter.workload = workload;
    auto rows = take(store.trials(filter));
    std::ranges::sort(rows, {}, [](const TrialRow& row) { return std::pair(row.workload, row.index); });
    return rows;
}

TuneResult interruptedAfter(int trials, const Bench& bench, const std::vector<TuneTask>& tasks, const TuneOptions& tuning) {
    StopSource stop;
    int seen = 0;
    Tuner tuner(*bench.store, [&](const TuneEvent& event) {
        if (event.kind == TuneEvent::Kind::measured && ++seen == trials)
            stop.requestStop();
    });
    return take(tuner.run(tasks, bench.target, tuning, stop.token()));
}

// What must be the same in an interrupted and an uninterrupted run.
QStringList trail(const Store& store, RunId run) {
    QStringList out;
    for (const TrialRow& row : trialsOf(store, run))
        out << QString("%1 %2 %3 %4 %5 %6")
                   .arg(QString::fromStdString(row.workload))
                   .arg(row.index)
                   .arg(row.batch)
                   .arg(QString::fromStdString(row.config))
                   .arg(row.p5Ms.value_or(0), 0, 'g', 9)
                   .arg(row.predicted.value_or(-9), 0, 'g', 6);
    return out;
}

} // namespace

class TestTuner : public QObject {
    Q_OBJECT

private slots:
    void tunesAConvolution_data() {
        QTest::addColumn<QString>("strategy");
        QTest::newRow("model-guided") << "model-guided";
        QTest::newRow("random") << "random";
    }
    void tunesAConvolution() {
        QFETCH(QString, strategy);
        Bench bench;
        const Workload workload = convWorkload(bench.target);
        int measured = 0;
        std::optional<StopReason> told;
        Tuner tuner(*bench.store, [&](const TuneEvent& event) {
            measured += event.kind == TuneEvent::Kind::measured;
            if (event.kind == TuneEvent::Kind::measured)
                QVERIFY(event.workload == workload.key && event.name == workload.name && event.trial);
            if (event.kind == TuneEvent::Kind::stopped)
                told = event.reason;
        });
        TuneOptions tuning = options(12);
        tuning.strategy = strategy.toStdString();
        const TuneResult result = take(tuner.run({{workload, 3}}, bench.target, tuning));
        QCOMPARE(result.reason, StopReason::budgetTrials);
        QVERIFY(told == result.reason);
        const auto rows = trialsOf(*bench.store, result.run);
        QCOMPARE(rows.size(), std::size_t(13)); // with the final
        QVERIFY(rows.back().isFinal && std::ranges::count_if(rows, &TrialRow::isFinal) == 1);
        QCOMPARE(rows.back().objectives.size(), std::size_t(2));
        QCOMPARE(rows.back().objectives[1].value, *result.workloads.at(0).defaultMs); // timed in turns with the winner
        QCOMPARE(measured, static_cast<int>(rows.size()));
        const TunedWorkload& tuned = result.workloads.at(0);
        QVERIFY(tuned.defaultMs && tuned.bestMs && *tuned.bestMs <= *tuned.defaultMs);
        QCOMPARE(tuned.failed, std::size_t(0));
        QVERIFY(*result.beforeMs == 3 * *tuned.defaultMs && *result.afterMs == 3 * *tuned.bestMs);
        QCOMPARE(rows[0].config, take(ScheduleSpace::make(workload, bench.target)).defaultConfig().text());
        const auto best = take(bestConfig(*bench.store, workload.key, bench.target));
        QVERIFY(best && best->config.text() == tuned.best);
        QCOMPARE(best->ms, *tuned.bestMs);
        const RunRow run = take(bench.store->run(result.run));
        QVERIFY(run.state == RunState::completed && run.stopReason == "budget_trials" && run.afterMs);
        const StoreCheck check = take(bench.store->check());
        QVERIFY2(check.ok, check.problems.empty() ? "" : check.problems[0].c_str());
        QTRY_COMPARE(childCount(), 0); // no worker is left
    }

    void everyStrategyTunes_data() {
        QTest::addColumn<QString>("strategy");
        for (const StrategyEntry& entry : strategyTable())
            QTest::newRow(std::string(entry.name).c_str()) << QString::fromStdString(std::string(entry.name));
    }
    void everyStrategyTunes() {
        QFETCH(QString, strategy);
        Bench bench;
        const Workload workload = reluWorkload(bench.target, 14);
        TuneOptions tuning = options(12, fakeWorkers());
        tuning.strategy = strategy.toStdString();
        const TuneResult result = take(Tuner(*bench.store).run({{workload, 1}}, bench.target, tuning));
        QCOMPARE(result.reason, StopReason::budgetTrials);
        QVERIFY(result.workloads[0].bestMs && result.workloads[0].defaultMs); // the untuned schedule is always tried
        QCOMPARE(take(bench.store->run(result.run)).strategy, strategy.toStdString());
        const auto rows = trialsOf(*bench.store, result.run);
        QVERIFY(rows.size() >= 12);
        std::set<std::string> configs;
        for (const TrialRow& row : std::span(rows).first(12))
            QVERIFY(configs.insert(row.config).second);
    }

    void smallSpacesAreTriedWhole() {
        Bench bench;
        const Workload workload = reluWorkload(bench.target, 14);
        const auto size = take(ScheduleSpace::make(workload, bench.target)).space().size();
        QVERIFY(size && *size < 500);
        Tuner tuner(*bench.store);
        const TuneResult result = take(tuner.run({{workload, 1}}, bench.target, options(1000, fakeWorkers())));
        QCOMPARE(result.reason, StopReason::exhausted);
        QCOMPARE(static_cast<double>(result.workloads[0].trials), *size + 1); // and the final
    }

    // As a worker whose memory is damaged may answer.
    void aFinalWithoutTimesDecidesNothing() {
        Bench bench;
        const Workload workload = reluWorkload(bench.target, 14);
        const TuneResult result = take(Tuner(*bench.store).run({{workload, 1}}, bench.target, options(4, testWorkers({{"TEST_FAKE_PROFILE", "1"}, {"TEST_NO_TIMES", "1"}}))));
        QCOMPARE(result.workloads[0].trials, std::size_t(4)); // no final
        QVERIFY(result.workloads[0].bestMs);
    }

    void failuresAreTrials() {
        Bench bench;
        const Workload workload = convWorkload(bench.target);
        const std::string bad = take(ScheduleSpace::make(workload, bench.target)).defaultConfig().text();
        for (const auto& [fault, status] : {std::pair("crash", "crash"), std::pair("short", "wrong_answer"),
                                            std::pair("build-error", "build_error"), std::pair("build-crash", "crash"),
                                            std::pair("no-status", "run_error"), std::pair("no-reason", "run_error"), std::pair("no-times", "run_error")}) {
            auto tuning = options(5, testWorkers({{"TEST_INJECT", nlohmann::json{{fault, bad}}.dump()}}));
            tuning.transfer = false;
            const TuneResult result = take(Tuner(*bench.store).run({{workload, 1}}, bench.target, tuning));
            const auto rows = trialsOf(*bench.store, result.run);
            QCOMPARE(rows[0].status, std::string(status));
            QVERIFY(!rows[0].detail.empty());
            QCOMPARE(result.failed, std::size_t(1));
            QVERIFY(result.workloads[0].bestMs && !result.workloads[0].defaultMs && !result.beforeMs);
        }
    }

    void resumeEqualsAnUninterruptedRun_data() {
        QTest::addColumn<QString>("strategy");
        QTest::addColumn<QList<int>>("stops"); // after so many trials
        QTest::newRow("model-guided") << "model-guided" << QList<int>{1, 26}; // in the first batch, and in the last of a workload
        QTest::newRow("random") << "random" << QList<int>{11, 37};
        for (const char* strategy : {"grid", "annealing", "genetic", "bandit", "coordinate"})
            QTest::newRow(strategy) << strategy << QList<int>{26};
    }
    void resumeEqualsAnUninterruptedRun() {
        QFETCH(QString, strategy);
        QFETCH(QList<int>, stops);
        Bench bench;
        const std::vector<TuneTask> tasks{{convWorkload(bench.target), 2}, {convWorkload(bench.target, 32, 7), 1}};
        TuneOptions tuning = options(28, fakeWorkers());
        tuning.strategy = strategy.toStdString();
        tuning.transfer = false;
        const TuneResult whole = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        for (const int after : stops) {
            const TuneResult part = interruptedAfter(after, bench, tasks, tuning);
            QCOMPARE(part.reason, StopReason::cancelled);
            QCOMPARE(take(bench.store->run(part.run)).state, RunState::stopped);
            QCOMPARE(trialsOf(*bench.store, part.run).size(), std::size_t(after));
            int again = 0;
            Tuner resumed(*bench.store, [&](const TuneEvent& event) { again += event.kind == TuneEvent::Kind::measured; });
            const TuneResult rest = take(resumed.resume(part.run, tuning));
            QCOMPARE(rest.reason, StopReason::budgetTrials);
            QCOMPARE(again, static_cast<int>(whole.trials) - after);
            QCOMPARE(trail(*bench.store, part.run), trail(*bench.store, whole.run));
            QCOMPARE(*rest.afterMs, *whole.afterMs);
        }
        QVERIFY(take(bench.store->check()).ok);
    }

    void knowledgeIsTransferred() {
        Bench bench;
        const Workload workload = convWorkload(bench.target);
        TuneOptions tuning = options(20, fakeWorkers());
        const TuneResult first = take(Tuner(*bench.store).run({{workload, 1}}, bench.target, tuning));
        tuning.trialsPerWorkload = 2;
        tuning.seed = 77;
        const TuneResult second = take(Tuner(*bench.store).run({{workload, 1}}, bench.target, tuning));
        QCOMPARE(*second.afterMs, *first.afterMs);
        tuning.transfer = false;
        const TuneResult third = take(Tuner(*bench.store).run({{workload, 1}}, bench.target, tuning));
        QVERIFY(trialsOf(*bench.store, third.run)[1].config != trialsOf(*bench.store, second.run)[1].config);
    }

    void recordsOfTheNearestThreadCountAreFound() {
        Bench bench;
        const Workload workload = convWorkload(bench.target);
        take(Tuner(*bench.store).run({{workload, 1}}, bench.target, options(3, fakeWorkers())));
        Target other = bench.target;
        other.threads = 6;
        const auto best = take(bestConfig(*bench.store, workload.key, other));
        QVERIFY(best && best->record.targetKey == bench.target.key());
        other.isa = other.isa == Isa::avx2 ? Isa::avx512 : Isa::avx2;
        QVERIFY(!take(bestConfig(*bench.store, workload.key, other)));
        QVERIFY(!take(bestConfig(*bench.store, "0123456789abcdef", bench.target)));
    }

    void totalTrialsAreShared() {
        Bench bench;
        const std::vector<TuneTask> tasks{{convWorkload(bench.target), 9}, {convWorkload(bench.target, 32, 7), 1}};
        TuneOptions tuning = options(1, fakeWorkers());
        tuning.trialsPerWorkload.reset();
        tuning.totalTrials = 30;
        const TuneResult result = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        QCOMPARE(result.reason, StopReason::budgetTrials);
        QCOMPARE(result.trials, std::size_t(32)); // all, and two finals
        QVERIFY(result.workloads[0].trials > result.workloads[1].trials && result.workloads[1].trials >= 4);
        tuning.totalTrials = 3; // less than a batch: still a trial for each
        const TuneResult few = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        QVERIFY(few.workloads[0].defaultMs && few.workloads[1].defaultMs);
    }

    // Enough is enough: the budget is not spent once the kernels take no longer than was asked for, and nothing is tried where they do already.
    void endsAtItsGoal() {
        Bench bench;
        const std::vector<TuneTask> tasks{{convWorkload(bench.target), 2}, {convWorkload(bench.target, 32, 7), 1}};
        TuneOptions tuning = options(40, fakeWorkers());
        tuning.targetMs = 1e9; // as soon as there is a time for both
        const TuneResult easy = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        QCOMPARE(easy.reason, StopReason::targetReached);
        QVERIFY2(easy.trials >= 4 && easy.trials < 30, qPrintable(QString::number(easy.trials)));
        QVERIFY(easy.afterMs && *easy.afterMs < 1e9);
        QCOMPARE(take(bench.store->run(easy.run)).state, RunState::completed);
        const TuneResult again = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        QCOMPARE(again.reason, StopReason::targetReached);
        QCOMPARE(again.trials, std::size_t(0)); // known before
        QCOMPARE(again.afterMs, easy.afterMs);
        tuning.targetMs = 1e-9;
        tuning.trialsPerWorkload = 4;
        QCOMPARE(take(Tuner(*bench.store).run(tasks, bench.target, tuning)).reason, StopReason::budgetTrials);
    }

    void aSharedBudgetHasALimitForEach() {
        Bench bench;
        const std::vector<TuneTask> tasks{{convWorkload(bench.target), 9}, {convWorkload(bench.target, 32, 7), 1}};
        TuneOptions tuning = options(8, fakeWorkers());
        tuning.totalTrials = 100;
        const TuneResult result = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        QCOMPARE(result.reason, StopReason::budgetTrials);
        QCOMPARE(result.trials, std::size_t(18));
    }

    void aSharedBudgetResumesAsItWould() {
        Bench bench;
        const std::vector<TuneTask> tasks{{convWorkload(bench.target), 3}, {convWorkload(bench.target, 32, 7), 1}};
        TuneOptions tuning = options(1, fakeWorkers());
        tuning.trialsPerWorkload.reset();
        tuning.totalTrials = 30;
        tuning.transfer = false;
        const TuneResult whole = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        for (const int after : {1, 9, 22, 31}) { // the last one in the finals
            const TuneResult part = interruptedAfter(after, bench, tasks, tuning);
            QCOMPARE(part.reason, StopReason::cancelled);
            const TuneResult rest = take(Tuner(*bench.store).resume(part.run, tuning));
            QCOMPARE(rest.trials, whole.trials);
            QCOMPARE(trail(*bench.store, part.run), trail(*bench.store, whole.run));
        }
    }

    void refusesWhatMakesNoSense() {
        Bench bench;
        Tuner tuner(*bench.store);
        const std::vector<TuneTask> tasks{{convWorkload(bench.target), 1}};
        QVERIFY(!tuner.run({}, bench.target, options(4)).ok());
        QVERIFY(!tuner.run(tasks, bench.target, options(0)).ok());
        TuneOptions none = options(4);
        none.trialsPerWorkload.reset();
        QVERIFY(!tuner.run(tasks, bench.target, none).ok());
        TuneOptions unknown = options(4);
        unknown.strategy = "tarot";
        const std::string said = tuner.run(tasks, bench.target, unknown).error().message;
        for (const char* name : {"tarot", "model-guided", "coordinate"})
            QVERIFY2(said.find(name) != std::string::npos, said.c_str());
        QVERIFY(!tuner.resume(RunId(77), options(4)).ok());
        QVERIFY(take(bench.store->runs()).empty());
    }
};

QTEST_GUILESS_MAIN(TestTuner)
#include "tst_tuner.moc"
