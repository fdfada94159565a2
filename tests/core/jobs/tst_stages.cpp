// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <atomic>
#include <set>
#include <thread>

#include "core/base/rng.h"
#include "core/jobs/job.h"

using namespace tunesmith;
using State = StageRecord::State;

namespace {

std::function<Status(const StopToken&)> sleepFor(int ms) {
    return [ms](const StopToken&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        return Status();
    };
}

bool overlap(const StageRecord& a, const StageRecord& b) {
    return a.begin < b.end && b.begin < a.end;
}

} // namespace

class TestJob : public QObject {
    Q_OBJECT
private slots:
    void empty() {
        Job job({});
        QVERIFY(job.run(2).ok());
        QVERIFY(job.records().empty());
    }
    void refusals() {
        Job job({{"cpu", 2}});
        QVERIFY(!job.add({"a", {{"gpu"}}, {}, {}}).ok());
        QVERIFY(!job.add({"a", {{"cpu", 3}}, {}, {}}).ok());
        QVERIFY(!job.add({"a", {{"cpu", 0}}, {}, {}}).ok());
        QVERIFY(!job.add({"a", {{"cpu"}, {"cpu"}}, {}, {}}).ok());
        QVERIFY(!job.add({"a", {}, {StageId(0)}, {}}).ok());
        QVERIFY(!job.add({"a", {}, {StageId()}, {}}).ok());
        QVERIFY(job.add({"a", {{"cpu", 2}}, {}, {}}).ok());
    }
    void dependenciesHold() {
        Job job({{"cpu", 4}});
        std::atomic<int> step = 0;
        const auto expect = [&](int before) {
            return [&step, before](const StopToken&) -> Status {
                if (step.fetch_add(1) != before)
                    return internalError("out of order");
                return {};
            };
        };
        StageId last = *job.add({"0", {{"cpu"}}, {}, expect(0)});
        for (int i = 1; i < 50; ++i)
            last = *job.add({std::to_string(i), {{"cpu"}}, {last}, expect(i)});
        QVERIFY(job.run(4).ok());
        QCOMPARE(step.load(), 50);
    }
    // select -> build -> profile -> update, two batches in flight; update n adds batch n + 2.
    void buildOverlapsProfile() {
        Job job({{"client", 1}, {"builders", 2}, {"target", 1}});
        constexpr int kBatches = 8;
        std::vector<int> order; // guarded by "client"
        std::map<int, StageId> updates;
        std::function<void(int)> addBatch = [&](int n) {
            std::vector<StageId> before;
            if (updates.contains(n - 2))
                before.push_back(updates[n - 2]);
            const auto select =
                *job.add({"select " + std::to_string(n), {{"client", 1, true}}, before, sleepFor(1)});
            const auto build =
                *job.add({"build " + std::to_string(n), {{"builders", 2}}, {select}, sleepFor(15)});
            std::vector<StageId> built{build};
            if (updates.contains(n - 1))
                built.push_back(updates[n - 1]); // profiles and updates in the order of the batches
            const auto profile =
                *job.add({"profile " + std::to_string(n), {{"target", 1, true}}, {build}, sleepFor(15)});
            built[0] = profile;
            updates[n] = *job.add(
                {"update " + std::to_string(n), {{"client", 1, true}}, built, [&, n](const StopToken&) {
                     order.push_back(n);
                     if (n + 2 < kBatches)
                         addBatch(n + 2);
                     return Status();
                 }});
        };
        addBatch(0);
        addBatch(1);
        QVERIFY(job.run(2).ok());
        const auto records = job.records();
        QCOMPARE(records.size(), std::size_t{4 * kBatches});
        std::vector<int> expected(kBatches);
        std::iota(expected.begin(), expected.end(), 0);
        QCOMPARE(order, expected);
        int overlapping = 0;
        for (const auto& a : records) {
            QCOMPARE(a.state, State::done);
            for (const auto& b : records) {
                if (a.id != b.id && a.resources == b.resources)
                    QVERIFY2(!overlap(a, b), (a.name + " and " + b.name).c_str());
                overlapping += a.name.starts_with("build") && b.name.starts_with("profile") && overlap(a, b);
            }
        }
        QVERIFY2(overlapping >= kBatches - 2, std::to_string(overlapping).c_str());
    }
    void exclusiveIsNeverSharedNorStarved() {
        Job job({{"cpu", 4}});
        std::atomic<int> inside = 0, worst = 0;
        std::atomic<bool> alone = true;
        Rng rng(3);
        for (int i = 0; i < 200; ++i) {
            const bool exclusive = i % 10 == 5;
            const int micros = static_cast<int>(rng.below(300));
            QVERIFY(job.add({"s",
                             {{"cpu", 1 + static_cast<int>(rng.below(2)), exclusive}},
                             {},
                             [&, exclusive, micros](const StopToken&) {
                                 const int now = ++inside;
                                 worst = std::max(worst.load(), now);
                                 if (exclusive && now != 1)
                                     alone = false;
                                 std::this_thread::sleep_for(std::chrono::microseconds(micros));
                                 if (exclusive && inside != 1)
                                     alone = false;
                                 --inside;
                                 return Status();
                             }})
                        .ok());
        }
        QVERIFY(job.run(6).ok());
        QVERIFY(alone);
        QVERIFY(worst <= 4);
        const auto records = job.records();
        for (std::size_t i = 0; i < records.size();
             ++i) // nothing added later begins before a waiting exclusive stage
            if (i % 10 == 5)
                for (std::size_t j = i + 1; j < records.size(); ++j)
                    QVERIFY(records[j].begin >= records[i].begin);
    }
    void failureEndsTheJob() {
        Job job({{"cpu", 1}});
        const auto bad = job.add(
            {"build 3", {{"cpu"}}, {}, [](const StopToken&) -> Status { return ioError("disk full"); }});
        QVERIFY(job.add({"profile 3", {{"cpu"}}, {*bad}, sleepFor(0)}).ok());
        const Status status = job.run(2);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().message, std::string("build 3: disk full"));
        QCOMPARE(job.records()[0].state, State::failed);
        QCOMPARE(job.records()[1].state, State::skipped);
    }
    void stopEndsTheJob() {
        Job job({{"cpu", 2}});
        StopSource stop;
        std::atomic<int> ran = 0;
        for (int i = 0; i < 20; ++i)
            QVERIFY(job.add({"s",
                             {{"cpu"}},
                             {},
                             [&](const StopToken& token) -> Status {
                                 if (++ran == 5)
                                     stop.requestStop();
                                 return token.stopRequested() ? Status(cancelledError()) : Status();
                             }})
                        .ok());
        const Status status = job.run(2, stop.token());
        QVERIFY(!status.ok());
        QVERIFY(status.error().isCancelled());
        QVERIFY(ran >= 5 && ran <= 7);
    }
    void stoppedAfterTheLastStageIsDone() {
        Job job({});
        StopSource stop;
        QVERIFY(job.add({"s", {}, {}, [&](const StopToken&) { return stop.requestStop(), Status(); }}).ok());
        QVERIFY(job.run(1, stop.token()).ok());
    }
    void randomGraphsEnd() {
        Rng rng(11);
        for (int round = 0; round < 100; ++round) {
            Job job({{"a", 3}, {"b", 1}});
            std::atomic<int> ran = 0;
            const int count = 1 + static_cast<int>(rng.below(60));
            for (int i = 0; i < count; ++i) {
                Stage stage{"s", {}, {}, [&](const StopToken&) { return ++ran, Status(); }};
                if (rng.chance(0.7))
                    stage.uses.push_back({"a", 1 + static_cast<int>(rng.below(3)), rng.chance(0.3)});
                if (rng.chance(0.5))
                    stage.uses.push_back({"b", 1, rng.chance(0.3)});
                for (int j = 0; j < 3 && i > 0; ++j)
                    stage.after.push_back(
                        StageId(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(i)))));
                QVERIFY(job.add(std::move(stage)).ok());
            }
            QVERIFY(job.run(1 + static_cast<int>(rng.below(4))).ok());
            QCOMPARE(ran.load(), count);
        }
    }
};

QTEST_APPLESS_MAIN(TestJob)
#include "tst_stages.moc"
