// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/process/confinement.h"
#include "process_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

class TestWorkerConfinement : public QObject {
    Q_OBJECT

    static nlohmann::json attempts(bool confined, const QString& file) {
        WorkerOptions options = testWorker();
        options.confined = confined;
        const auto client = take(WorkerClient::start(options));
        return take(client->call(request("attempts", {{"file", file.toStdString()}, {"parent", ::getpid()}}), 20s)).body;
    }

private slots:
    void aConfinedWorkerOnlyComputes() {
        const QTemporaryDir folder;
        const nlohmann::json free = attempts(false, folder.filePath("free")), confined = attempts(true, folder.filePath("confined"));
        for (const char* what : {"connect", "connect locally", "start a program", "fork", "signal others", "limit others"}) {
            QVERIFY2(free.at(what).get<bool>(), what);
            QVERIFY2(!confined.at(what).get<bool>(), what);
        }
        QVERIFY(!confined.at("leave its group").get<bool>());
        for (const char* what : {"signal itself", "have threads", "read a file", "read about processors"})
            QVERIFY2(confined.at(what).get<bool>(), what);
    }

    void aConfinedWorkerWritesNoFiles() {
        const QTemporaryDir folder;
        QVERIFY(attempts(false, folder.filePath("free")).at("write a file").get<bool>());
        QVERIFY(!attempts(true, folder.filePath("confined")).at("write a file").get<bool>());
        QVERIFY(!QFile::exists(folder.filePath("confined")));
    }

    void filesOfTheUserAreSafe() {
        const auto changes = [](bool confined) {
            const QTemporaryDir folder;
            QFile file(folder.filePath("file"));
            const QByteArray text = "a key of the user's";
            if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
                qFatal("cannot write a file");
            file.close();
            WorkerOptions options = testWorker();
            options.confined = confined;
            const auto client = take(WorkerClient::start(options));
            const nlohmann::json can = take(client->call(request("attempts-on-file", {{"folder", folder.path().toStdString()}}), 20s)).body;
            const bool whole = file.open(QIODevice::ReadOnly) && file.readAll() == text && QDir(folder.path()).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot).size() == 1;
            return std::pair(can, whole);
        };
        const auto [free, changed] = changes(false);
        const auto [confined, whole] = changes(true);
        QVERIFY(!changed && whole);
        for (const auto& [what, could] : free.items()) {
            const bool reads = what == "read it" || what == "read it by another way" || what == "list its folder";
            QVERIFY2(could.get<bool>(), what.c_str());
            if (what == "ask what a descriptor is")
                QVERIFY(confined.at(what).get<bool>());
            else if (!reads || confinementGap().empty())
                QVERIFY2(!confined.at(what).get<bool>(), what.c_str());
        }
    }

    void secretsOfTheEnvironmentAreNotInherited() {
        qputenv("TEST_EXTRA", "a secret");
        const auto extra = [](bool confined, std::map<std::string, std::string> environment = {}) {
            WorkerOptions options = testWorker();
            options.confined = confined;
            options.environment = std::move(environment);
            const auto client = take(WorkerClient::start(options));
            return take(client->call(request("about"), 20s)).body.at("extra").get<std::string>();
        };
        QCOMPARE(extra(false), std::string("a secret"));
        QCOMPARE(extra(true), std::string());
        QCOMPARE(extra(true, {{"TEST_EXTRA", "given"}}), std::string("given"));
        qunsetenv("TEST_EXTRA");
    }

    void noMemoryIsUncounted() {
        if (kSanitized)
            QSKIP("workers of sanitized programs have no limits");
        constexpr std::size_t kLimit = std::size_t(256) << 20, kMore = std::size_t(1) << 40;
        const auto attempts = [](bool confined) {
            WorkerOptions options = testWorker();
            options.confined = confined;
            options.memoryLimit = kLimit;
            const auto client = take(WorkerClient::start(options));
            return take(client->call(request("attempts-on-memory", {{"bytes", confined ? kMore : 2 * kLimit}}), 20s)).body;
        };
        const nlohmann::json free = attempts(false), confined = attempts(true);
        for (const auto& [what, could] : free.items()) {
            QVERIFY2(could.get<bool>(), what.c_str());
            QVERIFY2(confined.at(what).get<bool>() == (what == "allocate"), what.c_str());
        }
    }

    void whatCannotBeEnforcedIsSaid() {
        const bool landlock = ::syscall(__NR_landlock_create_ruleset, nullptr, 0, 1) >= 1;
        QCOMPARE(confinementGap().empty(), landlock);
    }

    void itsDeathIsSeenAsEver() {
        WorkerOptions options = testWorker();
        options.confined = true;
        const auto client = take(WorkerClient::start(options));
        QVERIFY(client->exchange(request("crash"), 20s).outcome == CallOutcome::crashed);
        QVERIFY(client->exchange(request("hang"), 100ms).outcome == CallOutcome::timedOut);
        QVERIFY(client->exchange(request("echo"), 20s).replied());
        const pid_t pid = client->pid();
        QVERIFY(!processGone(pid));
    }
};

QTEST_GUILESS_MAIN(TestWorkerConfinement)
#include "tst_worker_confinement.moc"
