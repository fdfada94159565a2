// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <atomic>
#include <thread>

#include "core/base/rng.h"
#include "core/jobs/scheduling_policy.h"
#include "core/jobs/stage_board.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace std::chrono_literals;

namespace {

bool overlap(const TimedStage& a, const TimedStage& b) { return a.begin < b.end && b.begin < a.end; }

// A tuning job: batches that are built, measured and learned from, each stage so many microseconds long.
void runBatches(StageBoard& board, JobId job, int batches, std::uint64_t seed, const StopToken& stop = {}) {
    Rng rng(seed);
    for (int batch = 0; batch < batches; ++batch) {
        const StageId build = take(board.plan(job, {"build", {{"core"}}, {}}));
        const StageId profile = take(board.plan(job, {"profile", {{"device", 1, true}}, {build}}));
        const StageId update = take(board.plan(job, {"update", {{"core"}}, {profile}}));
        for (const StageId stage : {build, profile, update}) {
            const auto turn = board.begin(stage, stop);
            if (!turn.ok()) {
                board.end(job);
                return;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(100 + rng.below(400)));
        }
    }
    board.end(job);
}

} // namespace

class TstStageBoard : public QObject {
    Q_OBJECT

private slots:
    void manyJobs_data() {
        QTest::addColumn<QString>("policy");
        for (const PolicyInfo& policy : schedulingPolicies())
            if (policy.name != "shared")
                QTest::newRow(policy.name.c_str()) << QString::fromStdString(policy.name);
    }
    void manyJobs() {
        QFETCH(QString, policy);
        constexpr int kJobs = 4, kBatches = 12;
        StageBoard board({{"core", 2}, {"device", 1}}, take(makePolicy(policy.toStdString())));
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < kJobs; ++i) {
                const JobId job = board.addJob({"job " + std::to_string(i)});
                for (const char* kind : {"build", "profile", "update"})
                    board.announce(job, kind, kBatches);
                threads.emplace_back([&board, job, i] { runBatches(board, job, kBatches, static_cast<std::uint64_t>(i)); });
            }
        }
        const std::vector<TimedStage> timeline = board.timeline();
        QCOMPARE(timeline.size(), std::size_t(3 * kJobs * kBatches));
        for (int i = 0; i < kJobs; ++i)
            QCOMPARE(board.planned(JobId(i)), std::size_t(0));
        for (std::size_t i = 0; i < timeline.size(); ++i) {
            const TimedStage& a = timeline[i];
            QVERIFY(a.called <= a.begin && a.begin <= a.end && a.expected > 0 && a.units.size() == 1);
            for (std::size_t j = 0; j < i; ++j) {
                const TimedStage& b = timeline[j];
                QVERIFY(b.end <= a.end);
                if (overlap(a, b) && a.uses[0].resource == b.uses[0].resource)
                    QVERIFY(a.uses[0].resource == "core" && a.units != b.units);
            }
        }
    }

    void aStageBeginsOnlyWhenItIsAskedFor() {
        StageBoard board({{"core", 1}}, take(makePolicy("greedy")));
        const JobId job = board.addJob({"job"});
        const StageId first = take(board.plan(job, {"build", {{"core"}}, {}})), second = take(board.plan(job, {"build", {{"core"}}, {}}));
        take(board.begin(second, {})); // the first holds nothing back
        take(board.begin(first, {}));
        QCOMPARE(board.timeline().size(), std::size_t(2));
        QVERIFY(!board.plan(job, {"build", {{"gpu"}}, {}}).ok());
    }

    // One job after the other, though between two stages of one there is nothing that could begin.
    void sequentialJobsDoNotMix() {
        constexpr int kJobs = 3, kBatches = 6;
        StageBoard board({{"core", 2}, {"device", 1}}, take(makePolicy("sequential")));
        {
            std::vector<StageId> firsts; // so that all have begun
            for (int i = 0; i < kJobs; ++i)
                firsts.push_back(take(board.plan(board.addJob({"job"}), {"build", {{"core"}}, {}})));
            std::vector<std::jthread> threads;
            for (int i = kJobs; i-- > 0;)
                threads.emplace_back([&board, job = JobId(i), stage = firsts[static_cast<std::size_t>(i)]]() mutable {
                    for (int n = 1; n <= kBatches; ++n) {
                        {
                            const auto turn = take(board.begin(stage, {}));
                            std::this_thread::sleep_for(200us);
                        }
                        std::this_thread::sleep_for(500us); // between stages
                        if (n < kBatches)
                            stage = take(board.plan(job, {"build", {{"core"}}, {}}));
                    }
                    board.end(job);
                });
        }
        std::vector<std::int64_t> order;
        for (const TimedStage& stage : board.timeline())
            if (order.empty() || order.back() != stage.job.value())
                order.push_back(stage.job.value());
        QCOMPARE(board.timeline().size(), std::size_t(kJobs * kBatches));
        QCOMPARE(order, (std::vector<std::int64_t>{0, 1, 2}));
    }

    void stopsWhileItWaits() {
        StageBoard board({{"core", 1}}, take(makePolicy("greedy")));
        const JobId job = board.addJob({"job"}), other = board.addJob({"other"});
        const StageId held = take(board.plan(job, {"build", {{"core"}}, {}})), waits = take(board.plan(other, {"build", {{"core"}}, {}}));
        const StageId after = take(board.plan(other, {"profile", {}, {waits}}));
        StopSource source;
        std::atomic<bool> cancelled = false;
        {
            const auto turn = take(board.begin(held, {}));
            std::jthread thread([&] { cancelled = board.begin(waits, source.token()).error().isCancelled(); });
            std::this_thread::sleep_for(5ms);
            source.requestStop();
            thread.join();
        }
        QVERIFY(cancelled);
        take(board.begin(after, {})); // need not wait for what was not to be
        QCOMPARE(board.timeline().size(), std::size_t(2));
    }

    void whatIsDroppedIsNotAwaited() {
        StageBoard board({{"core", 1}}, take(makePolicy("predictive")));
        const JobId job = board.addJob({"job"});
        const StageId dropped = take(board.plan(job, {"build", {{"core"}}, {}})), after = take(board.plan(job, {"profile", {{"core"}}, {dropped}}));
        std::jthread thread([&] { take(board.begin(after, {})); });
        std::this_thread::sleep_for(5ms);
        QVERIFY(board.timeline().empty());
        board.drop(dropped);
        thread.join();
        QCOMPARE(board.timeline().size(), std::size_t(1));
        QVERIFY(board.begin(dropped, {}).error().isCancelled());
    }

    void pausedJobsWait() {
        StageBoard board({{"core", 1}}, take(makePolicy("fair")));
        const JobId job = board.addJob({"job"});
        const StageId stage = take(board.plan(job, {"build", {{"core"}}, {}}));
        board.setPaused(job, true);
        std::atomic<bool> begun = false;
        std::jthread thread([&] {
            take(board.begin(stage, {}));
            begun = true;
        });
        std::this_thread::sleep_for(30ms);
        QVERIFY(!begun);
        board.setPaused(job, false);
        thread.join();
        QVERIFY(begun);
    }

    void anEndedJobLetsGo() {
        StageBoard board({{"core", 1}}, take(makePolicy("greedy")));
        const JobId job = board.addJob({"job"}), other = board.addJob({"other"});
        const StageId held = take(board.plan(other, {"build", {{"core"}}, {}})), waits = take(board.plan(job, {"build", {{"core"}}, {}}));
        const auto turn = take(board.begin(held, {}));
        std::atomic<bool> cancelled = false;
        std::jthread thread([&] { cancelled = board.begin(waits, {}).error().isCancelled(); });
        std::this_thread::sleep_for(5ms);
        board.end(job);
        thread.join();
        QVERIFY(cancelled);
    }

    // Devices that come and go under running jobs: no stage is lost, never two on one device.
    void amountsChange() {
        constexpr int kJobs = 4, kStages = 40;
        StageBoard board({{"core", 1}}, take(makePolicy("predictive")));
        board.setAmount("device", 0);
        std::atomic<int> left = kJobs;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < kJobs; ++i)
                threads.emplace_back([&board, &left, job = board.addJob({"job"})] {
                    for (int stage = 0; stage < kStages; ++stage) {
                        const auto turn = take(board.begin(take(board.plan(job, {"profile", {{"device"}}, {}})), {}));
                        std::this_thread::sleep_for(100us);
                    }
                    --left;
                });
            Rng rng(3);
            while (left > 0) {
                board.setAmount("device", static_cast<int>(rng.below(4)));
                std::this_thread::sleep_for(300us);
            }
        }
        const std::vector<TimedStage> timeline = board.timeline();
        QCOMPARE(timeline.size(), std::size_t(kJobs * kStages));
        for (std::size_t i = 0; i < timeline.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                QVERIFY(!overlap(timeline[i], timeline[j]) || timeline[i].units != timeline[j].units);
        for (const Resource& resource : board.resources())
            QVERIFY(resource.name == "core" ? resource.amount == 1 : resource.amount <= 3 && resource.amount > 0);
    }

    // Jobs that are stopped at any moment leave a board that others can use.
    void stoppedAnywhere() {
        StageBoard board({{"core", 2}, {"device", 1}}, take(makePolicy("predictive")));
        for (int round = 0; round < 20; ++round) {
            StopSource source;
            std::vector<std::jthread> threads;
            for (int i = 0; i < 3; ++i) {
                const JobId job = board.addJob({"job"});
                threads.emplace_back([&board, job, round, i, token = source.token()] { runBatches(board, job, 50, static_cast<std::uint64_t>(3 * round + i), token); });
            }
            std::this_thread::sleep_for(std::chrono::microseconds(500 * round));
            source.requestStop();
        }
        const JobId last = board.addJob({"last"});
        runBatches(board, last, 2, 1);
        const std::vector<TimedStage> timeline = board.timeline();
        QCOMPARE(static_cast<int>(std::ranges::count_if(timeline, [&](const TimedStage& slice) { return slice.job == last; })), 6);
    }
};

QTEST_APPLESS_MAIN(TstStageBoard)
#include "tst_stage_board.moc"
