// SPDX-License-Identifier: GPL-3.0-or-later
#include "process_testing.h"
#include <QTemporaryDir>
#include <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

using namespace tunesmith;
using namespace tunesmith::testing;

// Whatever ends a worker or its workbench, nothing is left behind: neither the worker nor what it had
// started.
class TestWorkerOrphans : public QObject {
    Q_OBJECT

    static pid_t grandchildOf(WorkerClient& client) {
        const auto reply = client.call(request("grandchild"), 20s);
        return reply.ok() ? reply->body["pid"].get<pid_t>() : -1;
    }

private slots:
    void grandchildrenDie_data() {
        QTest::addColumn<QString>("how");
        for (const char* how : {"destructor", "crash", "exit", "timeout", "garbage", "restart"})
            QTest::newRow(how) << how;
    }
    void grandchildrenDie() {
        QFETCH(QString, how);
        auto started = WorkerClient::start(testWorker());
        QVERIFY(started.ok());
        auto client = std::move(started).value();
        const pid_t worker = client->pid(), grandchild = grandchildOf(*client);
        QVERIFY(grandchild > 0 && !processGone(grandchild));
        if (how == "destructor")
            client.reset();
        else if (how == "restart")
            QVERIFY(client->restart().ok());
        else if (how == "timeout")
            QVERIFY(client->exchange(request("hang"), 50ms).outcome == CallOutcome::timedOut);
        else
            QVERIFY(client->exchange(request(how.toStdString()), 20s).outcome == CallOutcome::crashed);
        QVERIFY(processGone(worker));
        QVERIFY(waitGone(grandchild));
    }

    void parentKilled_data() {
        QTest::addColumn<QString>("parent");
        QTest::newRow("own code") << "--parent";
        QTest::newRow("foreign code that stops its watch") << "--parent-of-foreign";
    }
    void parentKilled() {
        QFETCH(const QString, parent);
        QTemporaryDir folder;
        const std::string file = folder.filePath("pids").toStdString();
        std::string name = TEST_WORKER, option = parent.toStdString(), path = file;
        char* arguments[] = {name.data(), option.data(), path.data(), nullptr};
        pid_t workbench = -1;
        QCOMPARE(posix_spawn(&workbench, TEST_WORKER, nullptr, nullptr, arguments, environ), 0);
        QVERIFY(QTest::qWaitFor([&] { return QFile::exists(QString::fromStdString(file)); }, 30000));
        pid_t worker = -1, grandchild = -1;
        std::ifstream(file) >> worker >> grandchild;
        QVERIFY(worker > 0 && grandchild > 0);
        QTest::qWait(200); // by now the worker hangs in its handler
        QVERIFY(!processGone(worker) && !processGone(grandchild) && !processGone(workbench));

        ::kill(workbench, SIGKILL);
        QCOMPARE(::waitpid(workbench, nullptr, 0), workbench);
        const Stopwatch watch;
        QVERIFY(waitGone(worker, 10000));
        QVERIFY(waitGone(grandchild, 10000));
        QVERIFY2(watch.milliseconds() < 3000, qPrintable(QString::number(watch.milliseconds())));
    }

    // PR_SET_PDEATHSIG comes when the starting *thread* ends.
    void survivesTheThreadThatStartedIt_data() {
        QTest::addColumn<bool>("foreign");
        QTest::newRow("own code") << false;
        QTest::newRow("foreign code") << true;
    }
    void survivesTheThreadThatStartedIt() {
        QFETCH(const bool, foreign);
        WorkerOptions options = testWorker();
        if (foreign)
            options.confinement = Confinement{};
        std::unique_ptr<WorkerClient> client;
        std::thread([&] {
            auto started = WorkerClient::start(options);
            if (started.ok() && (*started)->call(request("echo"), 20s).ok())
                client = std::move(started).value();
        }).join();
        QVERIFY(client);
        const pid_t pid = client->pid();
        QTest::qWait(100);
        QVERIFY(client->alive());
        QVERIFY(client->call(request("echo"), 20s).ok());
        QCOMPARE(client->pid(), pid);
    }

    // Worker B must not hold worker A's socket open.
    void workersDoNotInheritEachOthersSockets() {
        auto a = WorkerClient::start(testWorker());
        auto b = WorkerClient::start(testWorker());
        QVERIFY(a.ok() && b.ok());
        QVERIFY((*b)->call(request("echo"), 20s).ok());
        const CallReport report = (*a)->exchange(request("exit"), 20s);
        QVERIFY(report.outcome == CallOutcome::crashed);
        QVERIFY((*b)->call(request("echo"), 20s).ok());
    }
};

QTEST_GUILESS_MAIN(TestWorkerOrphans)
#include "tst_worker_orphans.moc"
