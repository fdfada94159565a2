// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "cli_process.h"

using namespace tunesmith::testing;

// rules verify, and what import says of TASO's rules.
class TestCliRuleTrials : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString store_, file_;
    QJsonObject import_;

    QJsonObject rules(const QStringList& arguments) const {
        const CliResult result = runCli(QStringList{"rules"} + arguments + QStringList{"--store", store_, "--json"});
        if (result.status != 0)
            qWarning("%s", result.errors.constData());
        return result.json();
    }

private slots:
    void initTestCase() {
        store_ = folder_.filePath("rules.db");
        file_ = testDataFile("data/taso/graph_subst.pb");
        if (file_.isEmpty())
            QSKIP("TUNESMITH_TEST_DATA names no folder with data/taso/graph_subst.pb");
        import_ = rules({"import", file_});
    }

    // Those that ignore groups and unequal extents; no others, for what only a wider reading breaks is no fault of theirs.
    void elevenOfTasosRulesAreUnsound() {
        QCOMPARE(import_["imported"].toInt(), 133);
        QCOMPARE(import_["distinct"].toInt(), 128);
        QStringList unsound;
        for (const QJsonValue& each : import_["unsound"].toArray()) {
            unsound.append(each.toObject()["rule"].toString());
            QVERIFY2(each.toObject()["counter_example"].toString().contains("Conv("), qPrintable(unsound.last()));
        }
        QCOMPARE(unsound, (QStringList{"taso/98", "taso/99", "taso/100", "taso/105", "taso/125", "taso/126", "taso/127", "taso/128", "taso/129", "taso/130", "taso/131"}));
    }

    void otherSeedsFindTheSameEleven() {
        const QJsonObject again = rules({"import", file_, "--seed", "9"});
        QCOMPARE(again["added"].toInt(), 0);
        QCOMPARE(again["unsound"].toArray().size(), 11);
    }

    void theirConditionsAreKept() {
        for (const char* const name : {"taso/98", "taso/99", "taso/100", "taso/125", "taso/126", "taso/127", "taso/128", "taso/129"}) {
            const QJsonObject shown = rules({"show", name});
            QCOMPARE(shown["status"].toString(), QStandardPaths::findExecutable("z3").isEmpty() ? QString("tested") : QString("proved"));
            QCOMPARE(shown["proof_conditions"].toArray().isEmpty(), shown["status"].toString() == "tested");
            QVERIFY2(shown["counter_example"].toString().startsWith("left to right: Conv("), name);
            const QString condition = shown["preconditions"].toArray()[0].toString();
            QVERIFY2(condition.contains("group") || condition == "left to right: v2 and v4 have the same extent along axis 0", qPrintable(condition));
        }
    }

    void verifyCountsWhatItTries() {
        const QJsonObject done = rules({"verify", "--trials", "20", "--total", "10000"});
        QCOMPARE(done["rules"].toInt(), 128);
        QCOMPARE(done["sound"].toInt() + done["guarded"].toInt() + done["not_applicable"].toInt(), 128);
        QVERIFY(done["refuted"].toArray().isEmpty());
        QVERIFY(done["sound"].toInt() >= 100 && done["guarded"].toInt() >= 8 && done["directions"].toInt() >= 200);
        QVERIFY(done["trials"].toInt() >= 10000 && done["trials"].toInt() < 40000);
        if (!QStandardPaths::findExecutable("z3").isEmpty()) {
            QCOMPARE(done["proved"].toInt(), 128);
            QCOMPARE(done["proved_under_conditions"].toInt(), 8);
            QVERIFY(done["why_not_proved"].toString().isEmpty());
            const CliResult shown = runCli({"rules", "show", "taso/127", "--store", store_});
            QVERIFY2(shown.out.contains("; proved in ") && shown.out.contains("  proved if conv(v1, v2) has one group\n"), shown.out);
        }
        const CliResult text = runCli({"rules", "verify", "taso/0", "taso/98", "--trials", "50", "--store", store_});
        QVERIFY2(text.out.contains("sound as they are") && text.out.contains(" in 4 directions"), text.out);
    }

    void anyNumberOfThreadsFindsTheSame() {
        const auto kept = [&](const QString& threads) {
            rules({"verify", "--trials", "20", "--threads", threads});
            return rules({"list"});
        };
        QCOMPARE(kept("1"), kept("3"));
    }

    void wrongUse() {
        const CliResult unknown = runCli({"rules", "verify", "taso/0", "nobody", "--store", store_});
        QCOMPARE(unknown.status, 1);
        QVERIFY2(unknown.sentence().contains("no rule or family 'nobody'"), unknown.errors);
        QCOMPARE(runCli({"rules", "verify", "--trials", "0", "--store", store_}).status, 2);
        const QString none = folder_.filePath("none.db");
        QCOMPARE(runCli({"rules", "verify", "--store", none}).status, 1);
        QVERIFY(!QFile::exists(none));
    }
};

QTEST_GUILESS_MAIN(TestCliRuleTrials)
#include "tst_cli_rule_trials.moc"
