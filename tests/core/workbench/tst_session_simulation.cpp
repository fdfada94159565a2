// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>
#include <limits>

#include "core/workbench/job_simulation.h"
#include "core/workbench/recorded_jobs.h"
#include "tests/take.h"
#include "two_jobs_store.h"

using namespace tunesmith;

// Sessions of the store, run again on a virtual clock.
class TstSessionSimulation : public QObject {
    Q_OBJECT
    std::unique_ptr<TwoJobsStore> made_;

    JobSessionId begin(const std::string& resources = R"([["core", 2], ["profile", 1]])") const { return made_->begin("greedy", resources); }
    std::int64_t stored(const std::vector<JobSliceRow>& slices, const std::string& resources = R"([["core", 2], ["profile", 1]])") const {
        const JobSessionId id = begin(resources);
        take(made_->store().addJobSlices(id, slices));
        take(made_->store().endJobSession(id));
        return id.value();
    }
    Result<SessionSimulation> simulated(std::int64_t session, std::vector<std::string> policies = {"greedy"}, std::optional<int> devices = {}) const {
        return simulateSession({made_->path(), session, std::move(policies), devices});
    }

    // Two jobs that each build for 1 s and measure for 3 s, three times, one after the other on two cores and a slot.
    std::vector<JobSliceRow> oneAfterTheOther() const {
        std::vector<JobSliceRow> slices;
        double at = 0;
        for (const StoredJobId job : {made_->job(0), made_->job(1)})
            for (int batch = 0; batch < 3; ++batch) {
                slices.push_back({job, "build", R"({"core": [0]})", at, at, at + 1, 1});
                slices.push_back({job, "profile", R"({"core": [1], "profile": [0]})", at + 1, at + 1, at + 4, 3});
                at += 4;
            }
        return slices;
    }

private slots:
    void init() { made_ = std::make_unique<TwoJobsStore>(R"({"model": "mlp", "weight": 2})"); }

    void otherPoliciesMakeOtherUse() {
        const SessionSimulation made = take(simulated(stored(oneAfterTheOther()), {"sequential", "greedy", "predictive", "shared"}));
        QVERIFY(made.was.policy == "greedy" && !made.was.killed && made.was.jobs == 2 && made.was.stages == 12 && made.was.makespan == 24 && made.was.waiting == 0);
        QVERIFY(std::abs(made.was.utilisation.at("core") - 0.5) < 1e-9 && std::abs(made.was.utilisation.at("profile") - 0.75) < 1e-9);
        QCOMPARE(made.made[0].policy, std::string("sequential"));
        QCOMPARE(made.made[0].makespan, 24.0); // as it was
        for (const JobSimulation& one : made.made) {
            QCOMPARE(one.bound, 19.0); // all measurements, after the first build
            QVERIFY(one.makespan >= one.bound - 1e-9);
        }
        QCOMPARE(made.made[1].makespan, 19.0); // one is built while the other one is measured
        QVERIFY(made.made[1].waiting > 0 && made.made[1].utilisation.at("profile") > 0.9);
        QVERIFY(made.made[3].disturbed > 0);
        QCOMPARE(take(simulated(1)).made[0].makespan, 19.0); // again
    }

    // What was measured waits for what was built, though an update ended in between.
    void theOrderOfAJobIsKept() {
        const SessionSimulation made = take(simulated(stored({{made_->job(0), "build", R"({"core": [0]})", 0, 0, 5, 0},
                                                              {made_->job(0), "update", R"({"core": [1]})", 1, 1, 6, 0},
                                                              {made_->job(0), "profile", R"({"core": [0, 1], "profile": [0]})", 6, 6, 8, 0}})));
        QCOMPARE(made.made[0].makespan, 7.0); // both stages before it may begin at once, and it comes after both
    }

    // Two lanes of a job: batch n + 1 is built while batch n is measured, and both have one device.
    void lanesOfDevices() {
        std::vector<JobSliceRow> slices;
        for (int batch = 0; batch < 4; ++batch)
            for (int device = 0; device < 2; ++device) {
                const std::string uses = "{\"device lab\": [" + std::to_string(device) + "]}";
                const double at = 5.0 * batch;
                slices.push_back({made_->job(0), "build", uses, at, at, at + 2, 0}); // begins first, and is the shorter one
                slices.push_back({made_->job(0), "profile", uses, at, at, at + 5, 0});
            }
        const std::int64_t session = stored(slices, R"([["core", 1]])");
        const SessionSimulation made = take(simulated(session));
        QVERIFY(std::abs(made.was.utilisation.at("device lab") - 1) < 1e-9); // once for both stages
        QCOMPARE(made.was.makespan, 20.0);
        QVERIFY(std::abs(made.made[0].makespan - 20) < 1e-9 && std::abs(made.made[0].bound - 20) < 1e-9);
        const JobSimulation one = take(simulated(session, {"greedy"}, 1)).made[0];
        QVERIFY(one.bound >= 40 - 1e-9 && one.makespan >= one.bound - 1e-9);
        const JobSimulation many = take(simulated(session, {"predictive"}, 8)).made[0];
        QVERIFY(std::abs(many.makespan - 20) < 1e-9); // each lane is a chain
        QVERIFY(simulated(session, {"greedy"}, 0).error().message.find("0 devices") != std::string::npos);
        const auto without = simulated(stored(oneAfterTheOther()), {"greedy"}, 2);
        QVERIFY2(!without.ok() && without.error().message.find("had no devices") != std::string::npos, "devices that there were not");
    }

