// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/store/store.h"
#include "core/workbench/job_sessions.h"
#include "tests/take.h"

using namespace tunesmith;

// Sessions of jobs, read from the store.
class TstJobSessions : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::string path_;
    std::shared_ptr<Store> store_;
    std::vector<StoredJobId> jobs_;
    int files_ = 0;

    JobSessionId begin(const std::string& resources) const {
        JobSessionRow row;
        row.policy = "fair";
        row.resources = resources;
        return take(store_->beginJobSession(row));
    }
    void add(JobSessionId session, const std::vector<JobSliceRow>& slices) const { take(store_->addJobSlices(session, slices)); }

    static void take(const Status& status) {
        if (!status.ok())
            qFatal("%s", status.error().message.c_str());
    }
    template <class T> static T take(Result<T> result) { return tunesmith::take(std::move(result)); }

private slots:
    void init() {
        path_ = folder_.filePath(QString::number(++files_) + ".db").toStdString();
        store_ = take(Store::open(path_));
        JobRow one, two;
        one.name = "one";
        one.what = R"({"model": "mlp", "trials": 40})";
        two.name = "two";
        two.what = R"({"model": "mlp"})";
        jobs_ = take(store_->addJobs({one, two}));
    }

    void aStoreWithout() {
        QVERIFY(take(jobSessions(folder_.filePath("none.db").toStdString())).empty());
        QVERIFY(take(jobSessions(path_)).empty());
        const auto none = SessionReader::open(path_, 7);
        QVERIFY(!none.ok() && none.error().message.find("no session 7") != std::string::npos);
        QVERIFY(!sessionTimeline(path_, 7).ok());
    }

    void comesInParts() {
        const JobSessionId id = begin(R"([["core", 2], ["profile", 1]])");
        std::vector<JobSliceRow> slices;
        for (int i = 0; i < SessionReader::kPart + 5; ++i)
            slices.push_back({jobs_[i < 3 ? 1 : 0], "build", R"({"core": [0]})", 0.001 * i, 0.001 * i, 0.001 * (i + 1), 0});
        add(id, slices);
        const auto reader = take(SessionReader::open(path_, id.value()));
        QCOMPARE(reader->resources().at("core"), 2);
        const SessionPart first = take(reader->next());
        QVERIFY(first.more && first.slices.size() == static_cast<std::size_t>(SessionReader::kPart));
        QVERIFY(first.slices[2].job == 0 && first.slices[3].job == 1 && first.jobs[0].job.name == "two");
        const SessionPart last = take(reader->next());
        QVERIFY(!last.more && last.slices.size() == 5 && last.session.slices == SessionReader::kPart + 5 && last.session.jobs == 2);
        QVERIFY(std::abs(last.utilisation.at("core") - 0.5) < 1e-9 && last.utilisation.at("profile") == 0);
        QVERIFY(last.session.running && !last.session.endedAt);
        StopSource stopped;
        stopped.requestStop();
        QVERIFY(reader->next(stopped.token()).error().isCancelled());
        QVERIFY(sessionTimeline(path_, id.value(), stopped.token()).error().isCancelled());
        const JobTimeline whole = take(sessionTimeline(path_, id.value()));
        QVERIFY(whole.slices.size() == slices.size() && whole.jobs == (std::vector<std::string>{"two", "one"}));
    }

    // As another program sees it.
    void growsWhileItRuns() {
        const JobSessionId id = begin(R"([["core", 1]])");
        const auto reader = take(SessionReader::open(path_, id.value()));
        QVERIFY(take(reader->next()).slices.empty());
        take(store_->takeJob(jobs_[0]));
        add(id, {{jobs_[0], "build", R"({"core": [0]})", 0, 0, 1, 0}});
        SessionPart part = take(reader->next());
        QVERIFY(part.slices.size() == 1 && part.jobs[0].job.state == "running" && part.session.running && *part.jobs[0].job.budget.trialsPerWorkload == 40);
        take(store_->saveJob(jobs_[0], {{}, 0.5, 1}));
        take(store_->endJob(jobs_[0], JobState::failed, "no room"));
        take(store_->endJobSession(id));
        part = take(reader->next());
        QVERIFY(part.slices.empty() && part.jobs[0].job.state == "failed" && part.jobs[0].job.detail == "no room" && !part.session.running && part.session.endedAt);
        const JobSessionSummary listed = take(jobSessions(path_)).front();
        QVERIFY(listed.id == id.value() && listed.slices == 1 && listed.jobs == 1 && listed.policy == "fair" && listed.seconds < 60);
        take(store_->removeJob(jobs_[0])); // with its slices, while somebody looks
        QCOMPARE(take(reader->next()).jobs.front().job.state, std::string("failed"));
    }

    void damageIsNotShown() {
        const JobSessionId id = begin(R"([["core", 2], ["moon"], ["sun", "a"], ["crowd", 2000000000], ["debt", -4]])");
        add(id, {{jobs_[0], "build", R"({"core": [0, "x", 1.5], "profile": 7, "a": "b"})", 0, 0, 1, 0}, {jobs_[1], "build", "[1]", 0, 0, 1, 0}});
        const auto reader = take(SessionReader::open(path_, id.value()));
        QVERIFY(reader->resources().at("core") == 2 && !reader->resources().contains("moon") && reader->resources().at("debt") == 0 && reader->resources().at("crowd") <= 4096);
        const SessionPart part = take(reader->next());
        QVERIFY(part.slices[0].cores() == std::vector<int>{0} && part.slices[1].units.empty());
    }
};

QTEST_GUILESS_MAIN(TstJobSessions)
#include "tst_job_sessions.moc"
