// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>
#include <atomic>
#include <thread>
#include <vector>

#include "core/executors/call_memory.h"

using namespace tunesmith;
using std::chrono::milliseconds;

namespace {

bool never() { return false; }

} // namespace

class TestCallMemory : public QObject {
    Q_OBJECT

private slots:
    void whatFitsIsGiven() {
        CallMemory memory(100);
        const auto first = memory.take(60, milliseconds(0), {}), second = memory.take(40, milliseconds(0), {});
        QVERIFY(first && second);
        QVERIFY(!memory.take(1, milliseconds(0), {}));
        QVERIFY(memory.take(0, milliseconds(0), {}));
    }

    void whoIsAloneGetsAnything() {
        CallMemory memory(100);
        auto large = memory.take(std::size_t(-1), milliseconds(0), {});
        QVERIFY(large && !memory.take(1, milliseconds(0), {}));
        large = {};
        QVERIFY(memory.take(100, milliseconds(0), {}));
    }

    void sharesAreMoved() {
        CallMemory memory(100);
        CallMemory::Share own;
        {
            auto first = memory.take(100, milliseconds(0), {});
            own = std::move(first);
        }
        QVERIFY(own && !memory.take(1, milliseconds(0), {}));
        const CallMemory::Share last = std::move(own);
        QVERIFY(last && !memory.take(1, milliseconds(0), {}));
    }

    void waitingEnds() {
        CallMemory memory(100);
        auto held = memory.take(100, milliseconds(0), {});
        QElapsedTimer clock;
        clock.start();
        QVERIFY(!memory.take(1, milliseconds(100), never) && clock.elapsed() >= 100);
        std::atomic<bool> isUnwanted = false;
        const std::jthread other([&] { isUnwanted = true; });
        QVERIFY(!memory.take(1, milliseconds(60'000), [&] { return isUnwanted.load(); }));
        const std::jthread freed([&] {
            std::this_thread::sleep_for(milliseconds(50));
            held = {};
        });
        QVERIFY(memory.take(100, milliseconds(60'000), never));
    }

    void manyNeverHoldMore() {
        CallMemory memory(100);
        std::atomic<int> held = 0, most = 0;
        {
            std::vector<std::jthread> callers;
            for (int i = 0; i < 8; ++i)
                callers.emplace_back([&] {
                    for (int n = 0; n < 200; ++n) {
                        const auto share = memory.take(30, milliseconds(60'000), never);
                        const int now = held += 30;
                        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                        }
                        held -= 30;
                    }
                });
        }
        QVERIFY(most <= 100 && held == 0);
    }
};

QTEST_APPLESS_MAIN(TestCallMemory)
#include "tst_call_memory.moc"
