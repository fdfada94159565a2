// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <thread>

#include "core/jobs/scheduling_policy.h"
#include "core/workbench/job_watch.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Names = std::vector<std::string>;

TimedStage stageOf(std::vector<ResourceUse> uses, bool shares = false) {
    TimedStage stage{JobId(0), StageId(0), "build", std::move(uses), {}, 2, 0, 0, 0, shares};
    return stage;
}

Names lackOf(std::vector<ResourceUse> needs, const std::vector<TimedStage>& running) {
    const std::vector<Resource> resources{{"core", 2}, {"profile", 1}, {"memory", 1000, true}, {"device lab", 1}};
    return waitsOf({stageOf(std::move(needs))}, running, resources).front().lacks;
}

struct Told : TuneJobsListener {
    void onRunning(const std::vector<JobSlice>& stages) override { running = stages; }
    void onWaiting(const std::vector<JobWait>& stages) override { waiting = stages; }
    std::vector<JobSlice> running;
    std::vector<JobWait> waiting;
};

} // namespace

// What a session tells of stages while they run and wait.
class TstJobWatch : public QObject {
    Q_OBJECT
private slots:
    void whatTheyLack() {
        QCOMPARE(lackOf({{"core"}}, {}), Names());
        QCOMPARE(lackOf({{"core", 2}}, {stageOf({{"core"}})}), Names{"core"});
        QCOMPARE(lackOf({{"core"}}, {stageOf({{"core"}})}), Names());
        QCOMPARE(lackOf({{"core"}, {"memory", 600}}, {stageOf({{"core"}, {"memory", 500}})}), Names{"memory"});
        QCOMPARE(lackOf({{"core", 2}, {"memory", 600}, {"profile", 1, true}}, {stageOf({{"core"}, {"memory", 500}, {"profile", 1, true}})}), (Names{"core", "memory", "profile"}));
        QCOMPARE(lackOf({{"core", 1, true}}, {stageOf({{"core"}})}), Names{"core"}); // for itself
        QCOMPARE(lackOf({{"device lab"}}, {stageOf({{"device lab"}}), stageOf({{"device lab"}}, true)}), Names{"device lab"});
        QCOMPARE(lackOf({{"device lab"}}, {stageOf({{"device lab"}}, true)}), Names());
        QCOMPARE(lackOf({{"moon"}}, {}), Names{"moon"});
        QVERIFY(waitsOf({}, {stageOf({{"core"}})}, {}).empty());
    }

    // From being called for until the turn has come.
    void whatWaitsIsTold() {
        StageBoard board({{"core", 2}, {"profile", 1}, {"memory", 1000, true}}, take(makePolicy("greedy")));
        Told told;
        JobWatch watch(board, &told);
        const JobId first = board.addJob({"first"}), second = board.addJob({"second"});
        const auto turnOf = [&](JobId job, StagePlan plan, const StopToken& stop) { return board.begin(take(board.plan(job, std::move(plan))), stop); };
        StopSource stop;
        std::optional<StageBoard::Turn> held(take(turnOf(first, {"profile", {{"core"}, {"profile", 1, true}, {"memory", 700}}, {}}, stop.token())));
        watch.tellStages();
        QVERIFY(told.waiting.empty() && told.running.size() == 1);
        std::thread waiter([&] {
            const auto turn = turnOf(second, {"profile", {{"core"}, {"profile", 1, true}, {"memory", 400}}, {}}, stop.token());
            QVERIFY(turn.ok());
        });
        QTRY_COMPARE(board.waiting().size(), std::size_t(1));
        watch.tellStages();
        QCOMPARE(told.waiting.size(), std::size_t(1));
        const JobWait wait = told.waiting.front();
        QVERIFY(wait.job == 1 && wait.stage == "profile" && wait.called > 0 && wait.called <= board.seconds());
        QCOMPARE(wait.needs, (std::map<std::string, int>{{"core", 1}, {"memory", 400}, {"profile", 1}}));
        QCOMPARE(wait.lacks, (Names{"profile", "memory"}));
        held.reset();
        waiter.join();
        watch.tellStages();
        QVERIFY(told.waiting.empty() && told.running.empty() && board.waiting().empty());
        JobWatch(board, nullptr).tellStages();
    }

    void whatIsStoppedWaitsNoLonger() {
        StageBoard board({{"core", 1}}, take(makePolicy("greedy")));
        Told told;
        JobWatch watch(board, &told);
        const JobId job = board.addJob({"only"});
        StopSource stop;
        const auto held = take(board.begin(take(board.plan(job, {"build", {{"core"}}, {}})), {}));
        std::thread waiter([&] { QVERIFY(board.begin(take(board.plan(job, {"build", {{"core"}}, {}})), stop.token()).error().isCancelled()); });
        QTRY_COMPARE(board.waiting().size(), std::size_t(1));
        stop.requestStop();
        waiter.join();
        watch.tellStages();
        QVERIFY(told.waiting.empty() && told.running.size() == 1);
    }
};

QTEST_GUILESS_MAIN(TstJobWatch)
#include "tst_job_watch.moc"
