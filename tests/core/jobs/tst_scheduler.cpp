// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>

#include "core/jobs/outlook.h"
#include "core/jobs/scheduler.h"
#include "core/jobs/scheduling_policy.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using State = Scheduler::State;

Scheduler schedulerOf(std::vector<Resource> resources, const std::string& policy = "greedy") { return Scheduler(std::move(resources), take(makePolicy(policy))); }

std::vector<std::int64_t> begun(Scheduler& scheduler, double now = 0) {
    std::vector<std::int64_t> stages;
    for (const StageStart& start : scheduler.start(now))
        stages.push_back(start.stage.value());
    return stages;
}

using Ids = std::vector<std::int64_t>;

} // namespace

class TstScheduler : public QObject {
    Q_OBJECT

private slots:
    void refusals_data() {
        QTest::addColumn<QString>("resource");
        QTest::addColumn<int>("amount");
        QTest::addColumn<int>("after");
        QTest::addColumn<QString>("says");
        QTest::newRow("no such resource") << "gpu" << 1 << -2 << "'gpu', which there is not";
        QTest::newRow("too many") << "cpu" << 3 << -2 << "of which there are 2";
        QTest::newRow("none of it") << "cpu" << 0 << -2 << "needs 0";
        QTest::newRow("after nothing") << "cpu" << 1 << -1 << "not of its job";
        QTest::newRow("after what comes later") << "cpu" << 1 << 7 << "not of its job";
        QTest::newRow("after another job's") << "cpu" << 1 << 0 << "not of its job";
    }
    void refusals() {
        QFETCH(QString, resource);
        QFETCH(int, amount);
        QFETCH(int, after);
        QFETCH(QString, says);
        Scheduler scheduler = schedulerOf({{"cpu", 2}});
        take(scheduler.addStage(scheduler.addJob({"other"}), {"build", {{"cpu"}}, {}}, 0));
        const JobId job = scheduler.addJob({"own"});
        StagePlan plan{"build", {{resource.toStdString(), amount}}, {}};
        if (after > -2)
            plan.after = {StageId(after)};
        const auto added = scheduler.addStage(job, plan, 0);
        QVERIFY(!added.ok());
        QVERIFY2(QString::fromStdString(added.error().message).contains(says), added.error().message.c_str());
        QVERIFY(!scheduler.addStage(job, {"build", {{"cpu"}, {"cpu"}}, {}}, 0).ok());
        QVERIFY(!makePolicy("magic").ok());
    }

    void stagesWaitForOthersAndForRoom() {
        Scheduler scheduler = schedulerOf({{"cpu", 2}});
        const JobId job = scheduler.addJob({"job"});
        const StageId a = take(scheduler.addStage(job, {"build", {{"cpu"}}, {}}, 0)), b = take(scheduler.addStage(job, {"build", {{"cpu"}}, {}}, 0));
        const StageId c = take(scheduler.addStage(job, {"profile", {{"cpu"}}, {a}}, 0));
        take(scheduler.addStage(job, {"update", {}, {b, c}}, 0));
        QCOMPARE(begun(scheduler), (Ids{0, 1}));
        QVERIFY(begun(scheduler).empty());
        scheduler.finish(a, 1);
        QCOMPARE(begun(scheduler, 1), (Ids{2}));
        scheduler.finish(b, 2);
        QVERIFY(begun(scheduler, 2).empty());
        scheduler.finish(c, 3);
        QCOMPARE(begun(scheduler, 3), (Ids{3}));
        scheduler.finish(StageId(3), 4);
        QCOMPARE(scheduler.job(job).unfinished, std::size_t(0));
        QCOMPARE(scheduler.expected(c), 2.0); // learned
    }

    void unitsAreToldApart() {
        Scheduler scheduler = schedulerOf({{"core", 3}, {"memory", 16000}});
        const JobId job = scheduler.addJob({"job"});
        for (int i = 0; i < 2; ++i)
            take(scheduler.addStage(job, {"build", {{"core", 1 + i}, {"memory", 500}}, {}}, 0));
        const auto started = scheduler.start(0);
        QCOMPARE(started.size(), std::size_t(2));
        QCOMPARE(started[0].units[0], (std::vector<int>{0}));
        QCOMPARE(started[1].units[0], (std::vector<int>{1, 2}));
        QVERIFY(started[1].units[1].empty()); // megabytes have no names
        scheduler.finish(started[0].stage, 1);
        take(scheduler.addStage(job, {"build", {{"core"}}, {}}, 1));
        QCOMPARE(scheduler.start(1)[0].units[0], (std::vector<int>{0}));
    }

