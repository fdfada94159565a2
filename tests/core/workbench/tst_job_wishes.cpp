// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "core/store/sqlite.h"
#include "core/store/store.h"
#include "core/workbench/job_queue.h"
#include "core/workbench/tune_jobs.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

TuneJob jobOf(const std::string& name, int trials) {
    TuneJob job;
    job.name = name;
    job.model = "mlp";
    job.tuning.threads = 1;
    job.tuning.budget.trialsPerWorkload = trials;
    job.tuning.measureModel = false;
    return job;
}

TuneJob secondsOf(const std::string& name, double seconds) {
    TuneJob job = jobOf(name, 1);
    job.tuning.budget = {};
    job.tuning.budget.seconds = seconds;
    return job;
}

// Does something to the jobs once one of them stands as is waited for, then the next thing.
struct Meddler : TuneJobsListener {
    using When = std::function<bool(const JobStanding&)>;
    Meddler(When when, std::function<void()> act) { then(std::move(when), std::move(act)); }
    void then(When when, std::function<void()> act) { steps.emplace_back(std::move(when), std::move(act)); }

    void onJob(const JobStanding& standing) override {
        first.try_emplace(standing.name, standing);
        last[standing.name] = standing;
        trials = standing.trials;
        if (next < steps.size() && steps[next].first(standing))
            steps[next++].second();
    }
    bool done() const { return next == steps.size(); }

    std::vector<std::pair<When, std::function<void()>>> steps;
    std::size_t next = 0;
    std::atomic<std::int64_t> trials = 0; // of the last one that it heard of
    std::map<std::string, JobStanding> first, last;
};

void mustBe(const Status& status) {
    if (!status.ok())
        qFatal("%s", status.error().message.c_str());
}

} // namespace

// What others do to the jobs of a session while it runs.
class TstJobWishes : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    TuneJobsRequest request(const char* store, std::vector<TuneJob> jobs) const {
        TuneJobsRequest request;
        request.store = folder_.filePath(store).toStdString();
        request.jobs = std::move(jobs);
        request.atOnce = 1;
        return request;
    }

