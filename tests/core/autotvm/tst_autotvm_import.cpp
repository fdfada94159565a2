// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <map>

#include "core/autotvm/log_file.h"
#include "core/autotvm/store_exchange.h"
#include "core/autotvm/stored_record.h"
#include "core/autotvm/template_spaces.h"
#include "logs.h"
#include "tasks.h"

using namespace tunesmith;
using namespace tunesmith::autotvm;
using namespace tunesmith::testing;
using LogRecord = tunesmith::autotvm::Record; // not the store's

namespace {

LogRecord sample(std::int64_t index, ErrorCode error = ErrorCode::none) {
    LogRecord record;
    record.target = "llvm -mcpu=x";
    record.task = denseTask("dense_nopack.x86", 8, 16, 32);
    const auto space = spaceOf(record.task);
    record.index = index;
    record.entity = space.value().entityOf(*space.value().knobs.at(static_cast<std::uint64_t>(index)));
    record.costs = error == ErrorCode::none ? std::vector<double>{1e-4 / static_cast<double>(index + 1), 3e-4}
                                            : std::vector<double>{1e9};
    record.error = error;
    record.allCost = 2.25;
    record.timestamp = 1610455202.4949427 + static_cast<double>(index);
    record.tvmVersion = "0.8.dev0";
    return record;
}

} // namespace

class TestAutotvmImport : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    Logs logs_;

    std::shared_ptr<Store> newStore() {
        static int number = 0;
        auto store = Store::open(folder_.filePath(QString("s%1.db").arg(++number)).toStdString());
        return std::move(store).value();
    }
    static void verifySound(const Store& store) {
        const auto check = store.check();
        QVERIFY(check.ok());
        QVERIFY2(check.value().ok, check.value().ok ? "" : check.value().problems[0].c_str());
    }

