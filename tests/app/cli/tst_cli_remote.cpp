// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <csignal>
#include <random>

#include "cli_process.h"
#include "remote_services.h"

using namespace tunesmith::testing;

namespace {

QStringList tuneOn(const QString& tracker, const QString& store, int trials = 8) {
    return {"tune", "encoder", "--device", "cpu", "--tracker", tracker, "--threads", "1", "--trials-per-workload", QString::number(trials), "--store", store, "--json"};
}

QJsonArray devicesOf(const QString& tracker) { return runCli({"devices", "--tracker", tracker, "--json"}).json()["devices"].toArray(); }

// Processes whose parent or further ancestor this is.
QList<qint64> childrenOf(qint64 parent) {
    QList<qint64> found;
    for (const QString& entry : QDir("/proc").entryList({"[0-9]*"}, QDir::Dirs)) {
        QFile stat("/proc/" + entry + "/stat");
        if (!stat.open(QIODevice::ReadOnly))
            continue;
        const QByteArray text = stat.readAll();
        const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
        if (fields.value(1).toLongLong() == parent && fields.value(0) != "Z")
            found << entry.toLongLong() << childrenOf(entry.toLongLong());
    }
    return found;
}

bool isAlive(qint64 pid) {
    QFile stat("/proc/" + QString::number(pid) + "/stat");
    if (!stat.open(QIODevice::ReadOnly))
        return false;
    const QByteArray text = stat.readAll();
    return text.mid(text.lastIndexOf(')') + 2, 1) != "Z";
}

} // namespace

// Trackers, servers and tunings as programs of their own.
class TestCliRemote : public QObject {
    Q_OBJECT

private slots:
    void lendsByKey() {
        const auto tracker = startTracker();
        QVERIFY(tracker->address().startsWith("127.0.0.1:"));
        const auto one = startMock(tracker->address(), "one"), two = startMock(tracker->address(), "two", {"--name", "second"});
        const QJsonArray devices = devicesOf(tracker->address());
        QCOMPARE(devices.size(), 2);
        QCOMPARE(devices[0].toObject()["keys"].toArray()[0].toString(), QString("one"));
        QCOMPARE(devices[1].toObject()["name"].toString(), QString("second"));
        QVERIFY(devices[0].toObject()["mock"].toBool() && devices[0].toObject()["client"].isNull());
        QVERIFY(devices[0].toObject()["confinement"].isNull()); // no kernel runs there
        const CliResult text = runCli({"devices", "--tracker", tracker->address()});
        QVERIFY(text.status == 0 && text.out.contains("second") && text.out.contains("free"));
        QCOMPARE(two->terminate(), 0);
        QCOMPARE(devicesOf(tracker->address()).size(), 1);
        QCOMPARE(tracker->terminate(), 0);
        QVERIFY(!tracker->errors().contains("refused"));
    }

    void twoTuningsSpread() {
        const QTemporaryDir folder;
        const auto tracker = startTracker();
        const auto one = startMock(tracker->address(), "cpu"), two = startMock(tracker->address(), "cpu");
        QProcess first, second;
        first.start(TEST_CLI, tuneOn(tracker->address(), folder.filePath("a.db")));
        second.start(TEST_CLI, tuneOn(tracker->address(), folder.filePath("b.db")));
        bool both = false;
        for (QElapsedTimer clock = [] { QElapsedTimer c; c.start(); return c; }(); !both && clock.elapsed() < 20'000;) {
            const QJsonArray devices = devicesOf(tracker->address());
            both = devices.size() == 2 && !devices[0].toObject()["client"].isNull() && !devices[1].toObject()["client"].isNull();
        }
        QVERIFY(both);
        QVERIFY(first.waitForFinished(60'000) && second.waitForFinished(60'000));
        QVERIFY2(first.exitCode() == 0 && second.exitCode() == 0, first.readAllStandardError() + second.readAllStandardError());
        for (const QJsonValue& device : devicesOf(tracker->address()))
            QVERIFY(device.toObject()["client"].isNull());
    }

