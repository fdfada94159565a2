// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QProcess>
#include <QTemporaryDir>
#include <QJsonObject>
#include <QTest>
#include <csignal>

#include "cli_process.h"

using namespace tunesmith::testing;

// Stopping, killing and resuming a tuning run from outside.
class TestCliTuning : public QObject {
    Q_OBJECT

    // Starts `tune encoder` and waits until the store holds a few trials.
    static void startTuning(QProcess& process, const QString& store, const QStringList& more = {}, int trials = 10) {
        process.start(
            TEST_CLI,
            QStringList{"tune", "encoder", "--threads", "1", "--trials-per-workload", QString::number(trials), "--store", store, "--json"} + more);
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(
            runCli({"store", "check", "--store", store, "--json"}).json()["trials"].toInt() >= 5, 60'000);
    }

private slots:
    void interruptThenResume() {
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db");
        QProcess process;
        startTuning(process, store);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(10'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 130);
        const QJsonObject check = runCli({"store", "check", "--store", store, "--json"}).json();
        QVERIFY(check["ok"].toBool());
        const CliResult resumed = runCli({"tune", "encoder", "--resume", "1", "--store", store, "--json"});
        QVERIFY2(resumed.status == 0, resumed.errors);
        QCOMPARE(resumed.json()["run"].toInt(), 1);
        QVERIFY(resumed.json()["trials"].toInt() > check["trials"].toInt());
        QVERIFY(resumed.json()["before_ms"].toDouble() > 0);
        QVERIFY(resumed.json()["after_ms"].toDouble() > 0);
    }

    void killThenResume() {
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db");
        QProcess process;
        startTuning(process, store);
        process.kill();
        QVERIFY(process.waitForFinished(10'000));
        const QJsonObject check = runCli({"store", "check", "--store", store, "--json"}).json();
        QVERIFY(check["ok"].toBool());
        QVERIFY(check["trials"].toInt() >= 5);
        const CliResult other = runCli({"tune", "mlp", "--resume", "1", "--store", store});
        QCOMPARE(other.status, 1);
        QVERIFY(other.sentence().contains("encoder"));
        const CliResult resumed = runCli({"tune", "encoder", "--resume", "1", "--no-latency", "--store", store, "--json"});
        QVERIFY2(resumed.status == 0, resumed.errors);
        QVERIFY(runCli({"store", "check", "--store", store, "--json"}).json()["ok"].toBool());
    }

    void unknownRun() {
        const QTemporaryDir folder;
        const CliResult result =
            runCli({"tune", "mlp", "--resume", "77", "--store", folder.filePath("empty.db")});
        QCOMPARE(result.status, 1);
        QVERIFY(!result.sentence().isEmpty());
    }

    // Planned or not: the report says which, and the store stays whole.
    void layoutsArePlanned() {
        const QString model = testDataFile("models/mnist/mnist.onnx");
        if (model.isEmpty())
            QSKIP("needs TUNESMITH_TEST_DATA");
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db");
        const QStringList tune{"tune", model, "--layouts", "--threads", "1", "--trials-per-workload", "4", "--store", store};
        const CliResult result = runCli(tune + QStringList{"--json"});
        QVERIFY2(result.status == 0, result.errors);
        const QJsonObject layouts = result.json()["runs"].toArray().first().toObject()["layouts"].toObject();
        QVERIFY(layouts["text"].toString().startsWith("layouts: "));
        QVERIFY(layouts["trials"].toInt() > 0);
        QVERIFY(layouts["planned_predicted_ms"].toDouble() <= layouts["greedy_predicted_ms"].toDouble());
        QVERIFY(runCli({"store", "check", "--store", store, "--json"}).json()["ok"].toBool());
        const CliResult compiled = runCli({"compile", model, "--threads", "1", "--store", store, "-o", folder.filePath("module"), "--json"});
        QVERIFY2(compiled.status == 0, compiled.errors);
        QCOMPARE(compiled.json()["planned_layouts"].toInt(), layouts["kept"].toBool() ? layouts["changed"].toInt() : 0);
        QVERIFY(runCli(tune).out.contains("\nLayouts: "));
        const CliResult without = runCli({"tune", "mlp", "--threads", "1", "--trials-per-workload", "2", "--no-latency", "--store", store, "--json"});
        QVERIFY(without.json()["runs"].toArray().first().toObject()["layouts"].isNull());
    }

    void tunedModuleRuns() {
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db"), module = folder.filePath("module");
        const CliResult tuned = runCli({"tune", "mlp", "--trials-per-workload", "6", "--no-latency", "--store", store, "--json"});
        QCOMPARE(tuned.status, 0);
        const CliResult compiled = runCli({"compile", "mlp", "--store", store, "-o", module, "--json"});
        QVERIFY2(compiled.status == 0, compiled.errors);
        QCOMPARE(compiled.json()["tuned"].toInt(), compiled.json()["kernels"].toInt());
        const CliResult untuned =
            runCli({"compile", "mlp", "--store", store, "--untuned", "-o", module, "--json"});
        QCOMPARE(untuned.json()["tuned"].toInt(), 0);
        QCOMPARE(runCli({"run", module}).status, 0);
    }

    void autotvmsSpaceHasRecordsOfItsOwn() {
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db"), module = folder.filePath("module");
        const auto tuned = [&](const QStringList& more) {
            return runCli(QStringList{"compile", "mlp", "--threads", "1", "--store", store, "-o", module, "--json"} + more).json()["tuned"].toInt();
        };
        const QStringList tune{"tune", "mlp", "--threads", "1", "--trials-per-workload", "6", "--no-latency", "--store", store, "--json"};
        const CliResult theirs = runCli(tune + QStringList{"--space", "autotvm"});
        QVERIFY2(theirs.status == 0, theirs.errors);
        const QJsonObject run = theirs.json();
        QCOMPARE(run["search_space"].toString(), QString("autotvm"));
        const QJsonObject first = run["workloads"].toArray()[0].toObject();
        QCOMPARE(first["template"].toString(), QString("dense_pack.x86|dense_nopack.x86"));
        QCOMPARE(tuned({"--space", "autotvm"}), 3);
        QCOMPARE(runCli({"run", module}).status, 0);
        QCOMPARE(tuned({}), 0); // nobody knows whether they beat our untuned schedules
        QCOMPARE(tuned({"--space", "tunesmith"}), 0);
        QCOMPARE(runCli(tune).json()["search_space"].toString(), QString("tunesmith"));
        QCOMPARE(tuned({}), 3); // the faster of the two
        QCOMPARE(tuned({"--space", "tunesmith"}), 3);
        const CliResult resumed = runCli({"tune", "mlp", "--resume", "1", "--no-latency", "--store", store, "--json"});
        QVERIFY2(resumed.status == 0, resumed.errors);
        QCOMPARE(resumed.json()["search_space"].toString(), QString("autotvm"));
        const CliResult kernel = runCli({"inspect", "mlp", "gemm", "--space", "autotvm", "--store", store, "--threads", "1", "--json"});
        QVERIFY2(kernel.status == 0, kernel.errors);
        QVERIFY(kernel.json()["schedule"].toString().startsWith("dense_"));
        QVERIFY(kernel.json()["record_ms"].toDouble() > 0);
        QCOMPARE(runCli({"inspect", "mlp", kernel.json()["key"].toString(), "--store", store, "--threads", "1", "--json"}).json()["schedule"],
                 kernel.json()["schedule"]); // the key says which space is meant
    }

    void severalModelsAtATime() {
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db"), file = folder.filePath("jobs.toml"), trace = folder.filePath("trace.json");
        QFile jobs(file);
        QVERIFY(jobs.open(QIODevice::WriteOnly));
        jobs.write("threads = 1\ntrials = 3\n[[job]]\nmodel = 'mlp'\n[[job]]\nname = 'by luck'\nmodel = 'mlp'\nstrategy = 'random'\n");
        jobs.close();
        const CliResult run = runCli({"jobs", "run", file, "--store", store, "--trace", trace, "--json"});
        QVERIFY2(run.status == 0, run.errors);
        const QJsonObject made = run.json();
        QVERIFY(made["makespan_s"].toDouble() >= made["bound_s"].toDouble() && made["bound_s"].toDouble() > 0 && made["stages"].toInt() > 4);
        QCOMPARE(made["jobs"].toArray().size(), 2);
        for (const QJsonValue& job : made["jobs"].toArray()) {
            QVERIFY(job["error"].isNull());
            QVERIFY(job["runs"][0]["trials"].toInt() >= 9 && job["runs"][0]["after_ms"].toDouble() > 0);
        }
        QCOMPARE(made["jobs"][1]["name"].toString(), QString("by luck"));
        QFile written(trace);
        QVERIFY(written.open(QIODevice::ReadOnly));
        QVERIFY(!QJsonDocument::fromJson(written.readAll()).object()["traceEvents"].toArray().isEmpty());
        QCOMPARE(runCli({"jobs", "run", file, "--policy", "shared", "--store", store}).status, 1);
        QCOMPARE(runCli({"jobs", "run", folder.filePath("nowhere.toml"), "--store", store}).status, 1);

        const CliResult known = runCli({"tune", "mlp", "--threads", "1", "--target", "1000", "--no-latency", "--store", store, "--json"});
        QVERIFY2(known.status == 0, known.errors);
        QCOMPARE(known.json()["stop_reason"].toString(), QString("target_reached"));
        QCOMPARE(known.json()["trials"].toInt(), 0); // the jobs' records do
    }

    // In place, by another program: SQLite reads short pages, or none at all of the index, which it has mapped.
    void aStoreThatIsCutOffIsNamed_data() {
        QTest::addColumn<QString>("suffix");
        QTest::newRow("pages") << "";
        QTest::newRow("log") << "-wal";
        QTest::newRow("index of the log") << "-shm";
    }
    void aStoreThatIsCutOffIsNamed() {
        QFETCH(const QString, suffix);
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db");
        QProcess process;
        startTuning(process, store, {}, 30);
        QVERIFY(QFile::resize(store + suffix, 0));
        QVERIFY(process.waitForFinished(200'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 1);
        const QByteArray said = process.readAllStandardError();
        QVERIFY2(said.contains("tunesmith-cli: ") && said.contains("trials.db"), said);
    }

    void spacesAreNamed() {
        for (const QString& command : {QString("tune"), QString("tasks")}) {
            const CliResult unknown = runCli({command, "mlp", "--space", "halide"});
            QCOMPARE(unknown.status, 2);
            QVERIFY(unknown.sentence().contains("halide") && unknown.sentence().contains("autotvm"));
        }
        const CliResult both = runCli({"tune", "mlp", "--space", "autotvm", "--layouts"});
        QCOMPARE(both.status, 1);
        QVERIFY2(both.sentence().contains("layouts") && both.sentence().contains("autotvm"), both.errors);
        const auto templatesOf = [](const QStringList& more) {
            QStringList names;
            for (const QJsonValue& task : runCli(QStringList{"tasks", "encoder", "--json"} + more).json()["tasks"].toArray())
                names << task["search_space"].toString() + " " + task["template"].toString();
            return names;
        };
        const QStringList theirs = templatesOf({"--space", "autotvm"});
        QVERIFY(theirs.contains("autotvm batch_matmul.x86") && theirs.contains("tunesmith rows"));
        QVERIFY(templatesOf({}).filter("autotvm").isEmpty());
        QVERIFY(runCli({"tune", "--help"}).out.contains("autotvm: the knobs of AutoTVM"));
    }
};

QTEST_GUILESS_MAIN(TestCliTuning)
#include "tst_cli_tuning.moc"
