// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "cli_process.h"

using namespace tunesmith::testing;

class TestCliOptimize : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    QJsonObject optimized(const QStringList& more) const {
        const CliResult result = runCli(QStringList{"optimize", "encoder", "--cost", "kernels", "--json"} + more +
                                        (more.contains("--store") ? QStringList() : QStringList{"--store", folder_.filePath("s.db")}));
        if (result.status != 0)
            qWarning("%s", result.errors.constData());
        return result.json();
    }

private slots:
    void saysWhatItGained() {
        const QString file = folder_.filePath("rewritten.onnx");
        const QJsonObject made = optimized({"-o", file});
        for (const char* key : {"cost_before", "cost_after", "measured_before_ms", "measured_after_ms", "nodes_before", "nodes_after", "steps", "expanded", "seconds", "stop_reason", "rules", "check"})
            QVERIFY2(made.contains(key), key);
        QVERIFY(made["cost_after"].toDouble() < 0.7 * made["cost_before"].toDouble());
        QVERIFY(made["nodes_after"].toInt() < made["nodes_before"].toInt());
        QVERIFY(made["check"].toObject()["max_rel_err"].toDouble() < 1e-4);
        QCOMPARE(made["stop_reason"].toString(), QString("exhausted"));
        QVERIFY(made["measured_after_ms"].isNull());
        QVERIFY(!made["raced"].toBool() && made["not_raced"].toString().contains("launches"));
        QVERIFY(made["refusals"].isArray() && made["generated"].toInt() > made["expanded"].toInt());
        QStringList rules;
        for (const QJsonValue& rule : made["rules"].toArray()) {
            rules << rule["rule"].toString();
            QVERIFY(rule["count"].toInt() > 0);
        }
        QVERIFY(rules.contains("merge-products") && rules.contains("recognize-layer-norm") && rules.contains("operator-on-parts"));

        const QJsonObject info = runCli({"info", file, "--json"}).json();
        QCOMPARE(info["nodes"].toInt(), made["nodes_after"].toInt());
        const CliResult first = runCli({"run", "encoder", "--engine", "reference", "--json"}), second = runCli({"run", file, "--engine", "reference", "--json"});
        QCOMPARE(first.status, 0);
        QCOMPARE(second.status, 0);
    }

    void keepsWhatItCannotImprove() {
        const CliResult result = runCli({"optimize", "mlp", "--cost", "kernels", "--json", "--store", folder_.filePath("s.db")});
        QCOMPARE(result.status, 0);
        const QJsonObject made = result.json();
        QCOMPARE(made["nodes_after"], made["nodes_before"]); // not even simplified
        QCOMPARE(made["cost_after"], made["cost_before"]);
        QCOMPARE(made["steps"].toInt(), 0);
        QVERIFY(made["rules"].toArray().isEmpty());
        QVERIFY(made["check"].toObject()["max_rel_err"].isNull()); // nothing was compared
    }

    void withoutARule() {
        const QJsonObject all = optimized({}), without = optimized({"--without", "merge-products"});
        QVERIFY(without["cost_after"].toDouble() > all["cost_after"].toDouble());
        for (const QJsonValue& rule : without["rules"].toArray())
            QVERIFY(rule["rule"].toString() != "merge-products");
        const CliResult unknown = runCli({"optimize", "encoder", "--cost", "kernels", "--without", "magic"});
        QCOMPARE(unknown.status, 1);
        QVERIFY2(unknown.sentence().contains("magic"), unknown.errors);
    }

    void rulesOfTheStore() {
        QFile file(folder_.filePath("rules.txt"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3)))"
                   " where v1: 2x4, v2: 4x4, v3: 4x4; name: mine/1\n");
        file.close();
        const QString store = folder_.filePath("rules.db");
        for (const char* set : {"stored", "all"}) {
            const CliResult none = runCli({"optimize", "encoder", "--cost", "kernels", "--rules", set, "--store", store});
            QCOMPARE(none.status, 1);
            QVERIFY2(none.sentence().contains("rules generate --store") && none.sentence().contains("rules verify --store"), none.errors);
        }
        QCOMPARE(runCli({"rules", "import", file.fileName(), "--store", store}).status, 0);
        const QJsonObject all = optimized({"--rules", "all", "--store", store}), written = optimized({});
        QVERIFY(all["cost_after"].toDouble() <= written["cost_after"].toDouble());
        QVERIFY(all["generated"].toInt() > written["generated"].toInt());
        QVERIFY(optimized({"--rules", "stored", "--store", store})["generated"].toInt() > 0);
        const QJsonObject without = optimized({"--rules", "all", "--without", "mine/1", "--store", store});
        QCOMPARE(without["generated"].toInt(), written["generated"].toInt());
        QCOMPARE(runCli({"optimize", "encoder", "--rules", "luck"}).status, 2);
    }

    void writtenRulesAreListed() {
        const QJsonArray rules = runCli({"rules", "list", "--written", "--json"}).json()["rules"].toArray();
        QVERIFY(rules.size() > 30);
        QStringList names;
        for (const QJsonValue& rule : rules) {
            names << rule["name"].toString();
            QVERIFY(!rule["equation"].toString().isEmpty() && rule["conditions"].isArray());
        }
        QVERIFY(names.contains("merge-products"));
    }

    void theSameTrailAgain_data() {
        QTest::addColumn<QString>("search");
        for (const char* search : {"greedy", "backtracking", "beam", "mcts", "egraph"})
            QTest::newRow(search) << search;
    }

    void theSameTrailAgain() {
        QFETCH(QString, search);
        const QStringList options{"--search", search, "--budget", "60", "--seed", "3"};
        QJsonObject first = optimized(options), second = optimized(options);
        first.remove("seconds");
        second.remove("seconds");
        QCOMPARE(first, second);
        QVERIFY(first["cost_after"].toDouble() < first["cost_before"].toDouble());
    }

    void nothingToSpend() {
        const QJsonObject none = optimized({"--budget", "0"});
        QCOMPARE(none["expanded"].toInt(), 0);
        QCOMPARE(none["stop_reason"].toString(), QString("budget_trials"));
    }

    void interruptedKeepsTheBest() {
        const QString file = folder_.filePath("best.onnx");
        QProcess process;
        process.start(TEST_CLI, {"optimize", "mobilenet_v2", "--cost", "kernels", "--search", "mcts", "--alpha", "10", "--budget", "1000000000", "-o", file, "--json",
                                 "--store", folder_.filePath("s.db")});
        QVERIFY(process.waitForStarted());
        QTest::qWait(3000);
        QCOMPARE(process.state(), QProcess::Running);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(60'000));
        QCOMPARE(process.exitCode(), 0);
        const QJsonObject made = QJsonDocument::fromJson(process.readAllStandardOutput()).object();
        QCOMPARE(made["stop_reason"].toString(), QString("cancelled"));
        QVERIFY(made["expanded"].toInt() > 0 && QFile::exists(file));
        QVERIFY(made["check"].toObject()["max_rel_err"].toDouble() < 1e-4);
    }

    // The first ends the search, the second the race of what it found: the original stays, and that is said.
    void interruptedTwiceKeepsTheOriginal() {
        const QString file = folder_.filePath("kept.onnx"), store = folder_.filePath("twice.db");
        QCOMPARE(runCli({"optimize", "mlp", "--threads", "1", "--store", store}).status, 0); // the machine's ceilings are known then
        QProcess process;
        process.start(TEST_CLI, {"optimize", "mobilenet_v2", "--search", "mcts", "--alpha", "10", "--budget", "1000000000", "--threads", "1", "-o", file, "--json", "--store", store});
        QVERIFY(process.waitForStarted());
        QByteArray said;
        const auto waitFor = [&](const char* phase) {
            return QTest::qWaitFor([&] { return (said += process.readAllStandardError()).contains(phase); }, 60'000);
        };
        QVERIFY2(waitFor("searching"), said);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY2(waitFor("compiling"), said);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(60'000));
        QVERIFY2(process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0, said);
        const QJsonObject made = QJsonDocument::fromJson(process.readAllStandardOutput()).object();
        QVERIFY(made["kept_original"].toBool() && !made["raced"].toBool() && made["measured_after_ms"].isNull());
        QCOMPARE(made["not_raced"].toString(), QString("the race was stopped"));
        QCOMPARE(made["nodes_after"], made["nodes_before"]);
        QVERIFY(QFile::exists(file));
    }

    void wrongUse() {
        QCOMPARE(runCli({"optimize"}).status, 2);
        QCOMPARE(runCli({"optimize", "encoder", "--search", "luck"}).status, 2);
        QCOMPARE(runCli({"optimize", "encoder", "--alpha", "0.5"}).status, 2);
        const CliResult missing = runCli({"optimize", folder_.filePath("none.onnx"), "--cost", "kernels"});
        QCOMPARE(missing.status, 1);
        QVERIFY2(missing.sentence().contains("none.onnx"), missing.errors);
        const CliResult nowhere = runCli({"optimize", "mlp", "--cost", "kernels", "-o", folder_.filePath("none/x.onnx")});
        QCOMPARE(nowhere.status, 1);
        QVERIFY2(nowhere.sentence().contains("none/x.onnx") && nowhere.sentence().contains("there is no folder"), nowhere.errors);
    }

    // What is written by default was raced, and is no slower.
    void writesWhatWonTheRace() {
        const QString file = folder_.filePath("raced.onnx");
        const CliResult result = runCli({"optimize", "encoder", "-o", file, "--threads", "1", "--json", "--store", folder_.filePath("m.db")});
        QVERIFY2(result.status == 0, result.errors);
        const QJsonObject made = result.json();
        QVERIFY(made["raced"].toBool() && made["not_raced"].isNull());
        QVERIFY(made["measured_before_ms"].toDouble() > 0);
        QVERIFY(made["kept_original"].toBool() || made["measured_after_ms"].toDouble() < made["measured_before_ms"].toDouble());
        QVERIFY(made["kept_original"].toBool() == (made["steps"].toInt() == 0));
        QVERIFY(made["prediction"].toObject()["graphs"].toArray().size() >= 2);
        const QJsonObject unraced =
            runCli({"optimize", "encoder", "-o", file, "--no-measure", "--threads", "1", "--json", "--store", folder_.filePath("m.db")}).json();
        QVERIFY(!unraced["raced"].toBool() && unraced["measured_after_ms"].isNull());
    }

    void measured() {
        const CliResult result = runCli({"optimize", "mlp", "--cost", "measured", "--threads", "1", "--json", "--store", folder_.filePath("m.db")});
        QVERIFY2(result.status == 0, result.errors);
        const QJsonObject made = result.json();
        QVERIFY(made["measured_before_ms"].toDouble() > 0 && made["measured_after_ms"].toDouble() > 0);
        QCOMPARE(made["unit"].toString(), QString("ms"));
        QVERIFY(made["cost_before"].toDouble() > 0);
    }
};

QTEST_GUILESS_MAIN(TestCliOptimize)
#include "tst_cli_optimize.moc"