private slots:
    void rows() {
        const auto store = newStore();
        const std::vector<LogRecord> records{sample(5), sample(9, ErrorCode::buildTimeout), sample(6)};
        const auto counts = importRecords(*store, records, {"some.log", "1.2"});
        QVERIFY2(counts.ok(), counts.ok() ? "" : counts.error().message.c_str());
        QCOMPARE(counts.value().imported, 3);
        QCOMPARE(counts.value().skipped, 0);
        QCOMPARE(counts.value().failed, 1);
        QCOMPARE(counts.value().workloads, 1);

        const auto runs = store->runs();
        QCOMPARE(runs.value().size(), std::size_t{1});
        const RunRow& run = runs.value()[0];
        QCOMPARE(run.kind, std::string(kImportedKind));
        QCOMPARE(run.targetKey, std::string("llvm -mcpu=x"));
        QCOMPARE(run.version, std::string("1.2"));
        QVERIFY(run.state == RunState::completed);
        QVERIFY(run.options.find("measure_again") != std::string::npos);

        const auto workloads = store->runWorkloads(run.id);
        QCOMPARE(workloads.value().size(), std::size_t{1});
        const RunWorkloadSummary& workload = workloads.value()[0];
        QCOMPARE(workload.name, std::string("dense_nopack.x86 8x32 * 16x32"));
        QCOMPARE(workload.plan.spaceSize, 4.0 * 5 * 6);
        QCOMPARE(workload.flops, 2.0 * 8 * 16 * 32);
        QCOMPARE(workload.trials, 3);
        QCOMPARE(workload.failed, 1);

        const auto trials = store->trials({.run = run.id});
        const TrialRow& good = trials.value()[0];
        QVERIFY(good.ok());
        QVERIFY(QString::fromStdString(good.config).startsWith("1,1,0;{")); // 5 = 1 + 4 * (1 + 5 * 0)
        QCOMPARE(good.samples.size(), std::size_t{2});
        QCOMPARE(good.samples[1], 0.3f);
        const double fast = 0.1 / 6;
        QVERIFY(std::abs(*good.p5Ms - (fast + 0.05 * (0.3 - fast))) < 1e-12);
        QCOMPARE(good.measuredAt, std::int64_t{1610455207494});
        QCOMPARE(trials.value()[1].status, std::string("build_timeout"));
        QVERIFY(!trials.value()[1].detail.empty());
        QVERIFY(trials.value()[1].samples.empty());
        verifySound(*store);
    }

    void errorClasses_data() {
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("status");
        const char* const names[] = {"ok",        "build_error",  "build_error",   "build_error",
                                     "run_error", "wrong_answer", "build_timeout", "run_timeout",
                                     "run_error"};
        for (int code = 0; code <= 8; ++code)
            QTest::addRow("%d", code) << code << names[code];
    }
    void errorClasses() {
        QFETCH(int, code);
        QFETCH(QString, status);
        const LogRecord record = sample(3, static_cast<ErrorCode>(code));
        const auto store = newStore();
        QVERIFY(importRecords(*store, {record}, {"a.log", ""}).ok());
        const auto trials = store->trials({});
        QCOMPARE(QString::fromStdString(trials.value()[0].status), status);
        QVERIFY(importedRecords(*store).value() ==
                std::vector<LogRecord>{record}); // codes of one class stay apart
    }

    void twiceAddsNothing() {
        const auto store = newStore();
        std::vector<LogRecord> records{sample(1), sample(2), sample(1), sample(1)}; // a line may repeat
        QCOMPARE(importRecords(*store, records, {"a.log", ""}).value().imported, 4);
        const auto again = importRecords(*store, records, {"b.log", ""});
        QCOMPARE(again.value().imported, 0);
        QCOMPARE(again.value().skipped, 4);
        QCOMPARE(store->runs().value().size(), std::size_t{1});
        QVERIFY(importedRecords(*store).value() == records);
        records.push_back(sample(1)); // once more than the store has
        records.push_back(sample(3));
        const auto more = importRecords(*store, records, {"c.log", ""});
        QCOMPARE(more.value().imported, 2);
        QCOMPARE(more.value().skipped, 4);
        QVERIFY(importedRecords(*store).value() == records);
        verifySound(*store);
    }

    // What differs in anything is another record.
    void almostEqual() {
        std::vector<LogRecord> records(9, sample(4));
        records[1].costs[0] = std::nextafter(records[1].costs[0], 1);
        records[2].timestamp += 0.25;
        records[3].tvmVersion.reset();
        records[4].target += " -model=y";
        records[5].codeHash = "ab";
        records[6].task.keywords = R"({"a":1})";
        records[7].allCost += 1;
        records[8].costs.push_back(1);
        const auto store = newStore();
        QCOMPARE(importRecords(*store, records, {"a.log", ""}).value().imported, 9);
        QVERIFY(importedRecords(*store).value() == records); // over several runs, in the order of the log
        QCOMPARE(store->runs().value().size(), std::size_t{3});
        QCOMPARE(importRecords(*store, records, {"a.log", ""}).value().imported, 0);
        verifySound(*store);
    }

    void unknownTemplate() {
        LogRecord record = sample(2);
        record.task = {"my.own", R"([["TENSOR",[2,3],"int8"],{"x":null}])", "{}"};
        record.index = 99;
        record.entity.push_back({"order", "re", "[1,0]"});
        const auto store = newStore();
        QVERIFY(importRecords(*store, {record}, {"a.log", ""}).ok());
        const auto trials = store->trials({});
        QVERIFY(QString::fromStdString(trials.value()[0].config).startsWith(";{"));
        QVERIFY(importedRecords(*store).value() == std::vector<LogRecord>{record});
        verifySound(*store);
    }

    // A log that names a target of this program and the fastest times there are: nothing of ours is chosen by
    // it.
    void neverABestRecordOfOurs() {
        const auto store = newStore();
        const auto machine = store->addMachine({{}, "m1", "Some CPU", "avx512", 2, "{}"});
        QVERIFY(machine.ok());
        QVERIFY(store->addTarget({{}, "cpu-avx512-t1", machine.value()}).ok());
        LogRecord record = sample(7);
        record.target = "cpu-avx512-t1";
        record.costs = {1e-9};
        QVERIFY(importRecords(*store, {record}, {"a.log", ""}).ok());
        const std::string key = workloadKey(record.task);
        QVERIFY(!store->bestRecord(key, "cpu-avx512-t1", "m1").value().has_value());
        QVERIFY(store->bestRecords("cpu-avx512-t1", "m1").value().empty());
        QCOMPARE(store->bestRecord(key, "cpu-avx512-t1").value()->machineKey, std::string(kImportedMachine));
    }

    void stopped() {
        StopSource stop;
        stop.requestStop();
        const auto store = newStore();
        const std::vector<LogRecord> records{sample(1), sample(2)};
        const auto counts = importRecords(*store, records, {"a.log", "", stop.token()});
        QVERIFY(!counts.ok() && counts.error().isCancelled());
        QVERIFY(store->runs().value()[0].state == RunState::stopped);
        QCOMPARE(importRecords(*store, records, {"a.log", ""}).value().imported, 2);
        verifySound(*store);
    }

    // An imported trial that somebody changed is no record any more, and says so.
    void damagedRows() {
        const RunRow run = [] {
            RunRow row = importedRun({}, "0.8", "a.log");
            row.targetKey = "llvm";
            return row;
        }();
        const LogRecord record = sample(3);
        const WorkloadRow workload = workloadRow(record.task, 0);
        const TrialRow trial = trialRow(record, std::nullopt);
        QVERIFY(storedRecord(run, workload, trial).ok());
        const auto refuses = [](const RunRow& r, const WorkloadRow& w, const TrialRow& t) {
            const auto read = storedRecord(r, w, t);
            return !read.ok() && read.error().message.find("no AutoTVM record") != std::string::npos;
        };
        TrialRow changed = trial;
        changed.config = "1,2";
        QVERIFY(refuses(run, workload, changed));
        changed.config = "x";
        QVERIFY(refuses(run, workload, changed));
        changed = trial;
        changed.objectives.clear();
        QVERIFY(refuses(run, workload, changed));
        changed = trial;
        for (Objective& objective : changed.objectives)
            objective.value = std::nan("");
        QVERIFY(refuses(run, workload, changed));
        WorkloadRow other = workload;
        other.graph = {0, 1, 2};
        QVERIFY(refuses(run, other, trial));
        RunRow noTarget = run;
        noTarget.targetKey.clear();
        QVERIFY(refuses(noTarget, workload, trial));
        RunRow noOptions = run;
        noOptions.options = "[]";
        QVERIFY(refuses(noOptions, workload, trial));
    }

    // The others are exported, and are starting points, all the same.
    void damagedRowsAreLeftOut() {
        const auto store = newStore();
        const LogRecord good = sample(3);
        QVERIFY(importRecords(*store, {good, sample(4)}, {"a.log", ""}).ok());
        TrialRow bent = store->trials({}).value()[1];
        bent.index = 7;
        bent.config = "x";
        RunRow run;
        run.kind = importedRun({}, {}, "a.log").kind;
        run.target = store->runs().value()[0].target;
        bent.run = store->beginRun(run, {{bent.workload, 1, "AutoTVM", 1, 1}}).value();
        QVERIFY(store->addTrial(bent).ok());
        QCOMPARE(importedRecords(*store).value().size(), std::size_t(2));
        QVERIFY(fastestImported(*store, good.task).value().has_value());
        QCOMPARE(importRecords(*store, {good}, {"a.log", ""}).value().skipped, 1);
    }

    void realLogs_data() {
        QTest::addColumn<int>("workloads");
        QTest::addColumn<int>("failed");
        QTest::newRow("platinum-8124m-bert.kernel.log") << 11 << 650;
        QTest::newRow("platinum-8124m-resnet_50.graph.log") << 0 << 0;
        QTest::newRow("tophub-cuda_v0.10.log") << 0 << 0;
        QTest::newRow("tophub-llvm_v0.04.log") << 0 << 0;
    }
    void realLogs() {
        QFETCH(int, workloads);
        QFETCH(int, failed);
        const QString path = logs_.path(QTest::currentDataTag());
        if (path.isEmpty())
            QSKIP(logs_.reason());
        const auto log = readLog(path.toStdString());
        const std::vector<LogRecord>& records = log.value();
        const auto store = newStore();
        const auto counts = importRecords(*store, records, {path.toStdString(), ""});
        QVERIFY2(counts.ok(), counts.ok() ? "" : counts.error().message.c_str());
        QCOMPARE(counts.value().imported, static_cast<std::int64_t>(records.size()));
        QCOMPARE(counts.value().failed, failed);
        if (workloads != 0)
            QCOMPARE(counts.value().workloads, workloads);
        QVERIFY(importedRecords(*store).value() == records);
        QCOMPARE(importRecords(*store, records, {path.toStdString(), ""}).value().imported, 0);
        verifyBest(*store, records);
        verifySound(*store);
    }

private:
    // The store's best record of each workload and target is the fastest of the log.
    static void verifyBest(const Store& store, const std::vector<LogRecord>& records) {
        std::map<std::pair<std::string, std::string>, std::vector<LogRecord>> groups;
        for (const LogRecord& record : records)
            groups[{workloadKey(record.task), record.target}].push_back(record);
        for (const auto& [key, group] : groups) {
            const auto best = store.bestRecord(key.first, key.second, kImportedMachine);
            const auto expected = fastest(group);
            QVERIFY(best.ok() && best.value().has_value() == expected.has_value());
            if (expected) {
                const auto index = "\"index\":" + std::to_string(group[*expected].index) + ",";
                QVERIFY2(best.value()->trial.config.find(index) != std::string::npos, index.c_str());
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestAutotvmImport)
#include "tst_autotvm_import.moc"
