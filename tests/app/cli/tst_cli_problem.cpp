// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include "cli_process.h"

using namespace tunesmith::testing;

// tune FILE.toml and plugins, from outside.
class TestCliProblem : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString file_ = folder_.filePath("n.toml"), store_ = folder_.filePath("store.db");

    CliResult tune(const QStringList& more) const { return runCli(QStringList{"tune", file_, "--store", store_} + more); }

private slots:
    void initTestCase() {
        QFile file(file_);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("problem = 'external-program'\nname = 'numbers'\n[parameters.n]\ntype = 'int'\nlow = 1\nhigh = 9\ndefault = 2\n"
                   "[run]\ncommand = ['sh', '-c', 'echo $(( 20 - ($0 - 6) * ($0 - 6) ))', '{n}']\n[score]\nfrom = 'stdout'\nunit = 'points'\nhigher_is_better = true\n");
    }

    void pluginsAreListed() {
        const QJsonArray plugins = runCli({"plugins", "--json"}).json()["plugins"].toArray();
        QCOMPARE(plugins.size(), 1);
        const QJsonObject hello = plugins.first().toObject();
        QCOMPARE(hello["name"].toString(), QString("hello"));
        QCOMPARE(hello["problems"].toArray().first().toObject()["problem"].toString(), QString("external-program"));
        const CliResult text = runCli({"plugins"});
        QVERIFY2(text.status == 0 && text.out.contains("problem = \"external-program\""), text.out);
    }

    void tunesAFile() {
        const CliResult result = tune({"--strategy", "coordinate", "--trials", "9", "--seed", "3", "--batch", "1", "--json"});
        QVERIFY2(result.status == 0, result.errors);
        const QJsonObject json = result.json();
        QCOMPARE(json["name"].toString(), QString("numbers"));
        QCOMPARE(json["best"].toDouble(), 20.0);
        QCOMPARE(json["default"].toDouble(), 4.0);
        QCOMPARE(json["best_config"].toString(), QString("n 6"));
        QCOMPARE(json["trials"].toInt(), 9);
        QCOMPARE(json["unit"].toString(), QString("points"));
        QCOMPARE(json["higher_is_better"].toBool(), true);
        const CliResult again = tune({"--resume", QString::number(json["run"].toInt())});
        QVERIFY2(again.status == 0, again.errors);
        QVERIFY2(again.out.contains("Best:    20 points  (n 6)") && again.out.contains("9 trials (0 failed)"), again.out);
        QVERIFY(runCli({"store", "check", "--store", store_}).status == 0);
    }

    void optionsOfModelsAreRefused_data() {
        QTest::addColumn<QStringList>("options");
        QTest::newRow("dims") << QStringList{"--dims", "n=1"};
        QTest::newRow("threads") << QStringList{"--threads", "2"};
        QTest::newRow("space") << QStringList{"--space", "autotvm"};
        QTest::newRow("layouts") << QStringList{"--layouts"};
        QTest::newRow("transfer") << QStringList{"--no-transfer"};
        QTest::newRow("latency") << QStringList{"--no-latency"};
        QTest::newRow("target") << QStringList{"--target", "3"};
    }
    void optionsOfModelsAreRefused() {
        QFETCH(QStringList, options);
        const CliResult result = tune(options);
        QCOMPARE(result.status, 2);
        QVERIFY2(result.sentence().contains(options[0].toUtf8()) && result.sentence().contains("is for models"), result.errors);
    }

    void whatIsWrongIsSaid() {
        QVERIFY(runCli({"tune", folder_.filePath("none.toml")}).sentence().contains("cannot be read"));
        QFile bad(folder_.filePath("bad.toml"));
        QVERIFY(bad.open(QIODevice::WriteOnly));
        bad.write("problem = 'external-program'\n[parameters.n]\ntype = 'number'\n");
        bad.close();
        const CliResult result = runCli({"tune", bad.fileName(), "--store", store_});
        QCOMPARE(result.status, 1);
        QVERIFY2(result.sentence().contains("bad.toml, line 3: there is no type 'number'"), result.errors);
    }
};

QTEST_GUILESS_MAIN(TestCliProblem)
#include "tst_cli_problem.moc"
