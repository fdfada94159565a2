// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/log.h"
#include "core/base/stop_token.h"
#include "core/base/strong_id.h"

#include <QTest>

#include <atomic>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

using namespace tunesmith;

namespace {

using NodeId = StrongId<struct NodeTag>;
using ValueId = StrongId<struct ValueTag>;

// The sink is one for the process: every test leaves without one.
class SinkGuard {
public:
    explicit SinkGuard(LogSink sink) { setLogSink(std::move(sink)); }
    ~SinkGuard() { setLogSink({}); }
    SinkGuard(const SinkGuard&) = delete;
    SinkGuard& operator=(const SinkGuard&) = delete;
};

} // namespace

class TestBaseTypes : public QObject {
    Q_OBJECT
private slots:
    void idsOfDifferentKindsDoNotMix() {
        QVERIFY(!(std::is_convertible_v<NodeId, ValueId>));
        QVERIFY(!(std::is_constructible_v<NodeId, ValueId>));
        QVERIFY(!(std::is_convertible_v<int, NodeId>));
        QVERIFY(!(std::is_convertible_v<NodeId, int>));
    }

    void idsKnowNone() {
        QVERIFY(!NodeId().valid());
        QVERIFY(!NodeId(-1).valid());
        QVERIFY(NodeId(0).valid());
        QCOMPARE(NodeId(5).index(), std::size_t(5));
    }

    void idsCompareAndHash() {
        QVERIFY(NodeId(1) == NodeId(1));
        QVERIFY(NodeId(1) < NodeId(2));
        QVERIFY(NodeId() < NodeId(0));
        const std::unordered_set<NodeId> ids{NodeId(1), NodeId(2), NodeId(1)};
        QCOMPARE(ids.size(), std::size_t(2));
        QVERIFY(ids.contains(NodeId(2)) && !ids.contains(NodeId(3)));
    }

    void aDefaultTokenNeverStops() { QVERIFY(!StopToken().stopRequested()); }

    void everyTokenOfASourceStops() {
        StopSource source;
        const StopToken before = source.token();
        const StopToken copy = before;
        StopSource unrelated;
        QVERIFY(!before.stopRequested() && !source.stopRequested());
        source.requestStop();
        QVERIFY(source.stopRequested() && before.stopRequested() && copy.stopRequested());
        QVERIFY(source.token().stopRequested());
        QVERIFY(!unrelated.stopRequested());
    }

    void eitherOfSeveralStops() {
        for (int which = 0; which < 3; ++which) {
            StopSource sources[3];
            const StopToken any = sources[0].token() | sources[1].token() | StopToken() | sources[2].token();
            const StopToken grouped = sources[0].token() | (sources[1].token() | sources[2].token());
            QVERIFY(!any.stopRequested() && !grouped.stopRequested());
            sources[which].requestStop();
            QVERIFY(any.stopRequested() && grouped.stopRequested());
        }
    }

    void aTokenOutlivesItsSource() {
        StopToken token;
        {
            StopSource source;
            token = source.token();
            source.requestStop();
        }
        QVERIFY(token.stopRequested());
    }

    void stoppingReachesAnotherThread() {
        StopSource source;
        std::atomic<bool> started = false;
        std::thread work([&started, token = source.token()] {
            started = true;
            while (!token.stopRequested())
                std::this_thread::yield();
        });
        while (!started)
            std::this_thread::yield();
        source.requestStop();
        work.join(); // hangs, and the test's time limit ends it, if the wish never arrives
        QVERIFY(source.stopRequested());
    }

    void messagesReachTheSink() {
        std::vector<std::pair<LogLevel, std::string>> seen;
        const SinkGuard guard([&](LogLevel level, const std::string& text) { seen.emplace_back(level, text); });
        logMessage(LogLevel::warning, "careful");
        logMessage(LogLevel::error, "");
        QCOMPARE(seen.size(), std::size_t(2));
        QVERIFY(seen[0] == std::pair(LogLevel::warning, std::string("careful")));
        QVERIFY(seen[1] == std::pair(LogLevel::error, std::string()));
    }

    void withoutASinkMessagesAreDropped() {
        int calls = 0;
        { const SinkGuard guard([&](LogLevel, const std::string&) { ++calls; }); }
        logMessage(LogLevel::error, "nobody listens");
        QCOMPARE(calls, 0);
    }

    void messagesOfManyThreadsArriveWhole() {
        std::atomic<int> calls = 0;
        const SinkGuard guard([&](LogLevel, const std::string& text) { calls += text == "tick" ? 1 : 0; });
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([] {
                for (int j = 0; j < 250; ++j)
                    logMessage(LogLevel::debug, "tick");
            });
        for (auto& thread : threads)
            thread.join();
        QCOMPARE(calls.load(), 1000);
    }
};

QTEST_GUILESS_MAIN(TestBaseTypes)
#include "tst_base_types.moc"
