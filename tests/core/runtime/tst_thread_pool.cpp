// SPDX-License-Identifier: GPL-3.0-or-later
#include <QProcess>
#include <QTest>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
#include "thread_pool.h"
}

namespace {

struct PoolDeleter {
    void operator()(TsPool* pool) const { ts_pool_destroy(pool); }
};
using Pool = std::unique_ptr<TsPool, PoolDeleter>;

Pool makePool(int threads) {
    int error = 0;
    return Pool(ts_pool_create(threads, &error));
}

void count(void** arguments, std::int64_t begin, std::int64_t end) {
    auto& counts = *static_cast<std::vector<std::atomic<int>>*>(arguments[0]);
    for (std::int64_t i = begin; i < end; ++i)
        ++counts[static_cast<std::size_t>(i)];
}

int threadsOfProcess() {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
        found += !entry.path().empty();
    return found;
}

} // namespace

class TestThreadPool : public QObject {
    Q_OBJECT

private slots:
    void everyIterationOnce_data() {
        QTest::addColumn<int>("threads");
        QTest::addColumn<int>("extent");
        for (const int threads : {2, 3, 4, 7, 64})
            for (const int extent : {0, 1, 2, 3, 15, 16, 17, 1000, 100003})
                QTest::addRow("%d threads, %d", threads, extent) << threads << extent;
    }
    void everyIterationOnce() {
        QFETCH(int, threads);
        QFETCH(int, extent);
        const Pool pool = makePool(threads);
        QVERIFY(pool);
        for (int round = 0; round < 20; ++round) {
            std::vector<std::atomic<int>> counts(static_cast<std::size_t>(extent));
            void* arguments[] = {&counts};
            ts_pool_run(pool.get(), count, arguments, extent);
            for (const auto& value : counts)
                QCOMPARE(value.load(), 1);
        }
    }

    void rangesOfHugeExtents() { // no overflow in the arithmetic of chunks
        const Pool pool = makePool(3);
        static std::atomic<std::int64_t> sum, calls;
        sum = calls = 0;
        ts_pool_run(
            pool.get(),
            [](void**, std::int64_t begin, std::int64_t end) {
                sum += end - begin;
                ++calls;
            },
            nullptr, INT64_MAX);
        QCOMPARE(sum.load(), INT64_MAX);
        QCOMPARE(calls.load(), std::int64_t(24));
    }

    void startsAndEndsItsThreads() {
        const int before = threadsOfProcess();
        {
            const Pool pool = makePool(5);
            QCOMPARE(threadsOfProcess(), before + 4);
        }
        QTRY_COMPARE(threadsOfProcess(), before);
    }

    // A share whose owner is stuck is finished by the others: one slow iteration delays nothing but its own
    // chunk.
    void othersHelp() {
        const Pool pool = makePool(2);
        static std::atomic<int> after;
        static std::atomic<bool> helped;
        after = 0;
        helped = false;
        const auto body = [](void**, std::int64_t begin, std::int64_t) {
            if (begin == 0) { // waits until all other chunks of both shares are done
                const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                while (after < 15 && std::chrono::steady_clock::now() < end)
                    std::this_thread::yield();
                helped = after == 15;
            } else {
                ++after;
            }
        };
        ts_pool_run(pool.get(), body, nullptr, 16);
        QVERIFY(helped);
    }

    void wakesFromSleep() {
        const Pool pool = makePool(3);
        for (int round = 0; round < 20; ++round) {
            std::vector<std::atomic<int>> counts(100);
            void* arguments[] = {&counts};
            ts_pool_run(pool.get(), count, arguments, 100);
            for (const auto& value : counts)
                QCOMPARE(value.load(), 1);
            std::this_thread::sleep_for(std::chrono::milliseconds(2)); // longer than anybody spins
        }
    }

    void idleThreadsSleep() {
        const Pool pool = makePool(2);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const std::clock_t before = std::clock(); // of the whole process
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        QVERIFY(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.05);
    }

    void poolsOnSeveralThreads() {
        std::vector<std::thread> threads;
        std::atomic<int> wrong = 0;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&wrong] {
                const Pool pool = makePool(2);
                for (int round = 0; round < 200; ++round) {
                    std::vector<std::atomic<int>> counts(33);
                    void* arguments[] = {&counts};
                    ts_pool_run(pool.get(), count, arguments, 33);
                    for (const auto& value : counts)
                        wrong += value != 1;
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(wrong.load(), 0);
    }

    void noRaces() {
#ifdef POOL_RACE
        QProcess process;
        process.start(POOL_RACE, {});
        QVERIFY(process.waitForFinished(90000));
        const QByteArray errors = process.readAllStandardError();
        if (errors.contains("unexpected memory mapping"))
            QSKIP("the thread sanitizer does not run on this kernel");
        QVERIFY2(process.exitCode() == 0 && process.readAllStandardOutput() == "done\n", errors.constData());
#else
        QSKIP("the compiler has no thread sanitizer");
#endif
    }
};

QTEST_GUILESS_MAIN(TestThreadPool)
#include "tst_thread_pool.moc"
