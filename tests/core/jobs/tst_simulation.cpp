// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>

#include "core/jobs/scheduling_policy.h"
#include "core/jobs/simulation.h"
#include "tests/core/jobs/driven_jobs.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

// The two jobs of a thesis on sharing one client and one target (ResNet-18, 13 tasks of 2000 trials): learning after five of six batches.
BatchJob thesisJob(std::size_t inFlight) { return {"job", 600, 8.3, 39.5, 44, 5, 6, inFlight}; }

Simulation simulated(const BatchJob& job, int jobs, int devices, const std::string& policy) {
    return take(simulate(batchResources(devices), std::vector<SimulatedJob>(static_cast<std::size_t>(jobs), simulatedJob(job)), policy));
}

// Empty, or what the schedule breaks (observed_jobs.h). "shared" keeps only the order.
std::string wrongOf(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs, const Simulation& made, const std::string& policy) {
    const Observed seen = observed(resources, jobs, made, policy != "shared");
    const std::string wrong = ScheduleCheck(seen).wrong();
    return wrong.empty() && made.makespan + 1e-6 < made.bound ? "faster than possible" : wrong;
}

std::string wrongOf(const BatchJob& job, int jobs, int devices, const Simulation& made) {
    return wrongOf(batchResources(devices), std::vector<SimulatedJob>(static_cast<std::size_t>(jobs), simulatedJob(job)), made, "any");
}

// So many chains of 200 times these stages, which never all pause at once: each but the first begins half a stage later.
SimulatedJob chains(const std::vector<SimulatedStage>& links, std::size_t count) {
    SimulatedJob job{{"chains"}, {}, 0, 0};
    std::vector<std::size_t> last;
    for (std::size_t chain = 0; chain < count; ++chain) {
        last.push_back(job.stages.size());
        job.stages.push_back(links.front());
        job.stages.back().seconds *= chain > 0 ? 0.5 : 1;
    }
    for (int n = 0; n < 200; ++n)
        for (std::size_t& before : last)
            for (const SimulatedStage& link : links) {
                job.stages.push_back(link);
                job.stages.back().after = {std::exchange(before, job.stages.size() - 1)};
            }
    return job;
}

RandomJobs workOf(std::vector<Resource> resources, std::vector<SimulatedJob> jobs) {
    RandomJobs work{std::move(resources), std::move(jobs), {}, {}, {}};
    for (const SimulatedJob& job : work.jobs) {
        work.more.emplace_back(job.stages.size());
        work.gaps.push_back(0);
    }
    return work;
}

// As many as the environment says, or `usual`.
int workloads(int usual) {
    const int many = qEnvironmentVariableIntValue("TUNESMITH_MANY_JOBS");
    return many > 0 ? many : usual;
}

void addPolicies() {
    QTest::addColumn<QString>("policy");
    for (const PolicyInfo& policy : schedulingPolicies())
        QTest::newRow(policy.name.c_str()) << QString::fromStdString(policy.name);
}

} // namespace

class TstSimulation : public QObject {
    Q_OBJECT

private slots:
    void oneJobAfterTheOther() {
        const BatchJob job{"job", 10, 1, 2, 3, 1, 1, 1};
        const Simulation made = simulated(job, 2, 1, "sequential");
        QCOMPARE(made.makespan, 120.0);
        QCOMPARE(made.bound, 80.0); // of the client; before the device's first measurement and behind its last there is more
        QCOMPARE(made.fairness, 0.5);
        QCOMPARE(made.utilisation.at("client"), 80.0 / 120);
        QCOMPARE(made.utilisation.at("device"), 40.0 / 120);
        QCOMPARE(made.slices.size(), std::size_t(60));
        QCOMPARE(wrongOf(job, 2, 1, made), std::string());
    }

    // Of two that share evenly, each takes twice as long; nothing waits, everything is disturbed.
    void sharedStagesSlowDown() {
        const std::vector<Resource> resources{{"cpu", 1}};
        const std::vector<SimulatedJob> jobs(2, SimulatedJob{{"job"}, {{"build", {{"cpu"}}, {}, 4}}, 0, 0});
        const Simulation made = take(simulate(resources, jobs, "shared"));
        QCOMPARE(made.makespan, 8.0);
        QCOMPARE(made.disturbed, 16.0);
        QCOMPARE(made.waiting, 0.0);
        QCOMPARE(take(simulate(resources, jobs, "greedy")).disturbed, 0.0);
        QCOMPARE(take(simulate(resources, jobs, "greedy")).waiting, 4.0);
    }

