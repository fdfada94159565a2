// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "cli_process.h"

using namespace tunesmith::testing;

class TestCliJobs : public QObject {
    Q_OBJECT

    static QJsonObject simulated(const QStringList& more) {
        const CliResult result = runCli(QStringList{"jobs", "simulate", "--json"} + more);
        if (result.status != 0)
            qWarning("%s", result.errors.constData());
        return result.json();
    }

private slots:
    void saysHowNearItComesToTheBound() {
        const QStringList thesis{"--jobs", "2", "--batches", "600", "--build", "8.3", "--profile", "39.5", "--update", "44", "--updates", "5/6"};
        const QJsonObject two = simulated(thesis + QStringList{"--in-flight", "2"});
        for (const char* key : {"policy", "makespan_s", "bound_s", "waiting_s", "disturbed_s", "fairness", "utilisation"})
            QVERIFY2(two.contains(key), key);
        QCOMPARE(two["policy"].toString(), QString("predictive"));
        QVERIFY(two["makespan_s"].toDouble() <= 1.05 * two["bound_s"].toDouble());
        QVERIFY(two["utilisation"].toObject()["client"].toDouble() > 0.95);
        QCOMPARE(two["disturbed_s"].toDouble(), 0.0);
        const QJsonObject one = simulated(thesis + QStringList{"--in-flight", "1"});
        QVERIFY(one["makespan_s"].toDouble() <= 1.12 * one["bound_s"].toDouble());
        QVERIFY(one["makespan_s"].toDouble() > two["makespan_s"].toDouble());
    }

    void comparesPolicies() {
        const QJsonArray policies = simulated({"--policy", "all", "--batches", "50"})["policies"].toArray();
        QStringList names;
        for (const QJsonValue& each : policies) {
            names << each["policy"].toString();
            QVERIFY(each["makespan_s"].toDouble() >= each["bound_s"].toDouble() - 1e-6);
            QCOMPARE(each["disturbed_s"].toDouble() > 0, each["policy"].toString() == "shared");
        }
        QCOMPARE(names, (QStringList{"sequential", "shared", "greedy", "fair", "predictive"}));
        const CliResult table = runCli({"jobs", "simulate", "--policy", "all", "--batches", "50"});
        QVERIFY2(table.status == 0 && table.out.contains("predictive") && table.out.contains("No schedule takes less than"), table.out);
    }

    void theSameSeedTheSameTimes() {
        const QStringList options{"--batches", "40", "--spread", "0.4", "--seed", "7"};
        QCOMPARE(simulated(options), simulated(options));
        QVERIFY(simulated(options)["makespan_s"] != simulated({"--batches", "40", "--spread", "0.4", "--seed", "8"})["makespan_s"]);
    }

    void whatMakesNoSense_data() {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("says");
        QTest::newRow("no jobs") << QStringList{"--jobs", "0"} << 2 << "--jobs";
        QTest::newRow("no devices") << QStringList{"--devices", "-1"} << 2 << "--devices";
        QTest::newRow("no batches") << QStringList{"--batches", "0"} << 2 << "--batches";
        QTest::newRow("none in flight") << QStringList{"--in-flight", "0"} << 2 << "--in-flight";
        QTest::newRow("negative time") << QStringList{"--profile", "-2"} << 2 << "--profile";
        QTest::newRow("no number") << QStringList{"--update", "nan"} << 2 << "--update";
        QTest::newRow("endless") << QStringList{"--build", "inf"} << 2 << "--build";
        QTest::newRow("more than all") << QStringList{"--updates", "7/6"} << 2 << "--updates 7/6";
        QTest::newRow("no share") << QStringList{"--updates", "many"} << 2 << "--updates many";
        QTest::newRow("of nothing") << QStringList{"--updates", "0/0"} << 2 << "--updates 0/0";
        QTest::newRow("wide") << QStringList{"--spread", "1"} << 2 << "--spread";
        QTest::newRow("too many") << QStringList{"--jobs", "2000", "--batches", "2000"} << 1 << "three million";
        QTest::newRow("policy") << QStringList{"--policy", "magic"} << 2 << "magic";
        QTest::newRow("words") << QStringList{"--jobs", "two"} << 2 << "two";
    }
    void whatMakesNoSense() {
        QFETCH(QStringList, options);
        QFETCH(int, status);
        QFETCH(QString, says);
        const CliResult result = runCli(QStringList{"jobs", "simulate"} + options);
        QCOMPARE(result.status, status);
        QVERIFY2(result.errors.contains(says.toUtf8()), result.errors);
    }

    // Jobs that were run, run again by every policy.
    void sessionsAreSimulated() {
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db"), jobs = folder.filePath("jobs.toml");
        QFile file(jobs);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("threads = 1\ntrials = 2\n[[job]]\nmodel = 'mlp'\n[[job]]\nname = 'second'\nmodel = 'mlp'\nstrategy = 'random'\n") > 0);
        file.close();
        const CliResult ran = runCli({"jobs", "run", jobs, "--store", store, "--json"});
        QVERIFY2(ran.status == 0, ran.errors);
        const QJsonObject all = simulated({"--store", store, "--session", "1", "--policy", "all"}), session = all["session"].toObject();
        QCOMPARE(session["policy"].toString(), QString("predictive"));
        QCOMPARE(session["state"].toString(), QString("ended"));
        QVERIFY(session["jobs"].toInt() == 2 && session["stages"] == ran.json()["stages"] && std::abs(session["makespan_s"].toDouble() - ran.json()["makespan_s"].toDouble()) < 1e-6);
        QVERIFY(session["waiting_s"].toDouble() >= 0 && session["utilisation"].toObject()["core"].toDouble() > 0);
        QCOMPARE(all["policies"].toArray().size(), 5);
        for (const QJsonValue& each : all["policies"].toArray())
            QVERIFY(each["makespan_s"].toDouble() >= each["bound_s"].toDouble() - 1e-6 && each["bound_s"].toDouble() > 0 && each["fairness"].toDouble() > 0);
        const QJsonObject one = simulated({"--store", store, "--session", "1"});
        QVERIFY(one["policy"].toString() == "predictive" && one["session"] == session && one["bound_s"].toDouble() <= session["makespan_s"].toDouble() + 1e-6);
        const CliResult text = runCli({"jobs", "simulate", "--store", store, "--session", "1", "--policy", "all"});
        QVERIFY2(text.status == 0 && text.out.contains("Session 1 really took") && text.out.contains("No schedule takes less than"), text.out);
        const CliResult none = runCli({"jobs", "simulate", "--store", store, "--session", "2"});
        QVERIFY2(none.status == 1 && none.sentence().contains("no session 2"), none.errors);
        const CliResult devices = runCli({"jobs", "simulate", "--store", store, "--session", "1", "--devices", "2"});
        QVERIFY2(devices.status == 1 && devices.sentence().contains("had no devices"), devices.errors);
        for (const char* option : {"--jobs", "--batches", "--build", "--spread"}) {
            const CliResult both = runCli({"jobs", "simulate", "--store", store, "--session", "1", option, "3"});
            QVERIFY2(both.status == 2 && both.errors.contains(option), both.errors);
        }
    }

    void noTimeAtAll() { QCOMPARE(simulated({"--build", "0", "--profile", "0", "--update", "0", "--batches", "3"})["makespan_s"].toDouble(), 0.0); }
};

QTEST_GUILESS_MAIN(TestCliJobs)
#include "tst_cli_jobs.moc"
