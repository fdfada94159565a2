// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/store/store.h"
#include "core/workbench/history.h"
#include "core/workbench/job_queue.h"
#include "core/workbench/optimize.h"
#include "core/workbench/tune_jobs.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

TuneJob jobOf(const std::string& model, int trials) {
    TuneJob job;
    job.model = model;
    job.tuning.threads = 1;
    job.tuning.budget.trialsPerWorkload = trials;
    job.tuning.measureModel = false;
    return job;
}

// Keeps what it is told.
struct Told : TuneJobsListener {
    void onSlice(const JobSlice& slice) override { slices.push_back(slice); }
    void onRunning(const std::vector<JobSlice>& stages) override {
        running = stages;
        most = std::max(most, stages.size());
    }
    void onJob(const JobStanding& standing) override {
        QVERIFY(standing.fraction >= jobs[standing.job].fraction && standing.trials >= jobs[standing.job].trials);
        jobs[standing.job] = standing;
    }
    std::vector<JobSlice> slices, running;
    std::size_t most = 0; // at a time
    std::map<std::size_t, JobStanding> jobs;
};

bool same(const JobSlice& a, const JobSlice& b) { return a.job == b.job && a.stage == b.stage && a.units == b.units && a.begin == b.begin && a.end == b.end; }
bool overlap(const JobSlice& a, const JobSlice& b) { return a.begin < b.end && b.begin < a.end; }

} // namespace

// Several models tuned at a time, and the files that list them.
class TstTuneJobs : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }
    std::string write(const QByteArray& text) const {
        QFile file(folder_.filePath("jobs.toml"));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("no room for a file");
        return file.fileName().toStdString();
    }