    void twoJobsOfTheThesis_data() {
        QTest::addColumn<int>("inFlight");
        QTest::addColumn<double>("most");
        QTest::newRow("one batch in flight") << 1 << 1.12;
        QTest::newRow("two batches in flight") << 2 << 1.05;
    }
    void twoJobsOfTheThesis() {
        QFETCH(int, inFlight);
        QFETCH(double, most);
        const Simulation made = simulated(thesisJob(static_cast<std::size_t>(inFlight)), 2, 1, "predictive");
        QVERIFY(made.bound > 53900 && made.bound < 54100); // the client's 15 hours
        QVERIFY2(made.makespan <= most * made.bound, qPrintable(QString::number(made.makespan / made.bound)));
        QVERIFY(made.makespan < simulated(thesisJob(static_cast<std::size_t>(inFlight)), 2, 1, "greedy").makespan);
        QCOMPARE(wrongOf(thesisJob(static_cast<std::size_t>(inFlight)), 2, 1, made), std::string());
    }

    void fastUpdates_data() {
        QTest::addColumn<int>("jobs");
        QTest::addColumn<int>("devices");
        for (const int jobs : {1, 2, 4, 8})
            for (const int devices : {1, 2, 4})
                QTest::addRow("%d jobs on %d devices", jobs, devices) << jobs << devices;
    }
    void fastUpdates() {
        QFETCH(int, jobs);
        QFETCH(int, devices);
        const BatchJob job{"job", 600, 8.3, 39.5, 1, 1, 1, 8};
        const Simulation made = simulated(job, jobs, devices, "predictive");
        QVERIFY2(made.makespan <= (jobs == 1 && devices == 4 ? 1.15 : 1.05) * made.bound, qPrintable(QString::number(made.makespan / made.bound)));
        QCOMPARE(wrongOf(job, jobs, devices, made), std::string());
    }

    // Jobs that want unlike amounts get like ones.
    void fairIsFair_data() {
        QTest::addColumn<int>("inFlight");
        for (const int inFlight : {1, 2, 4})
            QTest::addRow("%d in flight", inFlight) << inFlight;
    }
    void fairIsFair() {
        QFETCH(int, inFlight);
        std::vector<SimulatedJob> jobs;
        for (const double slower : {1.0, 1.5, 2.0, 3.0})
            jobs.push_back(simulatedJob({"job", 200, 8.3 * slower, 20 * slower, 10 * slower, 1, 1, static_cast<std::size_t>(inFlight)}));
        const Simulation fair = take(simulate(batchResources(1), jobs, "fair"));
        QVERIFY2(fair.fairness >= 0.95, qPrintable(QString::number(fair.fairness)));
        QCOMPARE(wrongOf(batchResources(1), jobs, fair, "fair"), std::string());
        QVERIFY(take(simulate(batchResources(1), jobs, "sequential")).fairness < 0.5);
    }

    void weightsAreShares() {
        std::vector<SimulatedJob> jobs(2, simulatedJob({"job", 200, 8, 20, 1, 1, 1, 4}));
        jobs[1].traits.weight = 3;
        const Simulation fair = take(simulate(batchResources(1), jobs, "fair"));
        QVERIFY(fair.fairness >= 0.95);
        double first = 0, second = 0;
        for (const SimulatedSlice& slice : fair.slices)
            (slice.job == 0 ? first : second) = std::max(slice.job == 0 ? first : second, slice.end);
        QVERIFY(second < 0.75 * first);
    }

    void timesThatVaryAreLearned() {
        Rng rng(3);
        std::vector<SimulatedJob> jobs(2, simulatedJob(thesisJob(2)));
        for (SimulatedJob& job : jobs)
            for (SimulatedStage& stage : job.stages)
                stage.seconds *= 1 + 0.3 * static_cast<double>(rng.uniform(-1, 1));
        const Simulation made = take(simulate(batchResources(1), jobs, "predictive"));
        QVERIFY2(made.makespan <= 1.05 * made.bound, qPrintable(QString::number(made.makespan / made.bound)));
        QCOMPARE(wrongOf(batchResources(1), jobs, made, "predictive"), std::string());
    }

