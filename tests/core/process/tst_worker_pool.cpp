// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_pool.h"
#include "process_testing.h"
#include <atomic>
#include <set>
#include <thread>

using namespace tunesmith;
using namespace tunesmith::testing;

class TestWorkerPool : public QObject {
    Q_OBJECT

    static std::unique_ptr<WorkerPool> pool(std::size_t workers) {
        auto result = WorkerPool::start(testWorker(), workers);
        return result.ok() ? std::move(result).value() : nullptr;
    }

private slots:
    void manyThreads() {
        const auto workers = pool(3);
        QVERIFY(workers);
        std::atomic<int> right{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 40; ++i) {
                    Message sent = request("echo", {{"id", t * 1000 + i}});
                    sent.blobs.emplace_back(std::size_t(t * 100 + i), std::byte(i));
                    const auto reply = workers->call(sent, 60s);
                    right += reply.ok() && reply->body == sent.body && reply->blobs == sent.blobs;
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(right.load(), 320);
        const auto counts = workers->counts();
        QCOMPARE(counts.calls, std::size_t(320));
        QCOMPARE(counts.busy, std::size_t(0));
        QCOMPARE(counts.restarts, std::size_t(0));
    }

    void someCallsCrashTheOthersDoNotNotice() {
        const auto workers = pool(2);
        QVERIFY(workers);
        std::atomic<int> echoed{0}, crashed{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 10; ++i) {
                    if ((t + i) % 4 == 0)
                        crashed += workers->exchange(request("crash"), 60s).outcome == CallOutcome::crashed;
                    else
                        echoed += workers->call(request("echo"), 60s).ok();
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(crashed.load(), 10);
        QCOMPARE(echoed.load(), 30);
        QCOMPARE(workers->counts().crashes, std::size_t(10));
        QVERIFY(workers->counts().restarts >= 8 && workers->counts().restarts <= 10);
    }

    void callsRunAtTheSameTime() {
        const auto workers = pool(4);
        QVERIFY(workers);
        const Stopwatch watch;
        std::vector<std::thread> threads;
        std::atomic<int> fine{0};
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] { fine += workers->call(request("sleep", {{"ms", 1000}}), 60s).ok(); });
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(fine.load(), 4);
        QVERIFY2(watch.milliseconds() < 3000, qPrintable(QString::number(watch.milliseconds())));
    }

    void cancellationReachesRunningAndWaitingCalls() {
        const auto workers = pool(1);
        QVERIFY(workers && workers->call(request("echo"), 60s).ok());
        StopSource source;
        std::vector<std::thread> threads;
        std::atomic<int> cancelled{0};
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                const auto report = workers->exchange(request("hang"), 60s, source.token());
                cancelled += report.outcome == CallOutcome::cancelled;
            });
        std::this_thread::sleep_for(200ms);
        QCOMPARE(workers->counts().busy, std::size_t(1));
        const Stopwatch watch;
        source.requestStop();
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(cancelled.load(), 3);
        QVERIFY2(watch.milliseconds() < 100 * (kSanitized ? 5 : 1),
                 qPrintable(QString::number(watch.milliseconds())));
        QVERIFY(workers->call(request("echo"), 60s).ok());
    }

    void timeouts() {
        const auto workers = pool(1);
        QVERIFY(workers && workers->call(request("echo"), 60s).ok());
        QCOMPARE(int(workers->exchange(request("hang"), 100ms).outcome), int(CallOutcome::timedOut));
        QCOMPARE(workers->counts().timeouts, std::size_t(1));
    }

    void endsItsWorkers() {
        std::set<pid_t> pids;
        {
            const auto workers = pool(2);
            QVERIFY(workers);
            std::mutex mutex;
            std::vector<std::thread> threads;
            for (int t = 0; t < 2; ++t)
                threads.emplace_back([&] {
                    const auto child = workers->call(request("grandchild"), 60s);
                    const auto about = workers->call(request("about"), 60s);
                    const std::lock_guard lock(mutex);
                    if (child.ok() && about.ok())
                        pids.insert({child->body["pid"].get<pid_t>(), about->body["pid"].get<pid_t>()});
                });
            for (std::thread& thread : threads)
                thread.join();
            QVERIFY(pids.size() >= 3);
        }
        for (const pid_t pid : pids)
            QVERIFY(waitGone(pid));
    }

    void needsAWorker() {
        QVERIFY(!WorkerPool::start(testWorker(), 0).ok());
        WorkerOptions nowhere;
        nowhere.executable = "/nowhere";
        QVERIFY(!WorkerPool::start(nowhere, 2).ok());
    }
};

QTEST_GUILESS_MAIN(TestWorkerPool)
#include "tst_worker_pool.moc"
