// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/newest_rows.h"
#include "app/gui/timeline_page.h"
#include "core/store/sqlite.h"
#include "core/store/store.h"
#include "tests/app/gui/window_fixture.h"
#include "tests/take.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/timeline/jobs_panel.h"
#include "widgets/timeline/timeline_totals.h"
#include "widgets/timeline/timeline_view.h"
#include <QAction>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <algorithm>

using namespace tunesmith;

namespace {

constexpr int kSoon = 20000;

// A store with sessions, as other programs leave and make them.
struct Sessions {
    explicit Sessions(const WindowFixture& fixture) : store(take(Store::open(fixture.store().toStdString()))) {
        JobRow row;
        for (const char* name : {"<b>first</b>", "second", "third"}) {
            row.name = name;
            row.what = R"({"model": "mlp", "total_trials": 40})";
            jobs.push_back(take(store->addJobs({row})).front());
        }
    }
    JobSessionId begin(const char* policy) const {
        JobSessionRow row;
        row.policy = policy;
        row.resources = R"([["core", 2], ["device pi", 1], ["profile", 1]])";
        return take(store->beginJobSession(row));
    }
    // One stage after the other, in turns of all jobs.
    void add(JobSessionId session, int from, int count) const {
        std::vector<JobSliceRow> slices;
        for (int i = from; i < from + count; ++i)
            slices.push_back({jobs[static_cast<std::size_t>(i) % jobs.size()], i % 2 ? "profile" : "build", i % 2 ? R"({"core": [0, 1], "profile": [0]})" : R"({"device pi": [0]})", i - 0.5, 1.0 * i, i + 1.0, 0.9});
        QVERIFY(store->addJobSlices(session, slices).ok());
    }
    JobSessionId whole(const char* policy, int slices) const {
        const JobSessionId id = begin(policy);
        add(id, 0, slices);
        if (!store->endJobSession(id).ok())
            qFatal("the session does not end");
        return id;
    }

    std::shared_ptr<Store> store;
    std::vector<StoredJobId> jobs;
};

TimelinePage* pageOf(WindowFixture& fixture) {
    fixture.window().showPage(MainWindow::Page::timeline);
    return fixture.window().timelinePage();
}

bool shows(const TimelinePage* page, int slices) {
    return QTest::qWaitFor([=] { return page->view()->model().size() == slices && !page->reading(); }, kSoon);
}

} // namespace

// Sessions of the store on the Timeline page.
class TstPastSessions : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void theNewestIsShownFirst() {
        WindowFixture fixture;
        const Sessions sessions(fixture);
        sessions.whole("fair", 6);
        QVERIFY(sessions.store->takeJob(sessions.jobs[1]).ok() && sessions.store->endJob(sessions.jobs[1], JobState::failed, "no <i>room</i>").ok());
        sessions.whole("greedy", 9);
        TimelinePage* page = pageOf(fixture);
        QVERIFY(shows(page, 9));
        const QComboBox* box = page->sessions();
        QVERIFY(box->isVisible() && box->isEnabled() && box->focusPolicy() & Qt::TabFocus && !box->accessibleName().isEmpty());
        QCOMPARE(box->count(), 2);
        QVERIFY2(box->currentText().startsWith(QStringLiteral("Session 2 ")) && box->currentText().contains(QStringLiteral("greedy · jobs: 3 · stages: 9")), qPrintable(box->currentText()));
        QCOMPARE(page->headline(), QStringLiteral("Session 2"));
        QVERIFY2(page->detail().contains(QStringLiteral("stages: 9")) && page->detail().contains(QStringLiteral("device pi was busy for 56 %")), qPrintable(page->detail()));
        const TimelineModel& model = page->view()->model();
        QCOMPARE(model.tracks().size(), 4);
        QVERIFY(model.tracks()[3].name == QStringLiteral("device pi") && model.onTrack(3).size() == 5 && model.slice(1).waited() == 0.5 && model.slice(0).expected == 0.9);