private slots:
    void filesSayWhatToTune() {
        const TuneJobsRequest request = take(readJobFile(write(R"(
policy = "fair"
trials = 12
threads = 1
[[job]]
model = "mlp"
priority = 3
weight = 2.5
deadline = 90.5
[[job]]
name = "second"
model = "digits"
dims = { batch = 2 }
trials = 4
seconds = 7
target_ms = 0.25
strategy = "random"
seed = 9
builders = 1
batch = 4
)")));
        QCOMPARE(request.policy, std::string("fair"));
        QCOMPARE(request.jobs.size(), std::size_t(2));
        const TuneJob &first = request.jobs[0], &second = request.jobs[1];
        QVERIFY(first.name.empty() && first.model == "mlp" && first.priority == 3 && first.weight == 2.5 && first.deadline == 90.5 && !second.deadline && first.tuning.threads == 1);
        QVERIFY(first.tuning.budget.trialsPerWorkload == 12 && !first.tuning.budget.seconds);
        QVERIFY(second.name == "second" && second.dimensions == (Dimensions{{"batch", 2}}) && second.tuning.budget.trialsPerWorkload == 4 && second.tuning.budget.seconds == 7.0 && second.tuning.budget.targetMs == 0.25);
        QVERIFY(second.tuning.strategy == "random" && second.tuning.seed == 9 && second.tuning.builders == 1 && second.tuning.batch == 4 && second.priority == 0);
    }

    // What is said of all jobs counts for those whose kind knows it; files are found beside this one.
    void filesOfSeveralKinds() {
        const TuneJobsRequest request = take(readJobFile(write(R"(
trials = 12
threads = 1
seed = 5
memory = 900
network = 40
[[job]]
model = "mlp"
[[job]]
kind = "rewrite"
model = "encoder"
search = "beam"
cost = "kernels"
alpha = 1.2
budget = 40
seconds = 2.5
rules = "written"
measure = true
output = "out.onnx"
[[job]]
kind = "problem"
file = "numbers.toml"
timeout = 3
)")));
        QCOMPARE(request.jobs.size(), std::size_t(3));
        const TuneJob &tune = request.jobs[0], &rewrite = request.jobs[1], &problem = request.jobs[2];
        QVERIFY(tune.kind == "tune" && tune.tuning.budget.trialsPerWorkload == 12 && tune.tuning.threads == 1 && tune.tuning.seed == 5 && tune.memoryMb == 900 && tune.networkMbit == 40);
        const OptimizeRequest& asked = rewrite.rewriting;
        QVERIFY(rewrite.kind == "rewrite" && asked.search == "beam" && asked.cost == "kernels" && asked.alpha == 1.2 && asked.budget == 40 && asked.seconds == 2.5 && asked.measure);
        QVERIFY(asked.seed == 5 && asked.threads == 1 && asked.file == std::filesystem::path(path("out.onnx")) && rewrite.memoryMb == 900);
        QVERIFY(problem.kind == "problem" && problem.problem.file == std::filesystem::path(path("numbers.toml")) && problem.problem.trials == 12 && problem.problem.seed == 5);
        QVERIFY(problem.problem.timeoutSeconds == 3.0 && !rewrite.tuning.budget.trialsPerWorkload);
        const TuneJobsRequest itself = take(readJobFile(write("problem = 'external-program'\nname = 'x'\n[parameters.n]\ntype = 'int'\n")));
        QVERIFY(itself.jobs.size() == 1 && itself.jobs[0].kind == "problem" && itself.jobs[0].problem.file.is_absolute() && itself.jobs[0].problem.file.extension() == ".toml");
    }

    void filesThatSayNothing_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("empty") << QByteArray() << "[[job]]";
        QTest::newRow("no TOML") << QByteArray("[[job\nmodel") << "line 1";
        QTest::newRow("job is no table") << QByteArray("job = 3") << "[[job]]";
        QTest::newRow("no model") << QByteArray("[[job]]\ntrials = 3") << "no model";
        QTest::newRow("unknown key") << QByteArray("[[job]]\nmodel = 'mlp'\ntrails = 3") << "line 3: 'trails' is no key";
        QTest::newRow("unknown default") << QByteArray("pollicy = 'fair'\n[[job]]\nmodel = 'mlp'") << "line 1: 'pollicy'";
        QTest::newRow("unknown kind") << QByteArray("[[job]]\nkind = 'bake'\nmodel = 'mlp'") << "line 2: there is no kind of job 'bake'; there are tune, rewrite, problem";
        QTest::newRow("own key of the store") << QByteArray("[[job]]\nmodel = 'mlp'\nmeasure_model = true") << "'measure_model' is no key of a job of kind tune";
        QTest::newRow("text for a number") << QByteArray("[[job]]\nmodel = 'mlp'\ntrials = 'many'") << "line 3: 'trials' is to be a whole number";
        QTest::newRow("no trials") << QByteArray("[[job]]\nmodel = 'mlp'\ntrials = 0") << "of 1 or more";
        QTest::newRow("no weight") << QByteArray("[[job]]\nmodel = 'mlp'\nweight = 0.0") << "more than 0";
        QTest::newRow("no deadline") << QByteArray("[[job]]\nmodel = 'mlp'\ndeadline = 0") << "'deadline' is to be a number of more than 0";
        QTest::newRow("not a number") << QByteArray("[[job]]\nmodel = 'mlp'\nseconds = nan") << "more than 0";
        QTest::newRow("number for a text") << QByteArray("[[job]]\nmodel = 7") << "'model' is to be a text";
        QTest::newRow("dimensions") << QByteArray("[[job]]\nmodel = 'mlp'\ndims = 'batch=1'") << "{ batch = 1 }";
        QTest::newRow("extent") << QByteArray("[[job]]\nmodel = 'mlp'\ndims = { batch = -1 }") << "'batch'";
        QTest::newRow("key twice") << QByteArray("[[job]]\nmodel = 'mlp'\nmodel = 'mlp'") << "line 3";
        QTest::newRow("a rewrite has no trials") << QByteArray("[[job]]\nkind = 'rewrite'\nmodel = 'mlp'\ntrials = 3") << "line 4: 'trials' is no key of a job of kind rewrite; there are model, dims, search";
        QTest::newRow("a problem has no model") << QByteArray("[[job]]\nkind = 'problem'\nmodel = 'mlp'") << "line 3: 'model' is no key of a job of kind problem";
        QTest::newRow("a tuning has no alpha") << QByteArray("[[job]]\nalpha = 1.2\nmodel = 'mlp'") << "line 2: 'alpha' is no key of a job of kind tune";
        QTest::newRow("a problem without a file") << QByteArray("[[job]]\nkind = 'problem'") << "no file";
        QTest::newRow("alpha") << QByteArray("[[job]]\nkind = 'rewrite'\nmodel = 'mlp'\nalpha = 0.9") << "a number from 1 to 10";
        QTest::newRow("a problem with jobs") << QByteArray("problem = 'x'\n[[job]]\nmodel = 'mlp'") << "line 2: a problem's own file has no [[job]]";
        QTest::newRow("network") << QByteArray("[[job]]\nmodel = 'mlp'\nnetwork = 0.5") << "'network' is to be a whole number of 0 or more";
        QTest::newRow("memory") << QByteArray("[[job]]\nmodel = 'mlp'\nmemory = -4") << "'memory' is to be a whole number of 0 or more";
        QTest::newRow("kind is no text") << QByteArray("kind = 3\n[[job]]\nmodel = 'mlp'") << "'kind' is to be a text";
        QTest::newRow("no text") << QByteArray("\xff\xfe\x00", 3) << "line 1";
    }
    void filesThatSayNothing() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        const auto read = readJobFile(write(text));
        QVERIFY(!read.ok());
        const QString message = QString::fromStdString(read.error().message);
        QVERIFY2(message.contains("jobs.toml") && message.contains(says), qPrintable(message));
        QVERIFY(!readJobFile(path("nowhere.toml")).ok());
        QVERIFY(!readJobFile(folder_.path().toStdString()).ok());
    }

    void tunesAllOfThem() {
        TuneJobsRequest request;
        request.store = path("all.db");
        request.jobs = {jobOf("mlp", 6), jobOf("encoder", 2), jobOf("mlp", 6)};
        request.jobs[2].name = "again";
        request.jobs[2].tuning.strategy = "random";
        Told told;
        request.listener = &told;
        const TunedJobs tuned = take(tuneJobs(request));
        QCOMPARE(tuned.jobs.size(), std::size_t(3));
        QVERIFY(std::ranges::equal(told.slices, tuned.timeline.slices, same)); // each as it ended
        QVERIFY(told.running.empty() && told.most >= 1);
        for (std::size_t job = 0; job < tuned.jobs.size(); ++job) {
            const JobStanding& last = told.jobs.at(job);
            QVERIFY(last.ended && !last.cancelled && last.error.empty() && last.fraction == 1 && last.bestMs > 0.0 && last.trials >= tuned.jobs[job].report.trials());
        }
        for (const TunedJob& job : tuned.jobs) {
            QVERIFY2(job.error.empty(), job.error.c_str());
            QVERIFY(!job.report.unfinished && job.report.trials() > 0 && job.seconds > 0 && job.seconds <= tuned.timeline.makespan() + 1);
        }
        QCOMPARE(tuned.jobs[2].name, std::string("again"));
        QCOMPARE(take(tuningRuns(request.store)).size(), std::size_t(3));
        QVERIFY(tuned.bound > 0 && tuned.bound <= tuned.timeline.makespan() + 1e-6);
        QVERIFY(tuned.utilisation.at("core") > 0 && tuned.utilisation.at("core") <= 1 + 1e-9);
        std::set<std::string> stages;
        for (std::size_t i = 0; i < tuned.timeline.slices.size(); ++i) {
            const JobSlice& a = tuned.timeline.slices[i];
            stages.insert(a.stage);
            QVERIFY(a.called <= a.begin && a.begin <= a.end && !a.cores().empty());
            for (std::size_t j = 0; j < i; ++j)
                if (const JobSlice& b = tuned.timeline.slices[j]; overlap(a, b)) {
                    QVERIFY2(a.stage != "profile" || b.stage != "profile", "two measurements at a time");
                    for (const int core : a.cores())
                        QVERIFY2(std::ranges::find(b.cores(), core) == b.cores().end(), "two stages on one core");
                }
        }
        QCOMPARE(stages, (std::set<std::string>{"build", "prepare", "profile", "update"}));

        const auto trace = nlohmann::json::parse(chromeTrace(tuned.timeline));
        std::size_t complete = 0;
        for (const auto& event : trace.at("traceEvents"))
            complete += event.at("ph") == "X" && event.at("dur") >= 0 && event.at("args").contains("job") ? 1 : 0;
        std::size_t cores = 0;
        for (const JobSlice& slice : tuned.timeline.slices)
            cores += slice.cores().size();
        QCOMPARE(complete, cores);
        QVERIFY(exportTimeline(tuned.timeline, path("slices.csv")).ok());
        QFile csv(folder_.filePath("slices.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QCOMPARE(csv.readAll().count('\n'), static_cast<qsizetype>(tuned.timeline.slices.size() + 1));
        QVERIFY(!exportTimeline(tuned.timeline, path("nowhere/slices.csv")).ok());
    }

    // The trail of a job is the one that it has alone.
    void othersDoNotChangeTheTrail() {
        TuneJobsRequest together;
        together.store = path("together.db");
        together.jobs = {jobOf("mlp", 6), jobOf("encoder", 2)};
        for (TuneJob& job : together.jobs)
            job.tuning.strategy = "random";
        TuneJobsRequest alone = together;
        alone.store = path("alone.db");
        alone.jobs.resize(1);
        const TunedJobs both = take(tuneJobs(together)), one = take(tuneJobs(alone));
        QCOMPARE(both.jobs[0].report.trials(), one.jobs[0].report.trials());
        const auto configsOf = [](const std::string& store, std::int64_t run) {
            std::vector<std::string> configs;
            TrialFilter filter;
            filter.run = RunId(run);
            filter.limit = 1000;
            for (const TrialRow& trial : take(take(Store::open(store, StoreMode::readOnly))->trials(filter)))
                if (!trial.isFinal) // which the clock decides
                    configs.push_back(trial.workload + " " + trial.config);
            std::ranges::sort(configs);
            return configs;
        };
        QCOMPARE(configsOf(together.store, both.jobs[0].report.handle()), configsOf(alone.store, one.jobs[0].report.handle()));
    }

    // What a job may have of memory is less than any stage needs: no two of its stages run at a time. Of two such jobs they may.
    void memoryQuotas() {
        TuneJobsRequest request;
        request.store = path("memory.db");
        request.jobs = {jobOf("mlp", 6)};
        request.jobs[0].memoryMb = 1;
        request.jobs[0].tuning.batch = 2;
        const TunedJobs tuned = take(tuneJobs(request));
        QVERIFY2(tuned.jobs[0].state == "done", tuned.jobs[0].error.c_str());
        const std::vector<JobSlice>& slices = tuned.timeline.slices;
        for (std::size_t i = 0; i < slices.size(); ++i) {
            QVERIFY(!slices[i].units.contains("memory")); // it has no units
            for (std::size_t j = 0; j < i; ++j)
                QVERIFY2(!overlap(slices[i], slices[j]), (slices[i].stage + " beside " + slices[j].stage).c_str());
        }
        QVERIFY(tuned.utilisation.at("memory") > 0 && tuned.utilisation.at("memory") <= 1);
        QVERIFY(tuned.bound <= tuned.timeline.makespan() + 1e-6);
    }

    // With and without others, and as by itself: the same search, the same file.
    void rewritesOfAModel() {
        TuneJob job;
        job.kind = "rewrite";
        job.model = "encoder";
        job.rewriting.cost = "kernels";
        job.rewriting.budget = 40;
        job.rewriting.file = path("rewritten.onnx");
        TuneJobsRequest request;
        request.store = path("rewrite.db");
        request.jobs = {job, jobOf("mlp", 2)};
        const TunedJobs made = take(tuneJobs(request));
        QVERIFY2(made.jobs[0].state == "done" && made.jobs[1].state == "done", made.jobs[0].error.c_str());
        OptimizeRequest alone = job.rewriting;
        alone.store = request.store;
        alone.file = path("alone.onnx");
        const OptimizedModel expected = take(optimizeModel(take(openModel("encoder")), alone));
        const JobOutcome& outcome = made.jobs[0].outcome;
        QVERIFY(outcome.before == expected.costBefore && outcome.after == expected.costAfter && outcome.unit == expected.unit && expected.costAfter < expected.costBefore);
        const auto content = [](const std::filesystem::path& name) {
            QFile file(QString::fromStdString(name.string()));
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        QVERIFY(!content(alone.file).isEmpty() && content(alone.file) == content(job.rewriting.file));
        std::set<std::string> stages;
        for (const JobSlice& slice : made.timeline.slices)
            if (slice.job == 0)
                stages.insert(slice.stage);
        QCOMPARE(stages, (std::set<std::string>{"check", "prepare", "search"}));
        const QueuedJob listed = take(listJobs(request.store)).front();
        QVERIFY(listed.kind == "rewrite" && listed.detail.empty() && listed.outcome && listed.outcome->after == outcome.after && listed.outcome->file == outcome.file);
    }

    void whatOtherKindsCannotBegin_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("search");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("says");
        QTest::newRow("kind") << "bake" << "greedy" << "a.onnx" << "no kind of job 'bake'; there are tune, rewrite, problem";
        QTest::newRow("search") << "rewrite" << "magic" << "a.onnx" << "there is no such search; there are greedy";
        QTest::newRow("folder") << "rewrite" << "greedy" << "no/a.onnx" << "there is no folder";
        QTest::newRow("problem") << "problem" << "greedy" << "no.toml" << "no.toml";
    }
    void whatOtherKindsCannotBegin() {
        QFETCH(QString, kind);
        QFETCH(QString, search);
        QFETCH(QString, file);
        QFETCH(QString, says);
        TuneJob job = jobOf("mlp", 2);
        job.kind = kind.toStdString();
        job.rewriting.search = search.toStdString();
        job.rewriting.file = job.problem.file = path(file.toUtf8().constData());
        const auto added = addJobs(path("none.db"), {job});
        QVERIFY(!added.ok());
        QVERIFY2(QString::fromStdString(added.error().message).contains(says), added.error().message.c_str());
    }

    void aJobThatFailsIsItsOwnTrouble() {
        TuneJobsRequest request;
        request.store = path("fails.db");
        request.jobs = {jobOf("mlp", 2), jobOf("mlp", 2)};
        request.jobs[0].tuning.strategy = "magic";
        Told told;
        request.listener = &told;
        const TunedJobs tuned = take(tuneJobs(request));
        QVERIFY(told.jobs.at(0).ended && told.jobs.at(0).error == tuned.jobs[0].error && told.jobs.at(1).error.empty());
        QVERIFY2(tuned.jobs[0].error.find("magic") != std::string::npos, tuned.jobs[0].error.c_str());
        QVERIFY(tuned.jobs[1].error.empty() && tuned.jobs[1].report.trials() > 0);
        QVERIFY(tuned.jobs[0].state == "failed" && tuned.jobs[1].state == "done");
        request.jobs.resize(1);
        request.jobs[0] = jobOf("mlp", 2);
        request.jobs[0].tuning.threads = 2;
        request.jobs[0].cores = 1;
        QVERIFY(take(tuneJobs(request)).jobs[0].error.find("may have 1 of the cores") != std::string::npos);
    }

    void whatCannotBegin() {
        TuneJobsRequest request;
        request.store = path("none.db");
        QVERIFY(!tuneJobs(request).ok());
        request.jobs = {jobOf("no such model", 2)};
        QVERIFY(!tuneJobs(request).ok());
        request.jobs = {jobOf("mlp", 2)};
        for (const char* policy : {"magic", "shared"}) {
            request.policy = policy;
            QVERIFY2(!tuneJobs(request).ok(), policy);
        }
    }

    void stoppedJobsCanBeResumed() {
        TuneJobsRequest request;
        request.store = path("stopped.db");
        request.jobs = {jobOf("mlp", 500), jobOf("encoder", 500)};
        StopSource source;
        Work work{source.token(), [&](const Progress& progress) {
                      if (progress.fraction > 0.01)
                          source.requestStop();
                  }};
        const TunedJobs tuned = take(tuneJobs(request, work));
        for (const TunedJob& job : tuned.jobs)
            QVERIFY(job.state == "queued" && (job.report.runs.empty() || job.report.last().stopReason == "cancelled"));
        for (const RunSummary& run : take(tuningRuns(request.store)))
            QVERIFY(run.resumable);
    }
};

QTEST_GUILESS_MAIN(TstTuneJobs)
#include "tst_tune_jobs.moc"
