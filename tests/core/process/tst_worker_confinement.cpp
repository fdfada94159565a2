// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <sys/syscall.h>
#include <unistd.h>

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
        for (const char* what : {"signal itself", "have threads", "read a file"})
            QVERIFY2(confined.at(what).get<bool>(), what);
    }

    void aConfinedWorkerWritesNoFiles() {
        const QTemporaryDir folder;
        QVERIFY(attempts(false, folder.filePath("free")).at("write a file").get<bool>());
        if (::syscall(__NR_landlock_create_ruleset, nullptr, 0, 1) < 0)
            QSKIP("this kernel has no Landlock");
        QVERIFY(!attempts(true, folder.filePath("confined")).at("write a file").get<bool>());
        QVERIFY(!QFile::exists(folder.filePath("confined")));
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