        const auto& rows = page->jobsPanel()->rows().rows();
        QVERIFY(rows.size() == 3 && rows[0].name == QStringLiteral("<b>first</b>") && rows[0].state == TimelineJob::State::waiting && rows[0].budgetLeft == QStringLiteral("40 trials"));
        QVERIFY(rows[1].state == TimelineJob::State::failed && rows[1].problem.contains(QStringLiteral("room")));
        page->jobsPanel()->setCurrent(rows[1].key);
        for (const char* name : {"pauseJob", "cancelJob", "jobUp"}) // it has ended
            QVERIFY(!page->jobsPanel()->action(QLatin1String(name))->isEnabled());
        page->view()->action(QStringLiteral("selectShown"))->trigger();
        const auto* totals = page->findChild<TimelineTotals*>();
        QTRY_COMPARE(totals->tracks().size(), 4);
        QVERIFY(!totals->idle().isEmpty());
    }

    void anotherOneIsChosenAndExported() {
        WindowFixture fixture;
        const Sessions sessions(fixture);
        const JobSessionId small = sessions.whole("fair", 6);
        sessions.whole("greedy", 9);
        TimelinePage* page = pageOf(fixture);
        QVERIFY(shows(page, 9));
        page->sessions()->setFocus();
        QTest::keyClick(page->sessions(), Qt::Key_Down);
        QVERIFY(shows(page, 6));
        QCOMPARE(page->headline(), QStringLiteral("Session %1").arg(small.value()));
        QSignalSpy saved(page, &TimelinePage::saved);
        page->exportTo(fixture.path(QStringLiteral("table.csv")));
        QTRY_COMPARE(saved.count(), 1);
        QFile table(fixture.path(QStringLiteral("table.csv")));
        QVERIFY(table.open(QIODevice::ReadOnly));
        QCOMPARE(table.readAll().count('\n'), 7);
    }

    void oneThatRunsElsewhereIsFollowed() {
        WindowFixture fixture;
        const Sessions sessions(fixture);
        const JobSessionId id = sessions.begin("fair");
        sessions.add(id, 0, 4);
        TimelinePage* page = pageOf(fixture);
        QVERIFY(shows(page, 4));
        QVERIFY2(page->detail().contains(QStringLiteral("another program")) && page->sessions()->currentText().endsWith(QStringLiteral("running")), qPrintable(page->detail()));
        QVERIFY(page->view()->action(QStringLiteral("follow"))->isEnabled());
        sessions.add(id, 4, 3);
        QTRY_COMPARE_WITH_TIMEOUT(page->view()->model().size(), 7, kSoon);
        const qint64 job = page->jobsPanel()->rows().rows()[0].key;
        page->jobsPanel()->setCurrent(job);
        page->jobsPanel()->action(QStringLiteral("pauseJob"))->trigger(); // whoever runs it follows
        QTRY_COMPARE_WITH_TIMEOUT(page->jobsPanel()->rows().rows()[0].state, TimelineJob::State::paused, kSoon);
        QVERIFY(sessions.store->endJobSession(id).ok());
        QTRY_VERIFY_WITH_TIMEOUT(page->detail().startsWith(QStringLiteral("Took")), kSoon);
        QTRY_VERIFY_WITH_TIMEOUT(!page->sessions()->currentText().endsWith(QStringLiteral("running")), kSoon);
        QVERIFY(!page->view()->action(QStringLiteral("follow"))->isEnabled());
    }

    // A row of a store from elsewhere calls itself as it likes.
    void resumingTellsWhatAJobDoes() {
        WindowFixture fixture;
        Sessions sessions(fixture);
        JobRow row;
        row.kind = "problem";
        row.name = "resnet50";
        row.what = R"({"file": "/pack/<b>a</b>.toml"})";
        row.wish = JobWish::pause;
        const StoredJobId id = take(sessions.store->addJobs({row})).front();
        sessions.jobs.push_back(id);
        sessions.add(sessions.begin("fair"), 0, 4);
        TimelinePage* page = pageOf(fixture);
        QVERIFY(shows(page, 4));
        JobsPanel* panel = page->jobsPanel();
        panel->setCurrent(id.value());
        QVERIFY(panel->current()->does.contains(QStringLiteral("whose commands it runs")) && panel->rows().index(3, JobsModel::name).data(Qt::ToolTipRole).toString().contains(QStringLiteral("commands")));
        const auto wish = [&] { return take(sessions.store->job(id)).wish; };
        const auto question = [&] { return page->findChild<QMessageBox*>(QStringLiteral("resumeQuestion")); };
        for (const bool agreed : {false, true}) {
            panel->action(QStringLiteral("resumeJob"))->trigger();
            QTRY_VERIFY_WITH_TIMEOUT(question() && question()->isVisible(), kSoon);
            QVERIFY2(question()->text().contains(QStringLiteral("/pack/<b>a</b>.toml, whose commands it runs")), qPrintable(question()->text()));
            QVERIFY(question()->textFormat() == Qt::PlainText && !question()->accessibleName().isEmpty() && wish() == JobWish::pause);
            (agreed ? agreement(*question()) : question()->button(QMessageBox::Cancel))->click();
            QTRY_VERIFY_WITH_TIMEOUT(!question(), kSoon);
            QTRY_COMPARE_WITH_TIMEOUT(wish(), agreed ? JobWish::run : JobWish::pause, kSoon);
        }
        QTRY_VERIFY_WITH_TIMEOUT(panel->current()->state == TimelineJob::State::waiting, kSoon);
        panel->action(QStringLiteral("pauseJob"))->trigger(); // here, so that nobody has to be asked
        QTRY_VERIFY_WITH_TIMEOUT(panel->current()->state == TimelineJob::State::paused, kSoon);
        panel->action(QStringLiteral("resumeJob"))->trigger();
        QTRY_COMPARE_WITH_TIMEOUT(wish(), JobWish::run, kSoon);
        QVERIFY(!question());
    }

    void changesAreMadeInTheirOrder() {
        WindowFixture fixture;
        const Sessions sessions(fixture);
        sessions.whole("fair", 6);
        TimelinePage* page = pageOf(fixture);
        QVERIFY(shows(page, 6));
        const StoredJobId job = sessions.jobs[0];
        const auto other = take(sqlite::Connection::open(fixture.store().toStdString(), {true, false, false, 5000}));
        QVERIFY(other->execute("BEGIN IMMEDIATE").ok()); // so that all changes wait
        for (int priority = 1; priority <= 7; ++priority)
            emit page->jobsPanel()->priorityRequested(job.value(), priority);
        QTest::qWait(300);
        QVERIFY(other->execute("ROLLBACK").ok());
        const auto working = [page] { return std::ranges::any_of(page->jobs(), &Job::running); };
        QTRY_VERIFY_WITH_TIMEOUT(!working(), kSoon);
        QTest::qWait(1000);
        QCOMPARE(take(sessions.store->job(job)).priority, 7);
    }

    void theNewestOfManySessionsAreListed() {
        WindowFixture fixture;
        const Sessions sessions(fixture);
        const JobSessionId oldest = sessions.whole("greedy", 3);
        constexpr int kOlder = 20;
        for (int i = 1; i < static_cast<int>(kMostListed) + kOlder; ++i)
            sessions.whole("fair", 1);
        TimelinePage* page = pageOf(fixture);
        QVERIFY(shows(page, 1));
        const QComboBox* box = page->sessions();
        QCOMPARE(box->count(), static_cast<int>(kMostListed) + 1);
        const QModelIndex others = box->model()->index(box->count() - 1, 0);
        QVERIFY2(others.data().toString().contains(QStringLiteral("and 20 older")) && !(others.flags() & Qt::ItemIsEnabled), qPrintable(others.data().toString()));
        QVERIFY(box->itemText(0).startsWith(QStringLiteral("Session %1 ").arg(kMostListed + kOlder)));
        page->showSession(oldest.value());
        QVERIFY(shows(page, 3));
        fixture.window().showPage(MainWindow::Page::tune);
        fixture.window().showPage(MainWindow::Page::timeline); // lists them again
        QTRY_VERIFY_WITH_TIMEOUT(box->currentText().startsWith(QStringLiteral("Session %1 ").arg(oldest.value())), kSoon);
        QCOMPARE(box->count(), static_cast<int>(kMostListed) + 2);
        QVERIFY(box->itemText(box->count() - 1).contains(QStringLiteral("and 19 older")));
    }

    void manySlicesComeInParts() {
        CalmestRound rounds;
        WindowFixture fixture;
        const Sessions sessions(fixture);
        constexpr int kMany = 3 * static_cast<int>(SessionReader::kPart) + 10;
        sessions.whole("greedy", 9);
        sessions.whole("fair", kMany);
        TimelinePage* page = pageOf(fixture);
        QVERIFY(shows(page, kMany));
        while (rounds.another()) {
            page->showSession(1);
            QVERIFY(shows(page, 9));
            const EventWatch watch;
            page->showSession(2);
            QVERIFY(shows(page, kMany));
            rounds.ended(watch);
        }
        if (rounds.tellsNothing())
            QSKIP("the machine was taken away");
        QVERIFY2(rounds.longestMs() < kLongestEventMs, rounds.text().constData());

        page->showSession(1); // and a reading that is cancelled
        page->showSession(2);
        page->jobs()[1]->stop();
        QTRY_VERIFY_WITH_TIMEOUT(page->detail().contains(QStringLiteral("not the whole session")), kSoon);
        QVERIFY(page->view()->model().size() < kMany);
        page->showSession(2);
        QVERIFY(shows(page, kMany));
    }

    void aDamagedStoreIsOneSentence() {
        WindowFixture fixture;
        QFile file(fixture.store());
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("this is no database, whatever its name may say") > 0);
        file.close();
        TimelinePage* page = pageOf(fixture);
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.notice().isEmpty(), kSoon);
        QVERIFY(!page->sessions()->isVisible());
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstPastSessions>("tst_past_sessions", argc, argv);
}
#include "tst_past_sessions.moc"
