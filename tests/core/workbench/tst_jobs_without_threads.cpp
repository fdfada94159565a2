// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/workbench/tune_jobs.h"
#include "tests/no_threads.h"
#include "tests/take.h"

using namespace tunesmith;
using testing::noThreads;

// At the limit of processes a job fails, and the others go on.
class TstJobsWithoutThreads : public QObject {
    Q_OBJECT
private slots:
    void aJobGetsNone() {
        struct Listener : TuneJobsListener {
            void onJob(const JobStanding& standing) override {
                if (standing.job == 0)
                    noThreads = standing.running; // until it has failed
            }
        } listener;
        const QTemporaryDir folder;
        TuneJobsRequest request;
        request.store = folder.filePath("jobs.db").toStdString();
        request.listener = &listener;
        TuneJob job;
        job.model = "mlp";
        job.tuning.threads = 1;
        job.tuning.budget.trialsPerWorkload = 1;
        job.tuning.measureModel = false;
        request.jobs = {job, job};
        const TunedJobs tuned = take(tuneJobs(request));
        QCOMPARE(tuned.jobs[0].state, std::string("failed"));
        QVERIFY2(tuned.jobs[0].error.find("ulimit -u") != std::string::npos, tuned.jobs[0].error.c_str());
        QVERIFY2(tuned.jobs[1].state == "done", tuned.jobs[1].error.c_str());
    }
};

QTEST_GUILESS_MAIN(TstJobsWithoutThreads)
#include "tst_jobs_without_threads.moc"