private slots:
    void removedWhileItWaits() {
        TuneJobsRequest asked = request("waits.db", {jobOf("one", 4), jobOf("two", 4), jobOf("three", 4)});
        Meddler meddler([](const JobStanding& one) { return one.name == "one" && one.running; }, [&] { mustBe(changeJob(asked.store, 3, JobChange::remove)); });
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        QVERIFY(meddler.done());
        QVERIFY(tuned.jobs[0].state == "done" && tuned.jobs[1].state == "done" && tuned.jobs[2].state == "removed");
        QVERIFY(tuned.jobs[2].error.empty() && tuned.jobs[2].report.runs.empty());
        QVERIFY(meddler.last.at("three").ended && meddler.last.at("three").cancelled);
        QCOMPARE(take(listJobs(asked.store)).size(), std::size_t(2));
    }

    // Its last stages are not yet stored then, and never will be.
    void removedAsItEnds() {
        TuneJobsRequest asked = request("ends.db", {jobOf("one", 3), jobOf("two", 3)});
        Meddler meddler([](const JobStanding& one) { return one.name == "one" && one.ended; }, [&] { mustBe(changeJob(asked.store, 1, JobChange::remove)); });
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        QVERIFY(meddler.done());
        QVERIFY(tuned.jobs[0].state == "done" && tuned.jobs[1].state == "done");
        const std::vector<QueuedJob> left = take(listJobs(asked.store));
        QVERIFY(left.size() == 1 && left[0].name == "two" && left[0].state == "done");
    }

    // Jobs are not cancelled by what ails the store: the next session goes on with them.
    void aStoreThatBreaks() {
        TuneJobsRequest asked = request("breaks.db", {jobOf("one", 500), jobOf("two", 500)});
        std::string layout;
        Meddler meddler([](const JobStanding& one) { return one.name == "one" && one.trials > 2; }, [&] {
            const auto connection = take(sqlite::Connection::open(asked.store, {.write = true}));
            {
                auto row = take(connection->prepare("SELECT group_concat(sql, ';') FROM sqlite_schema WHERE tbl_name = 'job_slice'"));
                layout = take(row.step()) ? row.text(0) : std::string();
            }
            mustBe(connection->execute("DROP TABLE job_slice"));
        });
        asked.listener = &meddler;
        const auto tuned = tuneJobs(asked);
        QVERIFY(!tuned.ok());
        QVERIFY2(tuned.error().message.find("job_slice") != std::string::npos, tuned.error().message.c_str());
        mustBe(take(sqlite::Connection::open(asked.store, {.write = true}))->execute(layout));
        const std::vector<QueuedJob> left = take(listJobs(asked.store));
        QVERIFY(left[0].state == "queued" && left[0].run && left[0].detail.empty() && left[0].progress > 0);
        QVERIFY(left[1].state == "queued" && !left[1].run);
        QVERIFY(meddler.last.at("one").error.empty() && !meddler.last.at("one").ended);
    }

    // A budget of seconds is one of work.
    void pausedLongerThanItsBudget() {
        constexpr double kBudget = 2, kPause = 4;
        TuneJobsRequest asked = request("paused.db", {secondsOf("one", kBudget)});
        std::jthread other;
        std::int64_t before = 0;
        Meddler meddler([](const JobStanding& one) { return one.trials > 2; }, [&] {
            other = std::jthread([&] {
                mustBe(changeJob(asked.store, 1, JobChange::pause));
                std::this_thread::sleep_for(std::chrono::duration<double>(kPause));
                before = meddler.trials;
                mustBe(changeJob(asked.store, 1, JobChange::resume));
            });
        });
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        other.join();
        const TunedJob& job = tuned.jobs[0];
        QVERIFY(job.state == "done" && job.seconds > kPause);
        QVERIFY2(before > 0 && meddler.trials > before, "it ended in its pause");
        const QueuedJob listed = take(listJobs(asked.store)).front();
        QVERIFY2(listed.seconds > 0 && listed.seconds < job.seconds - kPause / 2, qPrintable(QString::number(listed.seconds)));
        QVERIFY(job.report.seconds() >= kBudget && job.report.seconds() < job.seconds - kPause / 2);
    }

    // By whoever runs what waits in the store, and by nobody else.
    void addedMeanwhile_data() {
        QTest::addColumn<bool>("queued");
        QTest::newRow("all that waits") << true;
        QTest::newRow("its own jobs") << false;
    }
    void addedMeanwhile() {
        QFETCH(bool, queued);
        TuneJobsRequest asked = request(queued ? "added.db" : "own.db", {jobOf("one", 4)});
        asked.queued = queued;
        Meddler meddler([](const JobStanding& one) { return one.running; }, [&] { take(addJobs(asked.store, {jobOf("late", 3), jobOf("paused", 3)})); });
        meddler.then([](const JobStanding&) { return true; }, [&] { mustBe(changeJob(asked.store, 3, JobChange::pause)); });
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        QVERIFY(meddler.done() && tuned.jobs[0].state == "done");
        QCOMPARE(tuned.jobs.size(), std::size_t(queued ? 3 : 1));
        const std::vector<QueuedJob> left = take(listJobs(asked.store));
        QVERIFY(left[1].state == (queued ? "done" : "queued") && left[2].state == "paused");
        if (!queued)
            return;
        QVERIFY(tuned.jobs[1].name == "late" && tuned.jobs[1].state == "done" && tuned.jobs[1].report.trials() > 0 && tuned.jobs[2].state == "paused");
        QVERIFY(std::ranges::any_of(tuned.timeline.slices, [](const JobSlice& slice) { return slice.job == 1; }));
        QVERIFY(meddler.last.at("late").job == 1 && meddler.last.at("late").ended);
    }

    // One is cancelled while it runs, the other one while it waits; both go on.
    void resumedMeanwhile() {
        TuneJobsRequest asked = request("resumed.db", {jobOf("one", 40), jobOf("two", 3)});
        asked.queued = true;
        Meddler meddler([](const JobStanding& job) { return job.name == "one" && job.trials > 2; }, [&] { mustBe(changeJob(asked.store, 2, JobChange::cancel)); });
        meddler.then([](const JobStanding& job) { return job.name == "two" && job.cancelled; }, [&] { mustBe(changeJob(asked.store, 1, JobChange::cancel)); });
        meddler.then([](const JobStanding& job) { return job.name == "one" && job.cancelled; }, [&] {
            mustBe(changeJob(asked.store, 1, JobChange::resume));
            mustBe(changeJob(asked.store, 2, JobChange::resume));
        });
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        QVERIFY(meddler.done() && tuned.jobs.size() == 2);
        for (const TunedJob& job : tuned.jobs)
            QVERIFY2(job.state == "done" && job.error.empty() && job.report.trials() > 0, job.state.c_str());
        for (const QueuedJob& job : take(listJobs(asked.store)))
            QVERIFY(job.state == "done" && job.progress == 1);
        QVERIFY(!meddler.last.at("one").cancelled && meddler.last.at("one").ended && !meddler.last.at("two").cancelled);
    }

    // A file may hold any text.
    void textsThatAreNoJobAreListedAsSuch() {
        const std::string says = "the store does not say what a job is to do; remove the job and add it again";
        JobRow row;
        for (const char* text : {"", "{", "[]", "7", "null", "\"mlp\""}) {
            row.what = text;
            QCOMPARE(queuedJob(row).detail, says);
        }
        row.what = "{}";
        QCOMPARE(queuedJob(row).detail, std::string());
    }

    void numbersThatNoJobHas_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("what");
        for (const char* number : {R"("weight":0)", R"("weight":-1)", R"("batch":-1)", R"("batch":1000000000000)", R"("batch":3e74)", R"("threads":4294967297)", R"("trials":0)", R"("seconds":-1)", R"("devices":1000000)",
                                   R"("cores":-2)", R"("deadline":-1)"})
            QTest::newRow(number) << "tune" << QStringLiteral(R"({"model":"mlp",%1})").arg(number);
        QTest::newRow("batch of a problem") << "problem" << QStringLiteral(R"({"file":"a.toml","batch":5000})");
        QTest::newRow("trials of a problem") << "problem" << QStringLiteral(R"({"file":"a.toml","trials":9223372036854775807})");
    }
    void numbersThatNoJobHas() {
        QFETCH(QString, kind);
        QFETCH(QString, what);
        JobRow row;
        row.kind = kind.toStdString();
        row.what = what.toStdString();
        const std::string detail = queuedJob(row).detail;
        QVERIFY2(detail.find("remove the job and add it again") != std::string::npos, detail.c_str());
    }

    void rowsThatMakeNoSense() {
        TuneJobsRequest asked = request("nonsense.db", {});
        asked.queued = true;
        {
            JobRow wrong, unknown;
            wrong.name = "wrong";
            wrong.what = R"({"model": "mlp", "threads": "many"})";
            unknown.name = "unknown";
            unknown.kind = "bake";
            take(take(Store::open(asked.store))->addJobs({wrong, unknown}));
        }
        take(addJobs(asked.store, {jobOf("right", 3)}));
        Meddler meddler([](const JobStanding& job) { return job.name == "unknown" && job.ended; }, [] {});
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        QCOMPARE(tuned.jobs.size(), std::size_t(3));
        QVERIFY(tuned.jobs[0].state == "failed" && tuned.jobs[1].state == "failed" && tuned.jobs[2].state == "done");
        QVERIFY2(tuned.jobs[0].error.starts_with("job 1: the store does not say what a job is to do"), tuned.jobs[0].error.c_str());
        QVERIFY2(tuned.jobs[1].error.starts_with("job 2: there is no kind of job 'bake'"), tuned.jobs[1].error.c_str());
        QVERIFY(meddler.done() && meddler.last.at("wrong").error == tuned.jobs[0].error);
        const std::vector<QueuedJob> listed = take(listJobs(asked.store));
        QVERIFY(listed[0].state == "failed" && !listed[0].detail.empty() && listed[2].state == "done");
        QVERIFY(take(tuneJobs(asked)).jobs.empty());
    }

    void trialsOfEarlierSessions() {
        TuneJobsRequest asked = request("trials.db", {jobOf("one", 1)});
        asked.jobs[0].tuning.budget = {};
        asked.jobs[0].tuning.budget.trials = 24;
        Meddler before([](const JobStanding&) { return true; }, [] {});
        asked.listener = &before;
        StopSource source;
        const Work work{source.token(), [&](const Progress& progress) {
                            if (progress.fraction > 0.3)
                                source.requestStop();
                        }};
        QVERIFY(take(tuneJobs(asked, work)).jobs[0].state == "queued" && before.trials > 0);
        asked.jobs.clear();
        asked.queued = true;
        Meddler after([](const JobStanding&) { return true; }, [] {});
        asked.listener = &after;
        const TunedJob job = take(tuneJobs(asked)).jobs[0];
        const JobStanding& first = after.first.at("one");
        QVERIFY(first.trials == before.trials && !first.running && first.fraction > 0 && first.fraction < 1);
        QVERIFY2(after.trials >= job.report.trials() && after.trials < 2 * 24, qPrintable(QString::number(after.trials)));
        QVERIFY(job.state == "done");
    }

    // It follows from what the store says that the job has worked, whoever stored that.
    void whatIsLeftOfABudget() {
        constexpr double kBudget = 5000, kLeft = 2;
        TuneJobsRequest asked = request("left.db", {secondsOf("one", kBudget)});
        asked.jobs[0].model = "encoder"; // whose schedules are many
        StopSource source;
        Meddler meddler([](const JobStanding& one) { return one.trials > 2; }, [&] { source.requestStop(); });
        asked.listener = &meddler;
        const TunedJob stopped = take(tuneJobs(asked, {source.token(), {}})).jobs[0];
        QCOMPARE(stopped.state, std::string("queued"));
        const double worked = take(listJobs(asked.store)).front().seconds;
        QVERIFY(worked > 0 && worked <= stopped.seconds + 1);
        {
            const auto store = take(Store::open(asked.store));
            const StoredJobId id(stopped.id);
            QVERIFY(take(store->takeJob(id)));
            mustBe(store->saveJob(id, {{}, 0.5, kBudget - kLeft}));
            mustBe(store->endJob(id, JobState::queued));
        }
        asked.jobs.clear();
        asked.queued = true;
        const TunedJob job = take(tuneJobs(asked)).jobs[0];
        QCOMPARE(job.state, std::string("done"));
        QCOMPARE(job.report.last().stopReason, std::string("budget_time"));
        QVERIFY(take(listJobs(asked.store)).front().seconds >= kBudget);
    }
};

QTEST_GUILESS_MAIN(TstJobWishes)
#include "tst_job_wishes.moc"