    // Devices come and go: what waits begins as soon as there is room, what runs is not touched, and units keep their numbers.
    void amountsChange() {
        Scheduler scheduler = schedulerOf({{"core", 1}});
        const JobId job = scheduler.addJob({"job"}), other = scheduler.addJob({"other"});
        const StagePlan plan{"profile", {{"device"}}, {}};
        QVERIFY(!scheduler.addStage(job, plan, 0).ok());
        scheduler.setAmount("device", 0);
        for (int i = 0; i < 5; ++i)
            take(scheduler.addStage(i % 2 ? other : job, plan, 0)); // they wait
        QVERIFY(begun(scheduler).empty());
        QCOMPARE(scheduler.shareOf({"device"}), 1.0);
        scheduler.setAmount("device", 3);
        QCOMPARE(begun(scheduler, 1), (Ids{0, 1, 2}));
        scheduler.setAmount("device", 1);
        QVERIFY(begun(scheduler, 1).empty());
        scheduler.finish(StageId(0), 2);
        scheduler.finish(StageId(1), 2);
        QVERIFY(begun(scheduler, 2).empty()); // the third still has the one that there is
        scheduler.setAmount("device", 2);
        const auto next = scheduler.start(3);
        QVERIFY(next.size() == 1 && next[0].units[0] == std::vector<int>{0});
        scheduler.finish(StageId(2), 4);
        QCOMPARE(scheduler.start(4).at(0).units[0], std::vector<int>{1});
        scheduler.setAmount("core", 2); // what was there from the beginning may change as well
        take(scheduler.addStage(job, {"build", {{"core", 2}}, {}}, 5));
        QCOMPARE(begun(scheduler, 5), (Ids{5}));
        scheduler.setAmount("gone", 1);
        scheduler.setAmount("gone", 0);
        take(scheduler.addStage(job, {"profile", {{"gone", 1, true}}, {}}, 6));
        QVERIFY(begun(scheduler, 6).empty()); // alone with nothing is not there
        scheduler.setAmount("gone", 1);
        QCOMPARE(begun(scheduler, 7), (Ids{6}));
    }

    // On a device the next batch is built while one is measured.
    void lanesShareWhatTheyLoad() {
        Scheduler scheduler = schedulerOf({{"device", 2}});
        const JobId job = scheduler.addJob({"job"}), other = scheduler.addJob({"other"});
        const auto planOf = [](const char* kind, int lane) { return StagePlan{.kind = kind, .uses = {{"device"}}, .after = {}, .lane = lane}; };
        const StageId profile = take(scheduler.addStage(job, planOf("profile", 0), 0)), build = take(scheduler.addStage(job, planOf("build", 0), 0));
        const StageId second = take(scheduler.addStage(job, planOf("profile", 1), 0)), rival = take(scheduler.addStage(other, planOf("profile", 0), 0));
        const auto started = scheduler.start(0);
        QCOMPARE(started.size(), std::size_t(3)); // a lane of another job is another one
        QVERIFY(!started[0].shares && started[1].shares && !started[2].shares);
        QCOMPARE(started[1].units, started[0].units);
        QVERIFY(started[2].units != started[0].units);
        scheduler.finish(profile, 10);
        QVERIFY(begun(scheduler, 10).empty()); // the build still has it
        QCOMPARE(scheduler.serviceOf(job, 10), 10.0); // half of the devices twice, and the shared stage counts as none
        scheduler.finish(build, 11);
        QCOMPARE(begun(scheduler, 11), (Ids{rival.value()}));
        scheduler.finish(second, 12);
        scheduler.finish(rival, 12);
        take(scheduler.addStage(job, planOf("profile", 0), 13));
        QVERIFY(!scheduler.start(13).at(0).shares);
    }