    void whatCannotBeSimulated() {
        const std::vector<Resource> resources{{"cpu", 1}};
        QVERIFY(!simulate(resources, {{{"job"}, {{"build", {{"gpu"}}, {}, 1}}, 0, 0}}, "greedy").ok());
        QVERIFY(!simulate(resources, {{{"job"}, {{"build", {}, {0}, 1}}, 0, 0}}, "greedy").ok()); // waits for itself
        QVERIFY(!simulate(resources, {{{"job"}, {{"build", {}, {7}, 1}}, 0, 0}}, "greedy").ok());
        QVERIFY(!simulate(resources, {}, "magic").ok());
        const Simulation nothing = take(simulate(resources, {}, "greedy"));
        QVERIFY(nothing.makespan == 0 && nothing.bound == 0 && nothing.slices.empty() && nothing.utilisation.at("cpu") == 0);
        StopSource source;
        source.requestStop();
        QVERIFY(simulate(resources, {{{"job"}, {{"build", {}, {}, 1}}, 0, 0}}, "greedy", source.token()).error().isCancelled());
    }

    void whateverComes_data() { addPolicies(); }
    void whateverComes() {
        QFETCH(QString, policy);
        const std::string name = policy.toStdString();
        for (int seed = 1; seed <= workloads(2000); ++seed) {
            const RandomJobs random = RandomJobsMaker(static_cast<std::uint64_t>(seed)).plain();
            const Simulation made = take(simulate(random.resources, random.jobs, name));
            const std::string wrong = wrongOf(random.resources, random.jobs, made, name);
            QVERIFY2(wrong.empty(), qPrintable(QString("seed %1: %2").arg(seed).arg(QString::fromStdString(wrong))));
            QCOMPARE(take(simulate(random.resources, random.jobs, name)).makespan, made.makespan);
        }
    }

    // Whatever happens meanwhile: lanes, calls, quotas, and half of the time amounts, pauses and priorities that change. Some workloads are longer than anybody's patience.
    void whateverHappens_data() { addPolicies(); }
    void whateverHappens() {
        QFETCH(QString, policy);
        for (int seed = 1; seed <= workloads(5000); ++seed) {
            const RandomJobs random = RandomJobsMaker(static_cast<std::uint64_t>(seed), seed % 20 == 0 ? 100 : 8).eventful();
            const Observed seen = DrivenJobs(random, policy.toStdString()).go();
            std::size_t stages = 0;
            for (const SimulatedJob& job : random.jobs)
                stages += job.stages.size();
            const std::string wrong = seen.stages.size() < stages ? "a stage was never added" : ScheduleCheck(seen).wrong();
            QVERIFY2(wrong.empty(), qPrintable(QString("seed %1: %2").arg(seed).arg(QString::fromStdString(wrong))));
        }
    }

