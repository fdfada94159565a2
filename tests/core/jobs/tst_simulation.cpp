// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>

#include "core/jobs/scheduling_policy.h"
#include "core/jobs/simulation.h"
#include "tests/core/jobs/random_jobs.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

// The two jobs of a thesis on sharing one client and one target (ResNet-18, 13 tasks of 2000 trials): learning after five of six batches.
BatchJob thesisJob(std::size_t inFlight) { return {"job", 600, 8.3, 39.5, 44, 5, 6, inFlight}; }

Simulation simulated(const BatchJob& job, int jobs, int devices, const std::string& policy) {
    return take(simulate(batchResources(devices), std::vector<SimulatedJob>(static_cast<std::size_t>(jobs), simulatedJob(job)), policy));
}

const std::vector<ResourceUse>& usesOf(const std::vector<SimulatedJob>& jobs, const SimulatedSlice& slice) { return jobs[slice.job].stages[slice.stage].uses; }

// Every stage once, after those before it; never more of a resource than there is, and nothing beside what is alone. Empty, or what is wrong.
std::string wrongOf(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs, const Simulation& made) {
    std::map<std::pair<std::size_t, std::size_t>, const SimulatedSlice*> found;
    for (const SimulatedSlice& slice : made.slices)
        if (!found.emplace(std::pair(slice.job, slice.stage), &slice).second)
            return "a stage ran twice";
    for (std::size_t j = 0; j < jobs.size(); ++j)
        for (std::size_t s = 0; s < jobs[j].stages.size(); ++s) {
            if (!found.contains({j, s}))
                return "a stage was lost";
            const SimulatedSlice& slice = *found.at({j, s});
            if (std::abs(slice.end - slice.begin - jobs[j].stages[s].seconds) > 1e-6 || slice.begin < jobs[j].arrival)
                return "a stage took another time";
            for (const std::size_t before : jobs[j].stages[s].after)
                if (found.at({j, before})->end > slice.begin + 1e-9)
                    return "a stage began too early";
        }
    for (const Resource& resource : resources)
        for (const SimulatedSlice& at : made.slices) { // what runs when a slice begins
            int used = 0, alone = 0, others = 0;
            for (const SimulatedSlice& slice : made.slices)
                if (slice.begin <= at.begin && at.begin < slice.end)
                    for (const ResourceUse& use : usesOf(jobs, slice))
                        if (use.resource == resource.name) {
                            used += use.amount;
                            alone += use.exclusive ? 1 : 0;
                            ++others;
                        }
            if (used > resource.amount || (alone > 0 && others > 1))
                return "more than there is of " + resource.name;
        }
    return made.makespan + 1e-6 < made.bound ? "faster than possible" : "";
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
        QCOMPARE(made.disturbed, 0.0);
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
        QVERIFY2(wrongOf(batchResources(devices), std::vector<SimulatedJob>(1, simulatedJob({"job", 20, 8.3, 39.5, 1, 1, 1, 8})), simulated({"job", 20, 8.3, 39.5, 1, 1, 1, 8}, 1, devices, "predictive")).empty(), "overlaps");
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

    void whateverComes_data() {
        QTest::addColumn<QString>("policy");
        for (const PolicyInfo& policy : schedulingPolicies())
            QTest::newRow(policy.name.c_str()) << QString::fromStdString(policy.name);
    }
    void whateverComes() {
        QFETCH(QString, policy);
        const int count = qEnvironmentVariableIntValue("TUNESMITH_MANY_JOBS") > 0 ? qEnvironmentVariableIntValue("TUNESMITH_MANY_JOBS") : 2000;
        for (int seed = 1; seed <= count; ++seed) {
            const RandomJobs random = randomJobs(static_cast<std::uint64_t>(seed));
            const Simulation made = take(simulate(random.resources, random.jobs, policy.toStdString()));
            if (policy == "shared") {
                std::size_t stages = 0;
                for (const SimulatedJob& job : random.jobs)
                    stages += job.stages.size();
                QCOMPARE(made.slices.size(), stages);
                continue;
            }
            const std::string wrong = wrongOf(random.resources, random.jobs, made);
            QVERIFY2(wrong.empty(), qPrintable(QString("seed %1: %2").arg(seed).arg(QString::fromStdString(wrong))));
            QCOMPARE(take(simulate(random.resources, random.jobs, policy.toStdString())).makespan, made.makespan);
        }
    }
};

QTEST_APPLESS_MAIN(TstSimulation)
#include "tst_simulation.moc"