    // Also where the job has a quota of it: its only device builds while it measures, and a second one waits.
    void lanesCountOnceInQuotas() {
        Scheduler scheduler = schedulerOf({{"device", 2}, {"network", 20, true}});
        const JobId job = scheduler.addJob({.name = "job", .most = {{"network", 3}}});
        const auto add = [&](const char* kind, int lane) { return take(scheduler.addStage(job, StagePlan{.kind = kind, .uses = {{"device"}, {"network", 2}}, .after = {}, .lane = lane}, 0)); };
        const StageId profile = add("profile", 0), build = add("build", 0), second = add("profile", 1);
        QCOMPARE(begun(scheduler), (Ids{profile.value(), build.value()}));
        scheduler.finish(profile, 1);
        QVERIFY(begun(scheduler, 1).empty()); // the lane's build goes on
        scheduler.finish(build, 2);
        const auto started = scheduler.start(2);
        QVERIFY(started.size() == 1 && started[0].stage == second && started[0].units.size() == 2 && started[0].units[1].empty()); // twenty, and yet only counted
    }

    // A job that may have two of four cores gets no third one, and holds none from others.
    void quotas() {
        Scheduler scheduler = schedulerOf({{"core", 4}});
        const JobId small = scheduler.addJob({.name = "small", .most = {{"core", 2}}}), other = scheduler.addJob({"other"});
        for (int i = 0; i < 3; ++i)
            take(scheduler.addStage(small, {"build", {{"core"}}, {}}, 0));
        for (int i = 0; i < 2; ++i)
            take(scheduler.addStage(other, {"build", {{"core"}}, {}}, 0));
        QCOMPARE(begun(scheduler), (Ids{0, 1, 3, 4}));
        scheduler.finish(StageId(3), 1);
        QVERIFY(begun(scheduler, 1).empty());
        scheduler.finish(StageId(0), 2);
        QCOMPARE(begun(scheduler, 2), (Ids{2}));
        const auto tooLarge = scheduler.addStage(small, {"profile", {{"core", 3}}, {}}, 3);
        QVERIFY(!tooLarge.ok() && tooLarge.error().message.find("of which its job may have 2") != std::string::npos);
    }

