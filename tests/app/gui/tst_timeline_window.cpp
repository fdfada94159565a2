// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/sweep_dock.h"
#include "app/gui/timeline_page.h"
#include "app/gui/timeline_rows.h"
#include "tests/app/gui/window_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/base/empty_state.h"
#include "widgets/timeline/jobs_panel.h"
#include "widgets/timeline/timeline_totals.h"
#include "widgets/timeline/timeline_view.h"
#include <QAction>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>

using namespace tunesmith;

namespace {

constexpr int kSoon = 120000;

QString write(const WindowFixture& fixture, const QByteArray& text) {
    QFile file(fixture.path(QStringLiteral("jobs.toml")));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
        qFatal("no room for a file");
    return file.fileName();
}

TimelinePage* pageOf(WindowFixture& fixture) {
    fixture.window().showPage(MainWindow::Page::timeline);
    return fixture.window().timelinePage();
}

// Opens a file as a model is opened, and agrees that it runs.
void openAndRun(WindowFixture& fixture, const QString& file) {
    fixture.window().openFile(file);
    auto* question = fixture.window().findChild<QMessageBox*>(QStringLiteral("runQuestion"));
    if (!question)
        qFatal("nobody asked");
    agreement(*question)->click();
}

bool ended(const TimelinePage* page) {
    return QTest::qWaitFor([page] { return !page->running(); }, kSoon);
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

// The Timeline page in the window.
class TstTimelineWindow : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void saysWhatItIsFor() {
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        const auto* idle = page->findChild<EmptyState*>();
        QVERIFY(idle->isVisible() && idle->accessibleDescription().contains(QStringLiteral("file of jobs")));
        QVERIFY(idle->button()->isEnabled());
        QVERIFY(!page->commands()[2]->isEnabled() && !page->commands()[3]->isEnabled()); // nothing to cancel or export
        page->exportTo(fixture.path(QStringLiteral("nothing.json")));
        QVERIFY2(fixture.notice().contains(QStringLiteral("nothing to export")), qPrintable(fixture.notice()));
    }

    // A person who drops a file, or opens one from a mail, may take it for a document.
    void asksBeforeAnOpenedFileRuns() {
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        const QString file = write(fixture, "threads = 1\ntrials = 1\n[[job]]\nmodel = 'mlp'\n");
        const auto question = [&] { return page->findChild<QMessageBox*>(QStringLiteral("runQuestion")); };
        for (const bool agreed : {false, true}) {
            fixture.window().openFile(file);
            QTRY_VERIFY_WITH_TIMEOUT(question() && question()->isVisible(), kSoon);
            QVERIFY2(question()->text().contains(QStringLiteral("jobs.toml")), qPrintable(question()->text()));
            QVERIFY(question()->textFormat() == Qt::PlainText && !question()->accessibleName().isEmpty() && !page->running());
            (agreed ? agreement(*question()) : question()->button(QMessageBox::Cancel))->click();
            QTRY_VERIFY_WITH_TIMEOUT(!question(), kSoon);
            QCOMPARE(page->running(), agreed);
        }
        QVERIFY(ended(page));
    }

    void runsJobsAndShowsThem() {
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        page->run(write(fixture,
            "threads = 1\ntrials = 3\n[[job]]\nmodel = 'mlp'\n[[job]]\nname = '<b>second</b>'\nmodel = 'mlp'\nstrategy = 'random'\npriority = 4\n"));
        QVERIFY(page->running());
        page->run(QStringLiteral("other.toml"));
        QVERIFY2(fixture.notice().contains(QStringLiteral("stop them")), qPrintable(fixture.notice()));
        QTRY_VERIFY_WITH_TIMEOUT(page->view()->model().size() > 0, kSoon); // live
        QVERIFY(ended(page));
        QVERIFY2(fixture.notice().contains(QStringLiteral("The jobs have ended")), qPrintable(fixture.notice()));
        const TimelineModel& model = page->view()->model();
        QCOMPARE(model.jobs().size(), 2);
        QCOMPARE(model.jobs()[1].name, QStringLiteral("<b>second</b>"));
        QVERIFY(model.size() >= 6 && model.onTrack(static_cast<int>(model.tracks().size()) - 1).size() >= 2);
        const auto& rows = page->jobsPanel()->rows().rows();
        for (const TimelineJob& row : rows)
            QVERIFY2(row.state == TimelineJob::State::done && row.progress == 1 && row.bestMs > 0, qPrintable(row.problem));
        QCOMPARE(rows[1].priority, 4);
        QCOMPARE(page->headline(), QStringLiteral("jobs.toml"));
        QVERIFY2(page->detail().contains(QStringLiteral("cannot be done in less than")), qPrintable(page->detail()));
        page->view()->action(QStringLiteral("selectShown"))->trigger();
        QTRY_COMPARE(page->findChild<TimelineTotals*>()->tracks().size(), model.tracks().size());

        QSignalSpy saved(page, &TimelinePage::saved);
        page->exportTo(fixture.path(QStringLiteral("trace.json")));
        QTRY_COMPARE(saved.count(), 1);
        QVERIFY(QJsonDocument::fromJson(contents(fixture.path(QStringLiteral("trace.json")))).object().contains(QStringLiteral("traceEvents")));
        page->exportTo(fixture.path(QStringLiteral("table.csv")));
        QTRY_COMPARE(saved.count(), 2);
        QCOMPARE(contents(fixture.path(QStringLiteral("table.csv"))).count('\n'), model.size() + 1);
        QSignalSpy problem(page, &TimelinePage::problem);
        page->exportTo(fixture.path(QStringLiteral("no/such/folder/trace.json")));
        QTRY_COMPARE(problem.count(), 1);
    }

    void badFilesAreOneSentence_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("empty") << QByteArray() << "[[job]]";
        QTest::newRow("key") << QByteArray("[[job]]\nmodel = 'mlp'\ntrails = 3") << "line 3";
        QTest::newRow("model") << QByteArray("[[job]]\nmodel = 'no such model'") << "no such model";
        QTest::newRow("policy") << QByteArray("policy = 'magic'\n[[job]]\nmodel = 'mlp'") << "magic";
    }
    void badFilesAreOneSentence() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        page->run(write(fixture, text));
        QVERIFY(ended(page));
        QTRY_VERIFY2(fixture.notice().contains(says), qPrintable(fixture.notice()));
        QVERIFY(page->commands()[0]->isEnabled());
    }

    void jobsAreCancelled() {
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        page->run(write(fixture, "[[job]]\nmodel = 'mlp'\ntrials = 100000\n[[job]]\nmodel = 'encoder'\ntrials = 100000\n"));
        QTRY_VERIFY_WITH_TIMEOUT(page->view()->model().size() > 0, kSoon);
        page->cancel();
        QVERIFY(!page->commands()[2]->isEnabled());
        QVERIFY(ended(page));
        for (const TimelineJob& row : page->jobsPanel()->rows().rows())
            QVERIFY2(row.state == TimelineJob::State::waiting, qPrintable(stateName(row.state) + row.problem));
    }

    void aWindowThatRunsJobsAsksBeforeItCloses() {
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        page->run(write(fixture, "[[job]]\nmodel = 'mlp'\ntrials = 100000\n"));
        QTRY_VERIFY_WITH_TIMEOUT(page->view()->model().size() > 0, kSoon);
        QPointer<MainWindow> window = &fixture.window();
        window->close();
        auto* box = window->findChild<QMessageBox*>(QStringLiteral("closeQuestion"));
        QVERIFY(box && box->text().contains(QStringLiteral("Timeline")));
        box->defaultButton()->click(); // stop and save
        QTRY_VERIFY_WITH_TIMEOUT(!window, kSoon);
    }

    void theSampleFileIsAFileOfJobs() {
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        const QString path = fixture.path(QStringLiteral("sample.toml"));
        page->saveSampleTo(path);
        QVERIFY(fixture.notice().contains(QStringLiteral("Saved")));
        const auto request = readJobFile(path.toStdString());
        QVERIFY2(request.ok(), request.ok() ? "" : request.error().message.c_str());
        QVERIFY(request->jobs.size() >= 2);
        page->saveSampleTo(fixture.path(QStringLiteral("no/such/folder.toml")));
        QVERIFY2(fixture.notice().contains(QStringLiteral("cannot be written")), qPrintable(fixture.notice()));
    }

    // Stopped with the window, gone on with by the next one; meanwhile others may change what is wished of them.
    void jobsOutliveTheWindow() {
        WindowFixture fixture;
        TimelinePage* page = pageOf(fixture);
        page->run(write(fixture, "threads = 1\n[[job]]\nmodel = 'mlp'\ntrials = 12\n[[job]]\nname = 'long'\nmodel = 'encoder'\ntrials = 100000\n"));
        QTRY_VERIFY_WITH_TIMEOUT(page->view()->model().size() > 0, kSoon);
        const auto row = [page](int job) { return page->jobsPanel()->rows().rows().at(job); };
        page->jobsPanel()->setCurrent(row(1).key);
        emit page->jobsPanel()->priorityRequested(row(1).key, 7);
        QTRY_COMPARE_WITH_TIMEOUT(row(1).priority, 7, kSoon);
        emit page->jobsPanel()->pauseRequested(row(1).key);
        QTRY_VERIFY_WITH_TIMEOUT(row(1).state == TimelineJob::State::paused, kSoon);
        QTRY_VERIFY_WITH_TIMEOUT(row(0).state == TimelineJob::State::done, kSoon); // the other one goes on
        emit page->jobsPanel()->resumeRequested(row(1).key);
        QTRY_VERIFY_WITH_TIMEOUT(row(1).state == TimelineJob::State::running, kSoon);
        page->cancel();
        QVERIFY(ended(page));
        QVERIFY(row(1).state == TimelineJob::State::waiting);
        page->runWaiting();
        QTRY_VERIFY_WITH_TIMEOUT(page->jobsPanel()->rows().rows().size() == 1 && row(0).state == TimelineJob::State::running, kSoon);
        QCOMPARE(row(0).name, QStringLiteral("long"));
        emit page->jobsPanel()->cancelRequested(row(0).key);
        QVERIFY(ended(page));
        QVERIFY(row(0).state == TimelineJob::State::cancelled);
        page->runWaiting();
        QVERIFY(ended(page));
        QVERIFY2(fixture.notice().contains(QStringLiteral("No job waits")), qPrintable(fixture.notice()));
    }

    // By the way that models are opened; stopped and gone on with.
    void sweepsFillTheirTable() {
        WindowFixture fixture;
        const TimelinePage* page = fixture.window().timelinePage();
        const QString file = write(fixture, "model = 'mlp'\nthreads = 1\nseed = [5, 10]\nstrategy = ['random', 'magic']\ntrials = 40\n");
        openAndRun(fixture, file);
        QVERIFY(fixture.window().page() == MainWindow::Page::timeline && page->running());
        SweepDock* sweep = page->sweep();
        using State = TimelineJob::State;
        const auto stands = [sweep](State state, int rows) {
            return std::count_if(sweep->entries().begin(), sweep->entries().end(), [state](const SweepEntry& entry) { return entry.state == state; }) == rows;
        };
        QTRY_VERIFY_WITH_TIMEOUT(stands(State::failed, 2) && sweep->entries()[0].trials > 0, kSoon); // live
        QVERIFY(sweep->isVisible() && !sweep->action(QStringLiteral("resumeSweep"))->isEnabled());
        QCOMPARE(sweep->entries()[2].values, (QStringList{QStringLiteral("10"), QStringLiteral("random")}));
        QVERIFY2(sweep->entries()[1].problem.contains(QStringLiteral("magic")), qPrintable(sweep->entries()[1].problem));
        fixture.window().timelinePage()->cancel();
        QVERIFY(ended(page));
        QTRY_VERIFY_WITH_TIMEOUT(!sweep->reading() && stands(State::waiting, 2), kSoon);
        const qint64 before = sweep->entries()[0].trials;
        sweep->action(QStringLiteral("resumeSweep"))->trigger();
        QVERIFY(ended(page));
        QTRY_VERIFY_WITH_TIMEOUT(!sweep->reading() && stands(State::done, 2), kSoon);
        const SweepEntry &one = sweep->entries()[0], &other = sweep->entries()[2];
        QVERIFY(one.trials > before && one.afterMs > 0 && one.beforeMs > 0 && one.best != other.best);
        QVERIFY(page->jobsPanel()->rows().rows().size() == 4 && page->detail().startsWith(QStringLiteral("Took")));

        QSignalSpy saved(sweep, &SweepDock::saved);
        sweep->exportTo(fixture.path(QStringLiteral("sweep.csv")));
        QTRY_COMPARE(saved.count(), 1);
        const QByteArray table = contents(fixture.path(QStringLiteral("sweep.csv")));
        QVERIFY2(table.startsWith("seed,strategy,threads,state") && table.count('\n') == 5, table.constData());
    }

    void problemsOfPluginsAreJobs() {
        WindowFixture fixture;
        openAndRun(fixture, write(fixture, "problem = 'external-program'\nname = 'six'\n[parameters.n]\ntype = 'int'\nlow = 1\nhigh = 6\ndefault = 3\n"
                                                 "[run]\ncommand = ['echo', '{n}']\n[score]\nfrom = 'stdout'\nunit = 'points'\nhigher_is_better = true\n"));
        TimelinePage* page = fixture.window().timelinePage();
        QVERIFY(ended(page));
        const QVector<TimelineJob>& jobs = page->jobsPanel()->rows().rows();
        QVERIFY2(jobs.size() == 1, qPrintable(fixture.notice()));
        QVERIFY2(jobs[0].state == TimelineJob::State::done && jobs[0].name == QStringLiteral("six"), qPrintable(jobs[0].name + jobs[0].problem));
        QVERIFY2(jobs[0].result.startsWith(QStringLiteral("3 points → 6 points")), qPrintable(jobs[0].result));
        openAndRun(fixture, write(fixture, "problem = 'bake'\n"));
        QVERIFY(ended(page));
        QTRY_VERIFY2(fixture.notice().contains(QStringLiteral("bake")), qPrintable(fixture.notice()));
    }

    void standingsBecomeRows() {
        JobStanding standing{.job = 2, .id = 9, .name = "a\nb", .priority = 4};
        TimelineJob row = jobRow(standing);
        QVERIFY(row.key == 9 && row.color == 2 && row.priority == 4 && row.state == TimelineJob::State::waiting && row.name == QStringLiteral("a b"));
        standing.running = true;
        standing.fraction = 0.25;
        standing.bestMs = 1.5;
        row = jobRow(standing);
        QVERIFY(row.state == TimelineJob::State::running && row.budgetLeft == QStringLiteral("75 %") && row.bestMs == 1.5);
        standing.budget.trials = 40;
        standing.trials = 50;
        standing.paused = true;
        QVERIFY(jobRow(standing).budgetLeft == QStringLiteral("0 trials") && jobRow(standing).state == TimelineJob::State::paused);
        standing.ended = true;
        standing.error = "no\nroom";
        row = jobRow(standing);
        QVERIFY(row.state == TimelineJob::State::failed && row.problem == QStringLiteral("no room") && row.budgetLeft.isEmpty() && row.result.isEmpty());
        standing.outcome = {.unit = "ms", .before = 2.5, .after = 0.5, .measuredAfterMs = 0.25, .file = "out.onnx", .remark = "-O3\nfast"};
        QCOMPARE(jobRow(standing).result, QStringLiteral("2.50 ms → 500 µs; measured – → 250 µs; -O3 fast; wrote out.onnx"));
        standing.outcome = {.unit = "kernels", .before = 26};
        QCOMPARE(jobRow(standing).result, QStringLiteral("26 kernels → –"));
    }

    void resourcesBecomeTracks() {
        const SessionTracks tracks({{"core", 2}, {"a\nb", 2}, {"device pi", 1}, {"none", 0}, {"profile", 1}});
        QStringList names;
        for (const TimelineTrack& track : tracks.tracks())
            names << track.name;
        QCOMPARE(names.join(QLatin1Char(',')), QStringLiteral("core 0,core 1,measuring,a b 0,a b 1,device pi"));
        const auto slices = tracks.slices({{0, "profile", {{"core", {0, 1}}, {"profile", {0}}}, 0, 1, 2, 3},
                                           {1, "dance", {{"core", {1, 2, -1}}, {"moon", {0}}}, 0, 1, 2, 3},
                                           {1, "profile", {{"device pi", {0}}}, 0, 1, 2, 3}});
        QCOMPARE(slices[0].tracks, (QVector<int>{0, 1, 2}));
        QVERIFY(slices[1].kind == TimelineSlice::Kind::other && slices[1].tracks == QVector<int>{1});
        QCOMPARE(slices[2].tracks, QVector<int>{5});
        QVERIFY(SessionTracks().tracks().isEmpty());
    }

    void whatWaitsBecomesRows() {
        const SessionTracks tracks({{"core", 2}, {"profile", 1}});
        const auto rows = tracks.waits({{1, "profile", {{"core", 2}, {"memory", 700}, {"profile", 1}}, {"core", "memory"}, 3.5},
                                        {0, "build", {{"device pi", 1}, {"network", 4}}, {"device pi", "network"}, 4},
                                        {0, "update", {{"core", 1}, {"network", 4}}, {"network"}, 4},
                                        {0, "update", {{"core", 1}}, {"core"}, 4}});
        QVERIFY(rows[0].job == 1 && rows[0].kind == TimelineSlice::Kind::profile && rows[0].called == 3.5 && rows[0].lacks == "memory");
        QCOMPARE(rows[0].needs, (QVector<QPair<QString, int>>{{QStringLiteral("a core"), 2}, {QStringLiteral("the measuring slot"), 1}}));
        QVERIFY(rows[1].needs.isEmpty() && rows[1].lacks == "device pi" && rows[2].lacks == "the network" && rows[3].lacks.isEmpty());
        QVERIFY(tracks.waits({}).isEmpty());
    }

    void devicesGetTracksAsTheyCome() {
        const std::vector<JobSlice> remote{{0, "build", {{"device cpu", {1}}}, 0, 1, 2, 3}, {0, "profile", {{"device cpu", {0}}, {"other", {7}}}, 0, 1, 2, 3}};
        SessionTracks tracks({{"core", 2}, {"profile", 1}});
        const QVector<TimelineTrack> fresh = tracks.addDevices(remote);
        QCOMPARE(fresh, (QVector<TimelineTrack>{{QStringLiteral("device cpu 0"), QStringLiteral("device cpu")}, {QStringLiteral("device cpu 1"), QStringLiteral("device cpu")}}));
        QVERIFY(tracks.addDevices(remote).isEmpty());
        const auto rows = tracks.slices(remote);
        QVERIFY(rows[0].tracks == QVector<int>{4} && rows[1].tracks == QVector<int>{3});
        TimelineModel model;
        model.setTracks(tracks.tracks().mid(0, 3));
        model.setJobs({jobRow(JobStanding())});
        QCOMPARE(model.add({rows[0]}), 1); // there is no such track yet
        QCOMPARE(model.add(tracks.slices({{0, "build", {{"core", {1}}}, 0, 1, 2, 3}})), 0);
        model.addTracks(fresh);
        QCOMPARE(model.add(rows), 0);
        QVERIFY(tracks.addDevices({{0, "build", {{"device cpu", {1 << 30}}, {"device gpu", {-1}}}, 0, 1, 2, 3}}).isEmpty()); // a damaged file
        QVERIFY(model.size() == 3 && model.tracks().size() == 5 && model.onTrack(4).size() == 1 && model.onTrack(1).size() == 1);
        JobSlice crowd;
        for (int key = 0; key < 50; ++key)
            crowd.units["device d" + std::to_string(key)] = {4095};
        tracks.addDevices({crowd});
        QVERIFY2(tracks.tracks().size() <= 4096, qPrintable(QString::number(tracks.tracks().size())));
        QVERIFY(tracks.addDevices({crowd}).isEmpty());
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstTimelineWindow>("tst_timeline_window", argc, argv);
}
#include "tst_timeline_window.moc"
