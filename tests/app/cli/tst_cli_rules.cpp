// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "cli_process.h"

using namespace tunesmith::testing;

class TestCliRules : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    static QJsonObject generated(const QStringList& more) {
        const CliResult result = runCli(QStringList{"rules", "generate", "--operators", "2", "--json"} + more);
        if (result.status != 0)
            qWarning("%s", result.errors.constData());
        return result.json();
    }

private slots:
    void generate() {
        const QString file = folder_.filePath("rules.txt");
        const QJsonObject made = generated({"-o", file});
        const QJsonArray rules = made["rules"].toArray();
        QVERIFY(rules.size() > 20 && made["terms"].toInt() > 1000 && made["candidates"].toInt() > rules.size());
        QCOMPARE(made["candidates"].toInt() + made["trivial"].toInt() + made["untrue"].toInt() + made["renamed"].toInt(), made["pairs"].toInt());
        const auto fused = std::ranges::find_if(rules, [](const QJsonValue& rule) { return rule["right"] == "relu(conv(v1, v2))"; });
        QVERIFY(fused != rules.end());
        QCOMPARE(fused->toObject()["left"].toString(), QString("conv_relu(v1, v2)"));
        QCOMPARE(fused->toObject()["found_with"].toObject()["v1"].toString(), QString("2x4x5x5"));
        QFile written(file);
        QVERIFY(written.open(QIODevice::ReadOnly));
        const QList<QByteArray> lines = written.readAll().trimmed().split('\n');
        QCOMPARE(lines.size(), rules.size() + 1);
        QVERIFY(lines[0].startsWith("# "));
        QVERIFY(lines.contains("v1 = transpose(transpose(v1)) where v1: 2x4"));
        QVERIFY(made["peak_memory_bytes"].toDouble() > made["bytes"].toDouble());
        QVERIFY(made["disk_bytes"].toInt(-1) == 0 && !made["resumed"].toBool(true));
    }

    // Killed before anything is found, for all of four operators take long.
    void fourOperators() {
        const QString work = folder_.filePath("work");
        const QStringList four{"rules", "generate", "--operators", "4", "--work-folder", work};
        QProcess begun;
        begun.start(TEST_CLI, four);
        QTRY_VERIFY(QFile::exists(work + "/purpose.txt"));
        const CliResult second = runCli(four);
        QCOMPARE(second.status, 1);
        QVERIFY2(second.sentence().contains("at work"), second.errors);
        begun.kill();
        QVERIFY(begun.waitForFinished());
        const CliResult other = runCli(four + QStringList{"--seed", "2"});
        QCOMPARE(other.status, 1);
        QVERIFY2(other.sentence().contains("start anew"), other.errors);
        QFile letter(work + "/letter.txt");
        QVERIFY(letter.open(QIODevice::WriteOnly));
        const CliResult foreign = runCli(four);
        QCOMPARE(foreign.status, 1);
        QVERIFY2(foreign.sentence().contains(work.toUtf8()), foreign.errors);
    }

    void otherThreadsAndSeedsFindTheSame() {
        const QJsonArray first = generated({"--threads", "1"})["rules"].toArray();
        QVERIFY(!first.isEmpty());
        QCOMPARE(generated({"--threads", "2"})["rules"].toArray(), first);
        QCOMPARE(generated({"--seed", "5"})["rules"].toArray(), first);
    }

    void wrongUse() {
        const CliResult many = runCli({"rules", "generate", "--operators", "5"});
        QCOMPARE(many.status, 2);
        QVERIFY2(many.errors.contains("--operators"), many.errors);
        QCOMPARE(runCli({"rules"}).status, 2);
        const CliResult nowhere = runCli({"rules", "generate", "--operators", "1", "-o", folder_.filePath("none/rules.txt")});
        QCOMPARE(nowhere.status, 1);
        QVERIFY2(nowhere.sentence().contains("none/rules.txt"), nowhere.errors);
    }
};

QTEST_GUILESS_MAIN(TestCliRules)
#include "tst_cli_rules.moc"