    // What does not fit into memory waits; what needs more than there is, or than its job may have, is alone with it.
    void estimatedAmounts() {
        Scheduler scheduler = schedulerOf({{"core", 8}, {"memory", 20000, true}});
        const JobId large = scheduler.addJob({"large"}), other = scheduler.addJob({"other"}), thrifty = scheduler.addJob({.name = "thrifty", .most = {{"memory", 100}}});
        const auto add = [&](JobId job, int memory) { return take(scheduler.addStage(job, {"build", {{"core"}, {"memory", memory}}, {}}, 0)); };
        const StageId a = add(large, 14000), c = add(thrifty, 300), d = add(thrifty, 50), b = add(other, 12000);
        QCOMPARE(begun(scheduler), (Ids{a.value(), c.value()})); // d waits for its own job, b for room
        scheduler.finish(a, 1);
        QCOMPARE(begun(scheduler, 1), (Ids{b.value()}));
        scheduler.finish(c, 2);
        QCOMPARE(begun(scheduler, 2), (Ids{d.value()}));
        const StageId huge = add(large, 2'000'000'000), small = add(other, 1);
        scheduler.finish(b, 3);
        QVERIFY(begun(scheduler, 3).empty()); // all of it is held for the huge one
        scheduler.finish(d, 4);
        QCOMPARE(begun(scheduler, 4), (Ids{huge.value()}));
        scheduler.finish(huge, 5);
        QCOMPARE(begun(scheduler, 5), (Ids{small.value()}));
        QVERIFY(!scheduler.addStage(other, {"build", {{"memory", 0}}, {}}, 5).ok());
    }

    // What an exclusive stage waits for is held for it.
    void smallStagesDoNotStarveALargeOne() {
        Scheduler scheduler = schedulerOf({{"cpu", 2}});
        const JobId job = scheduler.addJob({"job"});
        const StageId small = take(scheduler.addStage(job, {"build", {{"cpu"}}, {}}, 0));
        QCOMPARE(begun(scheduler), (Ids{0}));
        take(scheduler.addStage(job, {"profile", {{"cpu", 2, true}}, {}}, 1));
        take(scheduler.addStage(job, {"build", {{"cpu"}}, {}}, 2));
        QVERIFY(begun(scheduler, 2).empty());
        scheduler.finish(small, 3);
        QCOMPARE(begun(scheduler, 3), (Ids{1}));
        scheduler.finish(StageId(1), 4);
        QCOMPARE(begun(scheduler, 4), (Ids{2}));
    }

    void prioritiesAndPauses_data() {
        QTest::addColumn<QString>("policy");
        for (const PolicyInfo& policy : schedulingPolicies())
            if (policy.name != "shared")
                QTest::newRow(policy.name.c_str()) << QString::fromStdString(policy.name);
    }
    void prioritiesAndPauses() {
        QFETCH(QString, policy);
        Scheduler scheduler = schedulerOf({{"cpu", 1}}, policy.toStdString());
        const JobId low = scheduler.addJob({"low"}), high = scheduler.addJob({"high", 5});
        for (const JobId job : {low, high})
            for (int i = 0; i < 2; ++i)
                take(scheduler.addStage(job, {"build", {{"cpu"}}, {}}, 0));
        QCOMPARE(begun(scheduler), (Ids{2}));
        scheduler.setPaused(high, true, 0);
        scheduler.finish(StageId(2), 1);
        QCOMPARE(begun(scheduler, 1), (Ids{0}));
        scheduler.setPaused(high, false, 1);
        scheduler.finish(StageId(0), 2);
        QCOMPARE(begun(scheduler, 2), (Ids{3}));
        scheduler.finish(StageId(3), 3);
        scheduler.end(high, 3);
        QCOMPARE(begun(scheduler, 3), (Ids{1}));
    }

    void priorityMayChange() {
        Scheduler scheduler = schedulerOf({{"cpu", 1}});
        const JobId a = scheduler.addJob({"a"}), b = scheduler.addJob({"b"});
        take(scheduler.addStage(a, {"build", {{"cpu"}}, {}}, 0));
        take(scheduler.addStage(b, {"build", {{"cpu"}}, {}}, 0));
        scheduler.setPriority(b, 1);
        QCOMPARE(begun(scheduler), (Ids{1}));
    }

    void skippedStagesNeverBegin() {
        Scheduler scheduler = schedulerOf({{"cpu", 1}});
        const JobId a = scheduler.addJob({"a"}), b = scheduler.addJob({"b"});
        const StageId running = take(scheduler.addStage(a, {"build", {{"cpu"}}, {}}, 0));
        const StageId waiting = take(scheduler.addStage(a, {"profile", {{"cpu"}}, {running}}, 0));
        take(scheduler.addStage(b, {"build", {{"cpu"}}, {}}, 0));
        scheduler.announce(a, "build", 5);
        QCOMPARE(begun(scheduler), (Ids{0}));
        scheduler.end(a, 0);
        QCOMPARE(scheduler.job(a).unfinished, std::size_t(1)); // what runs ends
        scheduler.finish(running, 1);
        QVERIFY(scheduler.entry(waiting).state == State::skipped);
        QCOMPARE(begun(scheduler, 1), (Ids{2}));
        QCOMPARE(scheduler.job(a).unfinished, std::size_t(0));
        QCOMPARE(Outlook(scheduler, 1).remaining(a), 0.0);
    }

    // Who builds for a device that would have nothing to do goes before who learns for a long time.
    void predictiveFeedsWhatRunsDry() {
        Scheduler scheduler = schedulerOf({{"client", 1}, {"device", 1}, {"memory", 1000, true}}, "predictive"); // memory that all load is nothing to keep busy
        const JobId job = scheduler.addJob({"job"});
        const auto learn = [&](const char* kind, const char* resource, double from, double seconds) {
            const StageId stage = take(scheduler.addStage(job, {kind, {{resource}, {"memory", 10}}, {}}, from));
            QCOMPARE(begun(scheduler, from).size(), std::size_t(1));
            scheduler.finish(stage, from + seconds);
        };
        learn("build", "client", 0, 8);
        learn("profile", "device", 8, 40);
        learn("update", "client", 48, 44);
        const StageId update = take(scheduler.addStage(job, {"update", {{"client"}, {"memory", 10}}, {}}, 100)), build = take(scheduler.addStage(job, {"build", {{"client"}, {"memory", 10}}, {}}, 101));
        const StageId profile = take(scheduler.addStage(job, {"profile", {{"device"}, {"memory", 10}}, {build}}, 101));
        QCOMPARE(Outlook(scheduler, 101).slack(build), -8.0 - 44.0);
        QVERIFY(Outlook(scheduler, 101).slack(update) > 1e9); // nothing waits for it
        QCOMPARE(Outlook(scheduler, 101).remaining(job), 92.0);
        QCOMPARE(begun(scheduler, 101), (Ids{build.value()}));
        scheduler.finish(build, 109);
        QCOMPARE(begun(scheduler, 109), (Ids{update.value(), profile.value()}));
    }

    // Who measures goes before who builds or learns, where nothing else is measured: both want the core.
    void predictiveFillsWhatIsIdle() {
        Scheduler scheduler = schedulerOf({{"core", 2}, {"profile", 1}}, "predictive");
        const JobId job = scheduler.addJob({"job"}), other = scheduler.addJob({"other"});
        const std::vector<ResourceUse> measured{{"core"}, {"profile", 1, true}};
        take(scheduler.addStage(job, {"update", {{"core"}}, {}}, 0));
        const StageId held = take(scheduler.addStage(job, {"update", {{"core"}}, {}}, 0));
        QCOMPARE(begun(scheduler).size(), std::size_t(2));
        const StageId update = take(scheduler.addStage(job, {"update", {{"core"}}, {}}, 1)), profile = take(scheduler.addStage(other, {"profile", measured, {}}, 2));
        const Outlook idle(scheduler, 2);
        QVERIFY(idle.gap(profile) < 0 && idle.gap(update) > 1e9); // whoever begins, cores are busy
        scheduler.finish(held, 3);
        QCOMPARE(begun(scheduler, 3), (Ids{profile.value()}));
        take(scheduler.addStage(other, {"profile", measured, {}}, 3));
        QCOMPARE(Outlook(scheduler, 3).gap(StageId(4)), 1.0 - 3.0); // the profile's 1 s, of which nothing is known yet, and an update's 3 s
    }

    // What comes after a stage is not waiting for it alone as long as it waits for others, too.
    void whatMissesMoreIsNotUrgent() {
        Scheduler scheduler = schedulerOf({{"core", 1}, {"device", 1}}, "predictive");
        const JobId job = scheduler.addJob({"job"});
        const StageId build = take(scheduler.addStage(job, {"build", {{"core"}}, {}}, 0));
        const StageId update = take(scheduler.addStage(job, {"update", {}, {}}, 0));
        take(scheduler.addStage(job, {.kind = "profile", .uses = {{"device"}}, .after = {build, update}, .called = true}, 0));
        QVERIFY(Outlook(scheduler, 0).slack(build) > 1e9);
        scheduler.skip(update, 0);
        QCOMPARE(Outlook(scheduler, 0).slack(build), -1.0);
    }

    void lateJobsComeFirst() {
        Scheduler scheduler = schedulerOf({{"client", 1}}, "predictive");
        const JobId calm = scheduler.addJob({"calm"}), late = scheduler.addJob({"late", 0, 1, 0.5});
        take(scheduler.addStage(calm, {"build", {{"client"}}, {}}, 0));
        take(scheduler.addStage(late, {"build", {{"client"}}, {}}, 0));
        QCOMPARE(begun(scheduler), (Ids{1}));
    }

    void fairWeighs() {
        Scheduler scheduler = schedulerOf({{"client", 1}}, "fair");
        const JobId one = scheduler.addJob({"one"}), three = scheduler.addJob({"three", 0, 3});
        std::map<JobId, int> turns;
        for (const JobId job : {one, three})
            for (int i = 0; i < 40; ++i)
                take(scheduler.addStage(job, {"build", {{"client"}}, {}}, 0));
        for (int now = 0; now < 40; ++now) {
            const StageId stage = scheduler.start(now).at(0).stage;
            ++turns[scheduler.entry(stage).job];
            scheduler.finish(stage, now + 1);
        }
        QCOMPARE(turns[one], 10);
        QCOMPARE(turns[three], 30);
    }

    // Who waited longest goes first, and the waiting of a job of weight 3 counts threefold.
    void predictiveWeighsWaiting() {
        for (const double weight : {1.0, 3.0}) {
            Scheduler scheduler = schedulerOf({{"client", 1}}, "predictive");
            const JobId running = scheduler.addJob({"running"}), early = scheduler.addJob({"early"}), heavy = scheduler.addJob({"heavy", 0, weight});
            const StageId first = take(scheduler.addStage(running, {"build", {{"client"}}, {}}, 0));
            QCOMPARE(begun(scheduler).size(), std::size_t(1));
            take(scheduler.addStage(early, {"build", {{"client"}}, {}}, 1));
            take(scheduler.addStage(heavy, {"build", {{"client"}}, {}}, 2));
            scheduler.finish(first, 3);
            QCOMPARE(begun(scheduler, 3), (Ids{weight > 2 ? 2 : 1}));
        }
    }

    // What others had before a job came, or while it was paused, is no claim of it: from then on they take turns.
    void fairBeginsAtTheLeastServed_data() {
        QTest::addColumn<bool>("paused");
        QTest::addColumn<double>("weight");
        QTest::newRow("late") << false << 1.0;
        QTest::newRow("late, of weight 2") << false << 2.0;
        QTest::newRow("paused") << true << 1.0;
    }
    void fairBeginsAtTheLeastServed() {
        QFETCH(bool, paused);
        QFETCH(double, weight);
        Scheduler scheduler = schedulerOf({{"client", 1}}, "fair");
        const JobId old = scheduler.addJob({"old"}), other = scheduler.addJob({"other", 0, weight});
        std::map<JobId, int> turns;
        const auto turn = [&](int now) {
            for (const JobId job : {old, other})
                if (job == old || paused || now >= 100)
                    take(scheduler.addStage(job, {"build", {{"client"}}, {}}, now));
            const StageId stage = scheduler.start(now).at(0).stage;
            ++turns[scheduler.entry(stage).job];
            scheduler.finish(stage, now + 1);
        };
        scheduler.setPaused(other, paused, 0);
        for (int now = 0; now < 100; ++now)
            turn(now);
        QCOMPARE(turns[other], 0);
        scheduler.setPaused(other, false, 100);
        for (int now = 100; now < 130; ++now)
            turn(now);
        QVERIFY2(std::abs(turns[old] - 100 - 30 / (1 + weight)) <= 1, qPrintable(QString::number(turns[old])));
        QCOMPARE(turns[old] + turns[other], 130);
    }

    // A job that is served much of one thing waits for another one no longer than others' patience lasts.
    void fairStarvesNobody() {
        Scheduler scheduler = schedulerOf({{"client", 1}, {"device", 1}}, "fair");
        const JobId busy = scheduler.addJob({"busy"}), light = scheduler.addJob({"light", 0, 1000});
        const auto add = [&](JobId job, const char* resource, double now) { return take(scheduler.addStage(job, {resource, {{resource}}, {}}, now)); };
        add(light, "device", 0);
        const StageId waits = add(busy, "device", 0);
        add(busy, "client", 0);
        std::vector<StageStart> running = scheduler.start(0);
        QCOMPARE(running.size(), std::size_t(2));
        int now = 0;
        for (; now < 100 && scheduler.entry(waits).state == State::ready; ++now) {
            for (const StageStart& start : running)
                scheduler.finish(start.stage, now + 1);
            add(light, "device", now + 1);
            add(busy, "client", now + 1);
            running = scheduler.start(now + 1);
        }
        QVERIFY2(now > 20 && now < 50, qPrintable(QString::number(now)));
    }

    // One after the other, also while the first has nothing to do for the moment; paused and ended ones make room.
    void sequentialWaitsForAnOpenJob() {
        Scheduler scheduler = schedulerOf({{"cpu", 2}}, "sequential");
        const JobId unborn = scheduler.addJob({"unborn"}), first = scheduler.addJob({"first"}), second = scheduler.addJob({"second"});
        const auto add = [&](JobId job) { return take(scheduler.addStage(job, {"build", {{"cpu"}}, {}}, 0)); };
        const StageId a = add(first), b = add(second);
        QCOMPARE(begun(scheduler), (Ids{a.value()})); // what has not begun is nobody's turn
        scheduler.finish(a, 1);
        QVERIFY(begun(scheduler, 1).empty());
        const StageId c = add(first);
        QCOMPARE(begun(scheduler, 1), (Ids{c.value()}));
        scheduler.finish(c, 2);
        scheduler.setPaused(first, true, 2);
        QCOMPARE(begun(scheduler, 2), (Ids{b.value()}));
        scheduler.setPaused(first, false, 3);
        const StageId d = add(second);
        QVERIFY(begun(scheduler, 3).empty());
        scheduler.end(first, 4);
        QCOMPARE(begun(scheduler, 4), (Ids{d.value()}));
        scheduler.finish(b, 5);
        const StageId e = add(unborn);
        QCOMPARE(begun(scheduler, 5), (Ids{e.value()}));
    }

    // What waits for the quota of its own job is not overtaken for ever by smaller stages of it.
    void quotasAreHeld() {
        Scheduler scheduler = schedulerOf({{"core", 4}, {"device", 1}});
        const JobId job = scheduler.addJob({.name = "job", .most = {{"core", 2}}}), other = scheduler.addJob({"other"});
        const auto add = [&](JobId of, int cores) { return take(scheduler.addStage(of, {"build", {{"core", cores}}, {}}, 0)); };
        const StageId small = add(job, 1), large = add(job, 2), later = add(job, 1), others = add(other, 3);
        const StageId elsewhere = take(scheduler.addStage(job, {"profile", {{"device"}}, {}}, 0));
        QCOMPARE(begun(scheduler), (Ids{small.value(), others.value(), elsewhere.value()}));
        scheduler.finish(others, 1);
        QVERIFY(begun(scheduler, 1).empty());
        scheduler.finish(small, 2);
        QCOMPARE(begun(scheduler, 2), (Ids{large.value()}));
        scheduler.finish(large, 3);
        QCOMPARE(begun(scheduler, 3), (Ids{later.value()}));
    }

    void announcedStagesAreReplaced() {
        Scheduler scheduler = schedulerOf({{"core", 1}});
        const JobId job = scheduler.addJob({"job"});
        const auto left = [&] { return Outlook(scheduler, 0).remaining(job); }; // a second each, as nothing is known
        scheduler.announce(job, "build", 5);
        take(scheduler.addStage(job, {"build", {{"core"}}, {}}, 0));
        QCOMPARE(left(), 5.0);
        scheduler.announce(job, "build", 2);
        QCOMPARE(left(), 3.0);
        scheduler.announce(job, "build", 0);
        QCOMPARE(left(), 1.0);
        take(scheduler.addStage(job, {"build", {{"core"}}, {}}, 0)); // more than was thought
        QCOMPARE(left(), 2.0);
        scheduler.end(job, 0);
        QCOMPARE(left(), 0.0);
    }

    void plannedStagesAreRevised() {
        Scheduler scheduler = schedulerOf({{"core", 4}, {"memory", 100, true}});
        const JobId job = scheduler.addJob({.name = "job", .most = {{"core", 3}}});
        const StageId stage = take(scheduler.addStage(job, {.kind = "profile", .uses = {{"core"}}, .after = {}, .called = true}, 0));
        QVERIFY(!scheduler.revise(stage, {{"core", 4}}).ok()); // more than its job may have
        QVERIFY(!scheduler.revise(stage, {{"gpu"}}).ok());
        QVERIFY(scheduler.entry(stage).plan.uses.front().amount == 1); // as it was
        QVERIFY(scheduler.revise(stage, {{"core", 3}, {"memory", 500}}).ok());
        QCOMPARE(scheduler.entry(stage).plan.uses.back().amount, 100);
        scheduler.call(stage, 1);
        const auto started = scheduler.start(1);
        QVERIFY(started.size() == 1 && started[0].units.front().size() == 3);
    }
};

QTEST_APPLESS_MAIN(TstScheduler)
#include "tst_scheduler.moc"