    void jobsHaveTheirQuotas() {
        JobRow row;
        row.name = "narrow";
        row.what = R"({"model": "mlp", "cores": 1})";
        const StoredJobId job = take(made_->store().addJobs({row})).front();
        const auto made = take(simulated(stored({{job, "build", R"({"core": [0]})", 0, 0, 2, 0}, {job, "build", R"({"core": [1]})", 0, 2, 4, 0}})));
        QVERIFY(made.made[0].makespan == 4 && made.was.waiting == 2);
        const auto more = simulated(stored({{job, "build", R"({"core": [0, 1]})", 0, 0, 2, 0}}));
        QVERIFY(!more.ok() && more.error().message.find("its job may have 1") != std::string::npos);
    }

    void whatCannotBeSimulated_data() {
        QTest::addColumn<QByteArray>("uses");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("nothing") << QByteArray("{}") << QByteArray("does not say which cores or devices it loaded");
        QTest::newRow("no object") << QByteArray("[1]") << QByteArray("does not say which");
        QTest::newRow("no units") << QByteArray(R"({"core": []})") << QByteArray("does not say which");
        QTest::newRow("only the slot") << QByteArray(R"({"profile": [0]})") << QByteArray("does not say which");
        QTest::newRow("a core beyond the last") << QByteArray(R"({"core": [2]})") << QByteArray("loaded units of 'core' that there are not");
        QTest::newRow("a core before the first") << QByteArray(R"({"core": [-1]})") << QByteArray("that there are not");
        QTest::newRow("a core before the first beside another") << QByteArray(R"({"core": [0, -1]})") << QByteArray("that there are not");
        QTest::newRow("a core far beyond the last") << QByteArray(R"({"core": [0, 4294967296]})") << QByteArray("that there are not");
        QTest::newRow("a core twice") << QByteArray(R"({"core": [1, 1]})") << QByteArray("that there are not");
        QTest::newRow("another resource") << QByteArray(R"({"core": [0], "moon": [0]})") << QByteArray("'moon', of which the session had none");
    }
    void whatCannotBeSimulated() {
        QFETCH(QByteArray, uses);
        QFETCH(QByteArray, says);
        const auto made = simulated(stored({{made_->job(0), "build", R"({"core": [0]})", 0, 0, 1, 0}, {made_->job(1), "profile", uses.toStdString(), 1, 1, 2, 0}}));
        QVERIFY(!made.ok());
        const QByteArray message = QByteArray::fromStdString(made.error().message);
        QVERIFY2(message.contains(says) && message.contains("a stage 'profile' of its job 'two'") && message.contains("session 1 cannot be simulated"), message);
    }

    void sessionsThatAreNone() {
        const auto says = [&](std::int64_t session, const char* text) {
            const auto made = simulated(session);
            return !made.ok() && made.error().message.find(text) != std::string::npos;
        };
        QVERIFY(says(7, "no session 7"));
        QVERIFY(says(stored({}), "session 1 ran no stage"));
        const JobSessionId running = begin();
        QVERIFY(says(running.value(), "session 2 still runs"));
        take(made_->store().addJobSlices(running, {{made_->job(0), "build", R"({"core": [0]})", 0, 0, 1, 0}}));
        QVERIFY(says(running.value(), "session 2 still runs"));
        const std::int64_t damaged = stored({{made_->job(0), "build", R"({"core": [0]})", 0, 0, 1, 0}}, "[]");
        QVERIFY(says(damaged, "'core', of which the session had none"));
        QVERIFY(says(stored({{made_->job(0), "build", R"({"core": [0]})", 0, 0, std::numeric_limits<double>::infinity(), 0}}), "times that are none"));
        const std::int64_t good = stored({{made_->job(0), "build", R"({"core": [0]})", 0, 0, 1, 0}});
        QVERIFY(simulated(good, {"magic"}).error().message.find("no policy 'magic'") != std::string::npos);
        StopSource stopped;
        stopped.requestStop();
        QVERIFY(simulateSession({made_->path(), good}, Work{stopped.token(), {}}).error().isCancelled());
        QVERIFY(!simulateSession({made_->missing(), 1}).ok());
    }

    // All called at once, as only in a damaged store: no more edges than the jobs' threads could make.
    void manyThatSayTheSame() {
        std::vector<RecordedStage> stages;
        for (int i = 0; i < 20'000; ++i)
            stages.push_back({0, "build", {{"core"}}, {}, i < 10'000 ? 0.0 : 20'000.0, double(i), double(i + 1)});
        const SimulatedJob job = recordedJobs(std::move(stages), 1).front();
        QCOMPARE(job.stages.size(), std::size_t(20'000));
        QVERIFY(job.stages[9'999].after.empty() && job.stages[19'999].after.size() <= 64 && !job.stages[19'999].after.empty());
    }
};

QTEST_GUILESS_MAIN(TstSessionSimulation)
#include "tst_session_simulation.moc"