    void tunesOnARealDevice() {
        const QTemporaryDir folder;
        const auto tracker = startTracker();
        Service server({"server", "--listen", "127.0.0.1:0", "--tracker", tracker->address(), "--key", "cpu", "--cores", "0", "--store", folder.filePath("server.db")});
        QVERIFY2(!server.address().isEmpty(), server.errors());
        const QJsonObject device = devicesOf(tracker->address())[0].toObject();
        QCOMPARE(device["cores"].toInt(), 1);
        QVERIFY(device["fma_gflops"].toDouble() > 1);
        const QString confinement = device["confinement"].toString();
        QVERIFY2(confinement == "full" || (confinement.startsWith("all but this: ") && server.errors().contains("but ")), qPrintable(confinement));
        const QString store = folder.filePath("client.db");
        const CliResult tuned = runCli({"tune", "mlp", "--device", "cpu", "--tracker", tracker->address(), "--trials-per-workload", "6", "--store", store, "--json"});
        QVERIFY2(tuned.status == 0, tuned.errors);
        QCOMPARE(tuned.json()["runs"].toArray().size(), 1); // one core, one leg
        QCOMPARE(tuned.json()["failed"].toInt(), 0);
        QVERIFY(tuned.json()["before_ms"].toDouble() > 0 && tuned.json()["after_ms"].toDouble() > 0);
        QVERIFY(runCli({"store", "check", "--store", store, "--json"}).json()["ok"].toBool());
        QVERIFY(server.errors().contains("serving"));
        if (QThread::idealThreadCount() > 1) { // else this machine is of the same kind
            const CliResult here = runCli({"tune", "mlp", "--resume", "1", "--store", store});
            QVERIFY2(here.status == 1 && here.sentence().contains("another machine"), here.errors);
        }
        QVERIFY(childrenOf(server.pid()).isEmpty()); // the workers of a client go with it
        QCOMPARE(server.terminate(), 0);
    }

    void refusesWithoutTheToken() {
        const QTemporaryDir folder;
        const QString right = writeFile(folder, "right", kToken), wrong = writeFile(folder, "wrong", "another token of this test");
        const auto tracker = startTracker({"--token-file", right});
        const auto server = startMock(tracker->address(), "cpu", {"--token-file", right});
        QVERIFY(!server->address().isEmpty());
        Service outsider({"server", "--listen", "127.0.0.1:0", "--tracker", tracker->address(), "--key", "cpu", "--mock", "--token-file", wrong});
        QVERIFY(outsider.address().isEmpty());
        for (const QStringList& token : {QStringList{"--token-file", wrong}, QStringList()}) {
            const CliResult list = runCli(QStringList{"devices", "--tracker", tracker->address()} + token);
            QVERIFY2(list.status == 1 && list.sentence().contains("--token-file"), list.errors);
            const CliResult tuned = runCli(tuneOn(tracker->address(), folder.filePath("a.db")) + token);
            QVERIFY2(tuned.status == 1 && tuned.sentence().contains("--token-file"), tuned.errors);
        }
        QCOMPARE(runCli(tuneOn(tracker->address(), folder.filePath("a.db"), 2) + QStringList{"--token-file", right}).status, 0);
        const QByteArray log = tracker->errors();
        QVERIFY(log.contains("a wrong token") && log.contains("no token"));
        QVERIFY(!log.contains(QByteArray(kToken).replace(' ', '-')));
    }

    void otherMachinesNeedEncryption() {
        const CliResult open = runCli({"tracker", "--listen", "0.0.0.0:0"});
        QVERIFY2(open.status == 1 && open.sentence().contains("--insecure"), open.errors);
        const CliResult calling = runCli({"devices", "--tracker", "192.0.2.1:9290"});
        QVERIFY2(calling.status == 1 && calling.sentence().contains("--ca"), calling.errors);
        Service insecure({"tracker", "--listen", "0.0.0.0:0", "--insecure"});
        QVERIFY(!insecure.address().isEmpty());
        QVERIFY(runCli({"devices", "--tracker", "127.0.0.1:" + insecure.address().section(':', 1)}).status == 0);
    }

