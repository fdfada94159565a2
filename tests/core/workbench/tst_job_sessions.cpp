// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/workbench/job_sessions.h"
#include "tests/take.h"
#include "two_jobs_store.h"

using namespace tunesmith;

// Sessions of jobs, read from the store.
class TstJobSessions : public QObject {
    Q_OBJECT
    std::unique_ptr<TwoJobsStore> made_;

    JobSessionId begin(const std::string& resources) const { return made_->begin("fair", resources); }
    void add(JobSessionId session, const std::vector<JobSliceRow>& slices) const { take(made_->store().addJobSlices(session, slices)); }

private slots:
    void init() { made_ = std::make_unique<TwoJobsStore>(); }

    void aStoreWithout() {
        QVERIFY(take(jobSessions(made_->missing())).empty());
        QVERIFY(take(jobSessions(made_->path())).empty());
        const auto none = SessionReader::open(made_->path(), 7);
        QVERIFY(!none.ok() && none.error().message.find("no session 7") != std::string::npos);
        QVERIFY(!sessionTimeline(made_->path(), 7).ok());
    }

    void comesInParts() {
        const JobSessionId id = begin(R"([["core", 2], ["profile", 1]])");
        std::vector<JobSliceRow> slices;
        for (int i = 0; i < SessionReader::kPart + 5; ++i)
            slices.push_back({made_->job(i < 3 ? 1 : 0), "build", R"({"core": [0]})", 0.001 * i, 0.001 * i, 0.001 * (i + 1), 0});
        add(id, slices);
        const auto reader = take(SessionReader::open(made_->path(), id.value()));
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
        QVERIFY(sessionTimeline(made_->path(), id.value(), stopped.token()).error().isCancelled());
        const JobTimeline whole = take(sessionTimeline(made_->path(), id.value()));
        QVERIFY(whole.slices.size() == slices.size() && whole.jobs == (std::vector<std::string>{"two", "one"}));
    }

    // As another program sees it.
    void growsWhileItRuns() {
        const JobSessionId id = begin(R"([["core", 1]])");
        const auto reader = take(SessionReader::open(made_->path(), id.value()));
        QVERIFY(take(reader->next()).slices.empty());
        take(made_->store().takeJob(made_->job(0)));
        add(id, {{made_->job(0), "build", R"({"core": [0]})", 0, 0, 1, 0}});
        SessionPart part = take(reader->next());
        QVERIFY(part.slices.size() == 1 && part.jobs[0].job.state == "running" && part.session.running && *part.jobs[0].job.budget.trialsPerWorkload == 40);
        take(made_->store().saveJob(made_->job(0), {{}, 0.5, 1}));
        take(made_->store().endJob(made_->job(0), JobState::failed, "no room"));
        take(made_->store().endJobSession(id));
        part = take(reader->next());
        QVERIFY(part.slices.empty() && part.jobs[0].job.state == "failed" && part.jobs[0].job.detail == "no room" && !part.session.running && part.session.endedAt);
        const JobSessionSummary listed = take(jobSessions(made_->path())).front();
        QVERIFY(listed.id == id.value() && listed.slices == 1 && listed.jobs == 1 && listed.policy == "fair" && listed.seconds < 60);
        take(made_->store().removeJob(made_->job(0))); // with its slices, while somebody looks
        QCOMPARE(take(reader->next()).jobs.front().job.state, std::string("failed"));
    }

    // A view has a track for each unit.
    void crowdsAreNotShown() {
        QByteArray resources = "[[\"core\", 2]", devices = "{\"core\": [0]";
        for (int i = 0; i < 3000; ++i) {
            resources += ",[\"r" + QByteArray::number(i) + "\",4096]";
            devices += ",\"device d" + QByteArray::number(i) + "\":[4095]";
        }
        const JobSessionId id = begin((resources + "]").toStdString());
        add(id, {{made_->job(0), "build", (devices + "}").toStdString(), 0, 0, 1, 0}});
        const auto reader = take(SessionReader::open(made_->path(), id.value()));
        QCOMPARE(take(reader->next()).slices.size(), std::size_t(1));
        int units = 0;
        for (const auto& [resource, amount] : reader->resources())
            units += amount;
        QVERIFY2(units <= 4096, QByteArray::number(units));
        QCOMPARE(reader->resources().at("core"), 2);
    }

    // A timeline and its export have a piece for each unit of a slice.
    void aSliceLoadsNoCrowd() {
        QByteArray units;
        for (int i = 0; i < 10'000; ++i)
            units += ",0";
        const JobSessionId id = begin(R"([["core", 2]])");
        add(id, {{made_->job(0), "build", "{\"core\": [1" + units.toStdString() + "], \"device d\": [4294967296, -1, 4096, 0" + units.toStdString() + "]}", 0, 0, 1, 0}});
        const SessionPart part = take(take(SessionReader::open(made_->path(), id.value()))->next());
        std::size_t count = 0;
        for (const auto& [resource, loaded] : part.slices[0].units)
            count += loaded.size();
        QCOMPARE(count, std::size_t(4096));
        QVERIFY(std::ranges::all_of(part.slices[0].units.at("core"), [](int unit) { return unit == 0 || unit == 1; }));
    }

    void damageIsNotShown() {
        const JobSessionId id = begin(R"([["core", 2], ["moon"], ["sun", "a"], ["crowd", 2000000000], ["debt", -4]])");
        add(id, {{made_->job(0), "build", R"({"core": [0, "x", 1.5], "profile": 7, "a": "b"})", 0, 0, 1, 0}, {made_->job(1), "build", "[1]", 0, 0, 1, 0}});
        const auto reader = take(SessionReader::open(made_->path(), id.value()));
        QVERIFY(reader->resources().at("core") == 2 && !reader->resources().contains("moon") && reader->resources().at("debt") == 0 && reader->resources().at("crowd") <= 4096);
        const SessionPart part = take(reader->next());
        QVERIFY(part.slices[0].cores() == std::vector<int>{0} && part.slices[1].units.empty());
    }
};

QTEST_GUILESS_MAIN(TstJobSessions)
#include "tst_job_sessions.moc"
