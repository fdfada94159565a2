// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "cli_process.h"

using namespace tunesmith::testing;

// The verbs of an experiment, chained.
class TestCliExperiment : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    CliResult experiment(const QStringList& words) const { return runCli(QStringList{"experiment"} + words + QStringList{"--store", folder_.filePath("trials.db"), "--json"}); }
    static QStringList verbsOf(const CliResult& result) {
        QStringList verbs;
        for (const QJsonValue& step : result.json()["steps"].toArray())
            verbs << step["verb"].toString();
        return verbs;
    }

private slots:
    void wholeChain() {
        const QString module = folder_.filePath("module");
        const CliResult made = experiment({"mlp", "--threads", "1", "--trials-per-workload", "3", "--seconds", "0.2", "-o", module});
        QVERIFY2(made.status == 0, made.errors);
        QCOMPARE(verbsOf(made), (QStringList{"load", "autotune", "build", "save", "run", "evaluate"}));
        for (const QJsonValue& step : made.json()["steps"].toArray())
            QVERIFY(step["seconds"].toDouble() > 0 && !step["text"].toString().isEmpty());
        QVERIFY(QDir(module).exists("module.json"));
        const CliResult again = experiment({module, "--seconds", "0.2"}); // loaded
        QVERIFY2(again.status == 0, again.errors);
        QCOMPARE(verbsOf(again), (QStringList{"load", "run", "evaluate"}));
        QVERIFY(again.json()["run"].toInt() > made.json()["run"].toInt());
        const CliResult taken = experiment({"mlp", "--verbs", "build,save", "-o", module});
        QVERIFY2(taken.status == 1 && taken.sentence().contains("exists"), taken.errors);
        const CliResult tuned = experiment({module, "--verbs", "autotune"});
        QVERIFY2(tuned.status == 1 && tuned.sentence().contains("tuned already"), tuned.errors);
        QVERIFY(runCli({"store", "check", "--store", folder_.filePath("trials.db"), "--json"}).json()["ok"].toBool());
    }

    // A module from elsewhere may have links to anything.
    void savesWhatTheModuleLists() {
        const QString module = folder_.filePath("made"), copy = folder_.filePath("copy");
        QVERIFY(experiment({"mlp", "--threads", "1", "--verbs", "build,save", "-o", module}).status == 0);
        for (const char* name : {"secret/key", "secret/deep/key", "made/note"}) {
            QDir().mkpath(QFileInfo(folder_.filePath(name)).path());
            QFile file(folder_.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly) && file.write("dear") == 4);
        }
        QVERIFY(QFile::link(folder_.filePath("secret/key"), module + "/key") && QFile::link(folder_.filePath("secret"), module + "/all"));
        const QStringList listed = QDir(module).entryList(QDir::AllEntries | QDir::NoDotAndDotDot);
        const CliResult saved = experiment({module, "--verbs", "save,run", "-o", copy});
        QVERIFY2(saved.status == 0, saved.errors);
        QStringList expected = listed;
        for (const char* name : {"key", "all", "note"})
            QVERIFY(expected.removeOne(name));
        QCOMPARE(QDir(copy).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), expected);
        QVERIFY(experiment({copy, "--verbs", "run"}).status == 0);

        QVERIFY(QFile::rename(module + "/weights.bin", folder_.filePath("weights")) && QFile::link(folder_.filePath("weights"), module + "/weights.bin"));
        const CliResult linked = experiment({module, "--verbs", "save", "-o", folder_.filePath("linked")});
        QVERIFY2(linked.status == 1 && linked.sentence().contains("weights.bin is a link"), linked.errors);
        const QString nothing = folder_.filePath("nothing");
        QDir().mkpath(nothing);
        QFile description(nothing + "/module.json");
        QVERIFY(description.open(QIODevice::WriteOnly) && description.write("{}") == 2 && QFile::link(folder_.filePath("secret"), nothing + "/all"));
        description.close();
        const CliResult bare = experiment({nothing, "--verbs", "save", "-o", folder_.filePath("bare")});
        QVERIFY2(bare.status == 1 && bare.sentence().contains("no description of a module"), bare.errors);
        for (const char* name : {"linked", "bare"})
            QVERIFY(!QFileInfo::exists(folder_.filePath(name)));
    }

    void whatCannotBe_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("says");
        QTest::newRow("verb") << QStringList{"mlp", "--verbs", "dance"} << 2 << "no verb 'dance'";
        QTest::newRow("run before build") << QStringList{"mlp", "--verbs", "run"} << 1 << "build it first";
        QTest::newRow("save nowhere") << QStringList{"mlp", "--verbs", "build,save"} << 2 << "--output";
        QTest::newRow("model") << QStringList{"no such"} << 1 << "no such";
    }
    void whatCannotBe() {
        QFETCH(QStringList, words);
        QFETCH(int, status);
        QFETCH(QString, says);
        const CliResult result = experiment(words);
        QCOMPARE(result.status, status);
        QVERIFY2(result.sentence().contains(says.toUtf8()), result.errors);
    }
};

QTEST_GUILESS_MAIN(TestCliExperiment)
#include "tst_cli_experiment.moc"