    void certificates() {
        if (QStandardPaths::findExecutable("openssl").isEmpty())
            QSKIP("openssl makes the certificates of this test");
        const QTemporaryDir folder;
        const auto openssl = [&](const QString& arguments) {
            QProcess process;
            process.setWorkingDirectory(folder.path());
            process.start("openssl", arguments.split(' '));
            if (!process.waitForFinished() || process.exitCode() != 0)
                qFatal("openssl %s: %s", qPrintable(arguments), process.readAllStandardError().constData());
        };
        QFile names(folder.filePath("names"));
        QVERIFY(names.open(QIODevice::WriteOnly) && names.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n") > 0);
        names.close();
        for (const char* ca : {"ca", "other"})
            openssl(QString("req -x509 -newkey rsa:2048 -nodes -keyout %1.key -out %1.pem -days 30 -subj /CN=%1").arg(ca));
        openssl("req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=localhost");
        for (const auto& [name, days] : {std::pair("good", "30"), {"expired", "-1"}})
            openssl(QString("x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -days %1 -out %2.pem").arg(days, name));
        const QString token = writeFile(folder, "token", kToken);
        const auto listening = [&](const QString& name) { return QStringList{"--token-file", token, "--cert", folder.filePath(name + ".pem"), "--tls-key", folder.filePath("own.key")}; };
        const auto calling = [&](const QString& ca) { return QStringList{"--token-file", token, "--ca", folder.filePath(ca + ".pem")}; };

        Service good(QStringList{"tracker", "--listen", "0.0.0.0:0"} + listening("good"));
        const QString port = good.address().section(':', 1), address = "localhost:" + port;
        const auto server = startMock(address, "cpu", listening("good") + QStringList{"--ca", folder.filePath("ca.pem")});
        QVERIFY2(!server->address().isEmpty(), server->errors());
        const CliResult tuned = runCli(tuneOn(address, folder.filePath("a.db"), 2) + calling("ca"));
        QVERIFY2(tuned.status == 0, tuned.errors);
        QCOMPARE(runCli(QStringList{"devices", "--tracker", address} + calling("other")).status, 1);
        QCOMPARE(runCli({"devices", "--tracker", address, "--token-file", token}).status, 1); // no TLS

        QVERIFY2(!good.errors().contains("subjectAltName") && !server->errors().contains("subjectAltName"), good.errors() + server->errors());
        Service elsewhere(QStringList{"tracker", "--listen", "127.0.0.2:0"} + listening("good"));
        QTRY_VERIFY2_WITH_TIMEOUT(elsewhere.errors().contains("is for localhost, 127.0.0.1, not for 127.0.0.2") && elsewhere.errors().contains("subjectAltName=IP:127.0.0.2"), elsewhere.errors(), 2000);
        const CliResult refused = runCli(QStringList{"devices", "--tracker", elsewhere.address()} + calling("ca"));
        QVERIFY2(refused.status == 1 && refused.sentence().contains("127.0.0.2"), refused.errors);
        const auto advertised = startMock(address, "cpu", listening("good") + QStringList{"--ca", folder.filePath("ca.pem"), "--advertise", "device.example.org"});
        QTRY_VERIFY2_WITH_TIMEOUT(advertised->errors().contains("subjectAltName=DNS:device.example.org"), advertised->errors(), 2000);

        const CliResult expired = runCli(QStringList{"tracker", "--listen", "127.0.0.1:0"} + listening("expired"));
        QVERIFY2(expired.status == 1 && expired.sentence().contains("expired.pem: the certificate expired on"), expired.errors);
        const CliResult wrongKey = runCli(QStringList{"tracker", "--listen", "127.0.0.1:0", "--token-file", token, "--cert", folder.filePath("good.pem"), "--tls-key", folder.filePath("ca.key")});
        QVERIFY2(wrongKey.status == 1 && wrongKey.sentence().contains("is not its key"), wrongKey.errors);

        QFile rules(folder.filePath("ca.cnf"));
        QVERIFY(rules.open(QIODevice::WriteOnly) && rules.write("[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nserial=serial\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n") > 0);
        rules.close();
        writeFile(folder, "index", "");
        writeFile(folder, "serial", "77");
        const QDateTime end = QDateTime::currentDateTimeUtc().addSecs(15);
        openssl("ca -batch -notext -config ca.cnf -in own.csr -cert ca.pem -keyfile ca.key -extfile names -startdate 20200101000000Z -out brief.pem -enddate " + end.toString("yyyyMMddHHmmss'Z'"));
        Service brief(QStringList{"tracker", "--listen", "127.0.0.1:0"} + listening("brief"));
        QVERIFY2(!brief.address().isEmpty(), brief.errors());
        const auto ask = [&] { return runCli(QStringList{"devices", "--tracker", brief.address()} + calling("ca")); };
        QVERIFY2(ask().status == 0, ask().errors);
        QTest::qWait(static_cast<int>(QDateTime::currentDateTimeUtc().msecsTo(end)) + 1000); // it ends while it is served with
        const CliResult late = ask();
        QVERIFY2(late.status == 1 && late.sentence().contains("cannot be reached"), late.errors);
        QTRY_VERIFY2_WITH_TIMEOUT(brief.errors().contains("our certificate expired on"), brief.errors(), 5000);
    }

    // Any of them is killed at any moment: the tuning goes on elsewhere or waits, and is whole at the end.
    void kills() {
        const QTemporaryDir folder;
        const QString store = folder.filePath("trials.db");
        auto tracker = startTracker();
        tracker->listenAgainAt(tracker->address());
        std::vector<std::unique_ptr<Service>> servers;
        for (int i = 0; i < 2; ++i)
            servers.push_back(startMock(tracker->address(), "cpu"));
        std::mt19937 random(7);
        const QStringList arguments = tuneOn(tracker->address(), store, 60);
        auto client = std::make_unique<QProcess>();
        client->start(TEST_CLI, arguments);
        const auto clientIsDone = [&](int milliseconds) { return client->waitForFinished(milliseconds) || client->state() == QProcess::NotRunning; };
        int rounds = 0;
        for (; rounds < 12 && !clientIsDone(200 + static_cast<int>(random() % 800)); ++rounds) {
            const auto victim = random() % 5;
            if (victim == 0) {
                tracker->kill();
                tracker->start();
                QVERIFY(!tracker->address().isEmpty());
            } else if (victim <= 2) {
                servers[victim - 1]->kill();
                servers[victim - 1]->start();
                QVERIFY2(!servers[victim - 1]->address().isEmpty(), servers[victim - 1]->errors());
            } else if (victim == 3) {
                servers[0]->signal(SIGSTOP);
                QTest::qWait(300);
                servers[0]->signal(SIGCONT);
            } else {
                client->kill();
                QVERIFY(client->waitForFinished());
                client = std::make_unique<QProcess>();
                const bool begun = runCli({"store", "check", "--store", store, "--json"}).json()["runs"].toInt() > 0;
                client->start(TEST_CLI, begun ? arguments + QStringList{"--resume", "1"} : arguments);
            }
        }
        QVERIFY(clientIsDone(60'000));
        QVERIFY2(client->exitCode() == 0, client->readAllStandardError());
        const QJsonObject result = QJsonDocument::fromJson(client->readAllStandardOutput()).object();
        QCOMPARE(result["failed"].toInt(), 0);
        int64_t trials = 0;
        for (const QJsonValue& workload : result["workloads"].toArray())
            trials += workload.toObject()["trials"].toInt();
        const QJsonObject check = runCli({"store", "check", "--store", store, "--json"}).json();
        QVERIFY(check["ok"].toBool());
        QCOMPARE(check["trials"].toInt(), static_cast<int>(trials));
    }

    void killedServersLeaveNoWorkers() {
        const QTemporaryDir folder;
        const auto tracker = startTracker();
        Service server({"server", "--listen", "127.0.0.1:0", "--tracker", tracker->address(), "--key", "cpu", "--threads", "1", "--store", folder.filePath("server.db")});
        QVERIFY2(!server.address().isEmpty(), server.errors());
        QProcess client;
        client.start(TEST_CLI, tuneOn(tracker->address(), folder.filePath("client.db"), 64));
        QTRY_VERIFY_WITH_TIMEOUT(!childrenOf(server.pid()).isEmpty(), 20'000);
        QTest::qWait(500);
        const QList<qint64> workers = childrenOf(server.pid());
        client.kill(); // the client's death frees the device ...
        QVERIFY(client.waitForFinished());
        QTRY_VERIFY_WITH_TIMEOUT(devicesOf(tracker->address())[0].toObject()["client"].isNull(), 10'000);
        for (const qint64 worker : workers)
            QVERIFY(!isAlive(worker));
        client.start(TEST_CLI, tuneOn(tracker->address(), folder.filePath("client.db"), 64));
        QTRY_VERIFY_WITH_TIMEOUT(!childrenOf(server.pid()).isEmpty(), 20'000);
        const QList<qint64> next = childrenOf(server.pid());
        ::kill(static_cast<pid_t>(next.first()), SIGKILL); // ... a worker's costs a trial ...
        QTest::qWait(500);
        const QList<qint64> last = childrenOf(server.pid());
        server.kill(); // ... and a server takes its own along
        for (const qint64 worker : last)
            QTRY_VERIFY_WITH_TIMEOUT(!isAlive(worker), 5000);
        client.terminate();
        QVERIFY(client.waitForFinished(10'000));
    }

    void wrongUsage_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        QTest::newRow("server without a tracker") << QStringList{"server", "--key", "cpu"} << 2;
        QTest::newRow("server without a key") << QStringList{"server", "--tracker", "127.0.0.1:1"} << 2;
        QTest::newRow("device without a tracker") << QStringList{"tune", "mlp", "--device", "cpu"} << 2;
        QTest::newRow("mock times without a mock") << QStringList{"server", "--tracker", "127.0.0.1:1", "--key", "cpu", "--build-ms", "3"} << 2;
        QTest::newRow("no address") << QStringList{"tracker", "--listen", "nowhere"} << 2;
        QTest::newRow("no cores") << QStringList{"server", "--tracker", "127.0.0.1:1", "--key", "cpu", "--cores", "3-1"} << 2;
        QTest::newRow("cores that are none") << QStringList{"server", "--tracker", "127.0.0.1:1", "--key", "cpu", "--cores", "1,,2"} << 2;
        QTest::newRow("layouts") << QStringList{"tune", "mlp", "--device", "cpu", "--tracker", "127.0.0.1:1", "--layouts"} << 1;
        QTest::newRow("no tracker there") << QStringList{"devices", "--tracker", "127.0.0.1:1"} << 1;
        QTest::newRow("certificate without its key") << QStringList{"tracker", "--listen", "127.0.0.1:0", "--cert", "/etc/hostname"} << 1;
        QTest::newRow("no token file") << QStringList{"tracker", "--listen", "127.0.0.1:0", "--token-file", "/nonexistent"} << 1;
        for (const char* option : {"--token-file", "--ca"}) // a script's variable that is not set
            QTest::addRow("empty %s", option) << QStringList{"devices", "--tracker", "127.0.0.1:1", option, ""} << 2;
        for (const char* option : {"--cert", "--tls-key", "--cores"})
            QTest::addRow("empty %s", option) << QStringList{"server", "--tracker", "127.0.0.1:1", "--key", "a b", option, ""} << 2;
    }
    void wrongUsage() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        const CliResult result = runCli(arguments);
        QCOMPARE(result.status, status);
        QVERIFY2(!result.sentence().isEmpty(), result.errors);
    }
};

QTEST_GUILESS_MAIN(TestCliRemote)
#include "tst_cli_remote.moc"
