// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "tests/child_process.h"
#include "tests/core/store/require.h"
#include "tests/core/store/store_samples.h"

using namespace tunesmith;
using tunesmith::testing::ChildProcess;

// Jobs in the store: who has them, what is wished of them, and what their stages did.
class TestStoreJobs : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::shared_ptr<Store> store_;
    std::string path_;
    int files_ = 0;

    StoredJobId added(const std::string& name = "one") const {
        JobRow row;
        row.name = name;
        row.what = R"({"model":"caf\u00e9.onnx"})";
        row.priority = 3;
        return store_->addJobs({row}).value().front();
    }
    JobRow row(StoredJobId job) const { return store_->job(job).value(); }

private slots:
    void init() {
        path_ = folder_.filePath(QString::number(++files_) + ".db").toStdString();
        auto store = Store::open(path_);
        REQUIRE_OK(store);
        store_ = store.value();
    }
    void cleanup() { store_.reset(); }

    void aLife() {
        const StoredJobId job = added();
        JobRow fresh = row(job);
        QVERIFY(fresh.state == JobState::queued && fresh.wish == JobWish::run && fresh.priority == 3 && !fresh.run.valid() && !fresh.endedAt && !fresh.interrupted && fresh.createdAt > 0);
        QVERIFY(!store_->saveJob(job, {}).ok()); // nobody has it
        QVERIFY(store_->takeJob(job).value());
        QVERIFY(!store_->takeJob(job).value()); // somebody has it
        const RunId run = samples::beginRun(*store_).value();
        REQUIRE_OK(store_->saveJob(job, {run, 0.25, 7.5}));
        REQUIRE_OK(store_->saveJob(job, {{}, 0.5, 9}));
        QVERIFY(row(job).run == run && row(job).progress == 0.5 && row(job).seconds == 9);
        QVERIFY(!store_->removeJob(job).ok());
        REQUIRE_OK(store_->endJob(job, JobState::done));
        const JobRow done = row(job);
        QVERIFY(done.state == JobState::done && done.endedAt && done.progress == 1);
        QVERIFY(!store_->takeJob(job).value());
        QVERIFY(!store_->wishJob(job, JobWish::run).ok()); // done is done
        QVERIFY(!store_->endJob(job, JobState::failed).ok());
        REQUIRE_CLEAN(*store_);
        REQUIRE_OK(store_->removeJob(job));
        QVERIFY(!store_->job(job).ok());
        REQUIRE_OK(store_->run(run));
    }

    void givenBackAndTakenAgain() {
        const StoredJobId job = added();
        QVERIFY(store_->takeJob(job).value());
        REQUIRE_OK(store_->saveJob(job, {{}, 0.5, 2}));
        REQUIRE_OK(store_->endJob(job, JobState::queued));
        QVERIFY(row(job).state == JobState::queued && !row(job).endedAt && row(job).progress == 0.5);
        QVERIFY(store_->takeJob(job).value());
        REQUIRE_OK(store_->endJob(job, JobState::failed, "no kernel was right"));
        QCOMPARE(row(job).detail, std::string("no kernel was right"));
        REQUIRE_OK(store_->wishJob(job, JobWish::run)); // again
        QVERIFY(row(job).state == JobState::queued && row(job).detail.empty());
        QVERIFY(!store_->endJob(job, JobState::running).ok());
    }

    void wishes() {
        const StoredJobId waiting = added(), taken = added("two");
        REQUIRE_OK(store_->wishJob(waiting, JobWish::pause));
        QVERIFY(row(waiting).wish == JobWish::pause && row(waiting).state == JobState::queued);
        REQUIRE_OK(store_->wishJob(waiting, JobWish::cancel)); // nobody runs it: that is the end
        QVERIFY(row(waiting).state == JobState::cancelled && row(waiting).endedAt);
        REQUIRE_OK(store_->wishJob(waiting, JobWish::run));
        QVERIFY(row(waiting).state == JobState::queued && row(waiting).wish == JobWish::run);
        QVERIFY(store_->takeJob(taken).value());
        REQUIRE_OK(store_->wishJob(taken, JobWish::cancel)); // up to who runs it
        QVERIFY(row(taken).state == JobState::running && row(taken).wish == JobWish::cancel);
        REQUIRE_OK(store_->setJobPriority(taken, -7));
        QCOMPARE(row(taken).priority, -7);
        const StoredJobId nobody(99);
        QVERIFY(!store_->wishJob(nobody, JobWish::pause).ok() && !store_->setJobPriority(nobody, 1).ok() && !store_->removeJob(nobody).ok());
        QVERIFY(!store_->takeJob(nobody).value()); // it may have been removed a moment ago
        const auto unknown = store_->job(nobody);
        QVERIFY(!unknown.ok() && unknown.error().message.find("no job 99") != std::string::npos);
    }

    void allOrNone() {
        JobRow good, bad;
        good.name = "good";
        bad.what = "{";
        QVERIFY(!store_->addJobs({good, bad}).ok());
        QVERIFY(store_->jobs().value().empty());
        QCOMPARE(store_->addJobs({}).value().size(), std::size_t(0));
    }

    void slicesComeBackAsTheyWere() {
        const StoredJobId job = added();
        JobSessionRow session;
        session.policy = "fair";
        session.resources = R"([["core",2]])";
        const JobSessionId id = store_->beginJobSession(session).value();
        QVERIFY(!store_->jobSessions().value().front().endedAt && !store_->jobSessions().value().front().interrupted);
        const Status stored = store_->addJobSlices(id, {{job, "build", R"({"core":[0]})", 0, 0.5, 1.25, 1}, {job, "profile", "{}", 1.25, 1.25, 1.25, 0}});
        REQUIRE_OK(stored);
        const auto slices = store_->jobSlices(id).value();
        QCOMPARE(slices.size(), std::size_t(2));
        QVERIFY(slices[0].job == job && slices[0].stage == "build" && slices[0].uses == R"({"core":[0]})" && slices[0].begin == 0.5 && slices[0].end == 1.25 && slices[0].expected == 1);
        const auto later = store_->jobSlices(id, slices[0].id).value();
        QVERIFY(later.size() == 1 && later[0].stage == "profile" && later[0].id == slices[1].id && slices[1].id > slices[0].id);
        QVERIFY(store_->jobSlices(id, 0, 1).value().size() == 1 && store_->jobSlices(id, slices[1].id).value().empty());
        QVERIFY(!store_->addJobSlices(id, {{job, "build", "{}", 0, 2, 1, 0}}).ok());                 // ends before it begins
        QVERIFY(!store_->addJobSlices(JobSessionId(77), {{job, "build", "{}", 0, 1, 2, 0}}).ok());
        REQUIRE_OK(store_->endJobSession(id));
        QVERIFY(store_->jobSessions().value().front().endedAt);
        const JobSessionRow ran = store_->jobSessions().value().front();
        QVERIFY(ran.slices == 2 && ran.jobs == 1 && ran.lastEnd == 1.25);
        QVERIFY(store_->jobSession(id).value().endedAt && !store_->jobSession(JobSessionId(77)).ok());
        REQUIRE_CLEAN(*store_);
        REQUIRE_OK(store_->removeJob(job));
        QVERIFY(store_->jobSlices(id).value().empty());
        REQUIRE_CLEAN(*store_);
    }

    // They end a moment before their stages are stored, and may be gone by then.
    void slicesOfRemovedJobs() {
        const StoredJobId gone = added(), stays = added("two");
        const JobSessionId id = store_->beginJobSession({}).value();
        REQUIRE_OK(store_->removeJob(gone));
        const Status stored = store_->addJobSlices(id, {{gone, "build", "{}", 0, 1, 2, 0}, {stays, "profile", "{}", 1, 1.5, 2, 0.25}, {gone, "profile", "{}", 2, 2, 3, 0}});
        REQUIRE_OK(stored);
        const auto slices = store_->jobSlices(id).value();
        QVERIFY(slices.size() == 1 && slices[0].job == stays && slices[0].called == 1 && slices[0].begin == 1.5 && slices[0].end == 2 && slices[0].expected == 0.25);
        const Status none = store_->addJobSlices(id, {{gone, "build", "{}", 0, 1, 2, 0}});
        REQUIRE_OK(none);
        QCOMPARE(store_->jobSlices(id).value().size(), std::size_t(1));
        REQUIRE_CLEAN(*store_);
    }

    // Another process took a job and was killed: it can be taken again, and what it wanted was not lost.
    void killedOwners() {
        const StoredJobId job = added();
        store_.reset();
        ChildProcess child(QCoreApplication::applicationDirPath() + "/store_child", {"job", QString::fromStdString(path_)});
        QVERIFY2(child.waitForOutput(), child.takeErrors().constData());
        store_ = Store::open(path_).value();
        QVERIFY(!row(job).interrupted && row(job).state == JobState::running);
        QVERIFY(!store_->takeJob(job).value());
        QVERIFY(!store_->saveJob(job, {}).ok() && !store_->endJob(job, JobState::done).ok() && !store_->removeJob(job).ok());
        child.kill();
        QVERIFY(row(job).interrupted);
        QVERIFY(row(job).progress == 0.125);
        QVERIFY(store_->takeJob(job).value());
        REQUIRE_OK(store_->endJob(job, JobState::done));
        REQUIRE_CLEAN(*store_);
    }
};

QTEST_GUILESS_MAIN(TestStoreJobs)
#include "tst_store_jobs.moc"