    // Stages that others, without an end, would never leave room for, or always go before.
    void nobodyStarves_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<RandomJobs>("work");
        const SimulatedJob small = chains({{"build", {{"cpu"}}, {}, 1}}, 2);
        SimulatedJob tight = small, waits{{"waits"}, {{"profile", {{"cpu", 2}}, {}, 1}}, 5, 0};
        tight.traits.most["cpu"] = 2;
        tight.stages.insert(tight.stages.begin() + 2, {"profile", {{"cpu", 2}}, {}, 1});
        for (std::size_t s = 3; s < tight.stages.size(); ++s)
            for (std::size_t& before : tight.stages[s].after)
                before += before >= 2 ? 1 : 0;
        SimulatedJob exclusive = waits, light = chains({{"device", {{"device"}}, {}, 1}}, 2), busy = chains({{"client", {{"client"}}, {}, 1}}, 1);
        exclusive.stages[0].uses = {{"cpu", 1, true}};
        light.traits.weight = 1000;
        busy.stages.push_back({"device", {{"device"}}, {}, 1});
        const SimulatedJob urgent = chains({{"build", {{"client"}}, {}, 1}, {"profile", {{"device"}}, {}, 0.25}}, 2), calm{{"calm"}, {{"update", {{"client"}}, {}, 1}}, 5, 0};
        for (const char* policy : {"greedy", "fair", "predictive"}) {
            const QByteArray name(policy);
            QTest::newRow(name + ", large") << policy << workOf({{"cpu", 2}}, {small, waits});
            QTest::newRow(name + ", alone") << policy << workOf({{"cpu", 2}}, {small, exclusive});
            QTest::newRow(name + ", for its quota") << policy << workOf({{"cpu", 4}}, {tight});
            QTest::newRow(name + ", of little weight") << policy << workOf({{"client", 1}, {"device", 1}}, {light, busy});
            QTest::newRow(name + ", not urgent") << policy << workOf({{"client", 1}, {"device", 1}}, {urgent, calm});
        }
    }
    void nobodyStarves() {
        QFETCH(QString, policy);
        QFETCH(RandomJobs, work);
        const Observed seen = DrivenJobs(work, policy.toStdString()).go();
        QVERIFY(seen.patience);
        const std::string wrong = ScheduleCheck(seen).wrong();
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    // The check itself finds what is wrong.
    void checksFind_data() {
        using What = Observed::Event::What;
        using Events = std::vector<Observed::Event>;
        QTest::addColumn<Events>("events");
        QTest::addColumn<QString>("says");
        const Observed::Event begin0{1, What::begin, 0, 0, {{0}}}, end0{3, What::end, 0}, begin1{3, What::begin, 1, 0, {{0}}}, end1{5, What::end, 1};
        QTest::newRow("nothing") << Events{begin0, end0, begin1, end1} << "";
        QTest::newRow("lost") << Events{begin0, end0} << "lost";
        QTest::newRow("twice") << Events{begin0, begin0} << "twice";
        QTest::newRow("not yet") << Events{begin1} << "before what it comes after";
        QTest::newRow("too short") << Events{begin0, {2, What::end, 0}} << "another time";
        QTest::newRow("paused") << Events{{1, What::pause, 0}, begin0} << "paused";
        QTest::newRow("other unit") << Events{{1, What::begin, 0, 0, {{7}}}} << "one unit";
        QTest::newRow("no unit") << Events{{1, What::begin, 0, 0, {{}}}} << "another number";
        QTest::newRow("gone") << Events{{1, What::amount, 0, 0}, begin0} << "more than there is";
        QTest::newRow("waits") << Events{{90, What::begin, 0, 0, {{0}}}, {92, What::end, 0}, {92, What::begin, 1, 0, {{0}}}, {94, What::end, 1}} << "waited for 90";
        QTest::newRow("too much") << Events{begin0, {1, What::begin, 2, 0, {{0}}}} << "more than there is";
        QTest::newRow("quota") << Events{{0, What::amount, 0, 2}, begin0, {1, What::begin, 2, 0, {{1}}}} << "its job may have";
        QTest::newRow("not its turn") << Events{{1, What::begin, 3, 0, {{0}}}} << "turn of job 0";
    }
    void checksFind() {
        using What = Observed::Event::What;
        QFETCH(std::vector<Observed::Event>, events);
        QFETCH(QString, says);
        Observed seen;
        seen.resources = {{"cpu", 1}};
        seen.jobs = {{.name = "job", .most = {{"cpu", 1}}}, {"other"}};
        seen.stages = {{0, {{"cpu"}}, {}, 2}, {0, {{"cpu"}}, {0}, 2}};
        if (says.contains("there is") || says.contains("may have"))
            seen.stages.push_back({0, {{"cpu"}}, {}, 2});
        if (says.contains("turn")) {
            seen.stages.resize(3);
            seen.stages.push_back({1, {{"cpu"}}, {}, 2});
            seen.inTurn = true;
        }
        seen.patience = 20;
        for (std::size_t stage = 0; stage < seen.stages.size(); ++stage)
            seen.events.push_back({0, What::add, stage});
        std::ranges::copy(events, std::back_inserter(seen.events));
        const QString wrong = QString::fromStdString(ScheduleCheck(seen).wrong());
        QVERIFY2(says.isEmpty() ? wrong.isEmpty() : wrong.contains(says), qPrintable(wrong));
    }
};

QTEST_APPLESS_MAIN(TstSimulation)
#include "tst_simulation.moc"
