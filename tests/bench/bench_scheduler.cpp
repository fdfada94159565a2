// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <chrono>

#include "core/jobs/scheduler.h"
#include "core/jobs/scheduling_policy.h"
#include "tests/take.h"

using namespace tunesmith;

// What a decision of the scheduler takes while a thousand stages are ready.
class BenchScheduler : public QObject {
    Q_OBJECT

private slots:
    void decisions_data() {
        QTest::addColumn<QString>("policy");
        for (const PolicyInfo& policy : schedulingPolicies())
            if (policy.name != "shared") // where nothing is ever queued
                QTest::newRow(policy.name.c_str()) << QString::fromStdString(policy.name);
    }
    void decisions() {
        QFETCH(QString, policy);
        constexpr int kJobs = 20, kEach = 100, kDecisions = 1000;
        Scheduler scheduler({{"client", 4}, {"device", 2}}, take(makePolicy(policy.toStdString())));
        for (int j = 0; j < kJobs; ++j) {
            const JobId job = scheduler.addJob({"job"});
            for (int s = 0; s < kEach; ++s) {
                const StageId build = take(scheduler.addStage(job, {"build", {{"client"}}, {}}, 0));
                take(scheduler.addStage(job, {"profile", {{"device"}}, {build}}, 0));
            }
        }
        std::vector<StageStart> running = scheduler.start(0);
        std::vector<double> milliseconds;
        for (int i = 1; i <= kDecisions && !running.empty(); ++i) {
            const JobId job = scheduler.entry(running.front().stage).job;
            scheduler.finish(running.front().stage, i);
            running.erase(running.begin());
            if (scheduler.job(job).unfinished == 0)
                scheduler.end(job, i);
            const auto before = std::chrono::steady_clock::now();
            const auto started = scheduler.start(i);
            milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count());
            running.insert(running.end(), started.begin(), started.end());
        }
        std::ranges::sort(milliseconds);
        qInfo("%s: a decision among 2000 to 1000 ready stages takes %.3f ms, 19 of 20 at most %.3f ms, the longest of %zu %.3f ms", qPrintable(policy),
              milliseconds[milliseconds.size() / 2], milliseconds[milliseconds.size() * 19 / 20], milliseconds.size(), milliseconds.back());
        QVERIFY(milliseconds[milliseconds.size() / 2] < 1);
    }
};

QTEST_APPLESS_MAIN(BenchScheduler)
#include "bench_scheduler.moc"
