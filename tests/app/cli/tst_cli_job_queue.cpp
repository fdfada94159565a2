// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRandomGenerator>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <memory>

#include "cli_process.h"

using namespace tunesmith::testing;

// Jobs that outlive the programs that run them.
class TestCliJobQueue : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> folder_;
    QString store_;

    CliResult jobs(const QStringList& words) const { return runCli(QStringList{"jobs"} + words + QStringList{"--store", store_, "--json"}); }
    QJsonArray list() const { return jobs({"list"}).json()["jobs"].toArray(); }
    QString stateOf(int job) const { return list().at(job - 1)["state"].toString(); }
    QString file(const QByteArray& text) const {
        QFile file(folder_->filePath("jobs.toml"));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("no room for a file");
        return file.fileName();
    }
    QString someJobs(int trials = 8) const {
        const QByteArray budget = "threads = 1\ntrials = " + QByteArray::number(trials) + "\n";
        const QByteArray less = "trials = " + QByteArray::number(std::max(1, trials / 4)) + "\n";
        return file(budget + "[[job]]\nmodel = 'mlp'\n[[job]]\nmodel = 'encoder'\npriority = 2\n" + less + "[[job]]\nmodel = 'mlp'\nname = 'third'\n");
    }
    // A problem whose program takes so many seconds and is best at 6.
    QString numbers(const QByteArray& seconds) const {
        QFile file(folder_->filePath("numbers.toml"));
        if (!file.open(QIODevice::WriteOnly) ||
            file.write("problem = 'external-program'\nname = 'numbers'\n[parameters.n]\ntype = 'int'\nlow = 1\nhigh = 90\ndefault = 2\n[run]\ncommand = ['sh', '-c', 'sleep " + seconds +
                       "; echo $(( 20 - ($0 - 6) * ($0 - 6) ))', '{n}']\n[score]\nfrom = 'stdout'\nunit = 'points'\nhigher_is_better = true\n") < 0)
            qFatal("no room for a file");
        return file.fileName();
    }
    void startRun(QProcess& process) const {
        process.start(TEST_CLI, {"jobs", "run", "--store", store_, "--json"});
        QVERIFY(process.waitForStarted());
    }
    static void killAfter(QProcess& process, int ms) { // unless it has ended
        if (process.waitForFinished(ms))
            return;
        process.kill();
        QVERIFY(process.waitForFinished(10'000));
    }

private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        store_ = folder_->filePath("trials.db");
    }

    // A store that comes from elsewhere is another file, whatever is in it.
    void jobsFromElsewhereWait() {
        QVERIFY(jobs({"add", someJobs(1)}).status == 0);
        const QString received = folder_->filePath("received.db");
        QVERIFY(QFile::copy(store_, received));
        store_ = received;
        const CliResult run = runCli({"jobs", "run", "--store", store_});
        QVERIFY2(run.status == 0 && run.out.contains("Job 1 is paused; `jobs list` tells more, `jobs resume 1` lets it run"), run.out + run.errors);
        const QJsonObject first = list().at(0).toObject();
        QVERIFY(first["state"] == "paused" && first["detail"].toString().contains("came with this store"));
        QVERIFY(first["does"].toString().startsWith("tunes the model mlp"));
        const CliResult shown = runCli({"jobs", "list", "--store", store_}), resumed = runCli({"jobs", "resume", "1", "--store", store_});
        QVERIFY2(shown.out.contains("Job 1 is paused: it tunes the model mlp\n"), shown.out);
        QVERIFY2(resumed.status == 0 && resumed.out == "Job 1 goes on: it tunes the model mlp\n", resumed.out);
        QCOMPARE(jobs({"run"}).status, 0);
        QVERIFY(stateOf(1) == "done" && stateOf(2) == "paused" && stateOf(3) == "paused");
    }

    void addedListedChanged() {
        QVERIFY(jobs({"run"}).status == 0); // nothing waits
        const CliResult added = jobs({"add", someJobs()});
        QVERIFY2(added.status == 0, added.errors);
        QCOMPARE(added.json()["jobs"].toArray(), (QJsonArray{1, 2, 3}));
        const QJsonArray found = list();
        QCOMPARE(found.size(), qsizetype(3));
        QCOMPARE(found[0]["name"].toString(), QString("mlp"));
        QCOMPARE(found[1]["priority"].toInt(), 2);
        QCOMPARE(found[2]["name"].toString(), QString("third"));
        for (const QJsonValue& job : found)
            QVERIFY(job["state"].toString() == "queued" && job["progress"].toDouble() == 0 && job["run"].isNull());
        QCOMPARE(jobs({"pause", "1", "3"}).status, 0);
        QCOMPARE(jobs({"priority", "1", "9"}).status, 0);
        QCOMPARE(jobs({"cancel", "2"}).status, 0);
        QVERIFY(stateOf(1) == "paused" && stateOf(2) == "cancelled" && stateOf(3) == "paused");
        QCOMPARE(list().at(0)["priority"].toInt(), 9);
        QCOMPARE(jobs({"resume", "1", "2"}).status, 0);
        QVERIFY(stateOf(1) == "queued" && stateOf(2) == "queued");
        QCOMPARE(jobs({"remove", "3"}).status, 0);
        QCOMPARE(list().size(), qsizetype(2));
    }

    void whatCannotBe() {
        QVERIFY2(jobs({"pause", "1"}).sentence().contains("no job 1"), "there is no job");
        QVERIFY(jobs({"add", file("[[job]]\nmodel = 'no such'\n")}).status == 1);
        QVERIFY(jobs({"add", file("[[job]]\nmodel = 'mlp'\n[[job]]\nmodel = 'no such'\n")}).status == 1);
        QVERIFY(list().isEmpty()); // all or none
        QVERIFY(jobs({"trace", "7", "-o", folder_->filePath("t.json")}).sentence().contains("no session 7"));
        QCOMPARE(jobs({"priority", "1", "7000"}).status, 2);
        QCOMPARE(jobs({"pause"}).status, 2);
    }

    void ranAndTraced() {
        QVERIFY(jobs({"add", someJobs(4)}).status == 0);
        QVERIFY(jobs({"pause", "3"}).status == 0);
        const CliResult ran = jobs({"run", "--at-once", "1"});
        QVERIFY2(ran.status == 0, ran.errors);
        QVERIFY(stateOf(1) == "done" && stateOf(2) == "done" && stateOf(3) == "paused");
        const QJsonArray made = ran.json()["jobs"].toArray();
        QVERIFY(made[1]["seconds"].toDouble() < made[0]["seconds"].toDouble()); // the higher priority first
        const QJsonArray sessions = jobs({"sessions"}).json()["sessions"].toArray();
        QVERIFY(sessions[0]["state"].toString() == "ended" && sessions[0]["stages"].toInt() == ran.json()["stages"].toInt());
        const QString trace = folder_->filePath("trace.json");
        const QString session = QString::number(sessions[0]["id"].toInt());
        QCOMPARE(jobs({"trace", session, "-o", trace}).json()["stages"].toInt(), ran.json()["stages"].toInt());
        QFile written(trace);
        QVERIFY(written.open(QIODevice::ReadOnly));
        QVERIFY(QJsonDocument::fromJson(written.readAll())["traceEvents"].toArray().size() >= ran.json()["stages"].toInt());
        QVERIFY(jobs({"run"}).json()["jobs"].toArray().size() == 1); // the paused one: it is seen, and not begun
        QCOMPARE(stateOf(3), QString("paused"));
    }

    // Killed again and again, at random moments: every job ends, with the trials that it would have had, each of them once.
    void killedAndResumed() {
        QVERIFY(jobs({"add", someJobs()}).status == 0);
        QRandomGenerator random(7);
        for (int kill = 0; kill < 4; ++kill) {
            QProcess process;
            startRun(process);
            killAfter(process, 300 + static_cast<int>(random.bounded(2500)));
            const QJsonObject check = runCli({"store", "check", "--store", store_, "--json"}).json();
            QVERIFY2(check["ok"].toBool(), "the store is damaged");
        }
        const CliResult last = jobs({"run"});
        QVERIFY2(last.status == 0, last.errors);
        for (const QJsonValue& job : list())
            QVERIFY2(job["state"].toString() == "done" && job["progress"].toDouble() == 1 && job["run"].toInt() > 0, qPrintable(job["name"].toString()));
        QVERIFY(runCli({"store", "check", "--store", store_, "--json"}).json()["ok"].toBool());
    }

    // The three kinds in one session: what is measured is alone on its cores, whoever measures, and what each came to is told then and later.
    void kindsTogether() {
        QVERIFY(!numbers("0").isEmpty());
        const QByteArray text = "threads = 1\ntrials = 6\nseed = 3\n[[job]]\nmodel = 'mlp'\n[[job]]\nkind = 'rewrite'\nname = 'rewrite'\nmodel = 'mlp'\ncost = 'measured'\nbudget = 12\noutput = 'out.onnx'\n"
                                "[[job]]\nkind = 'problem'\nfile = 'numbers.toml'\nbatch = 2\nstrategy = 'coordinate'\n";
        const QString table = folder_->filePath("slices.csv");
        const CliResult ran = jobs({"run", file(text), "--trace", table});
        QVERIFY2(ran.status == 0, ran.errors);
        const QJsonArray made = ran.json()["jobs"].toArray();
        QVERIFY(!made[0].toObject().contains("outcome") && made[0]["runs"].toArray().size() == 1);
        const QJsonObject rewritten = made[1]["outcome"].toObject(), tuned = made[2]["outcome"].toObject();
        QVERIFY(rewritten["unit"].toString() == "ms" && rewritten["before"].toDouble() > 0 && rewritten["measured_before_ms"].toDouble() > 0 && rewritten["measured_after_ms"].toDouble() > 0);
        QVERIFY(QFile::exists(folder_->filePath("out.onnx")) && rewritten["file"].toString().endsWith("/out.onnx"));
        QVERIFY(runCli({"info", folder_->filePath("out.onnx")}).status == 0);
        QVERIFY(tuned["unit"].toString() == "points" && tuned["before"].toDouble() == 4 && tuned["after"].toDouble() > 4 && tuned["remark"].toString().startsWith("n "));
        const QJsonArray listed = list();
        QVERIFY(listed[1]["outcome"].toObject() == rewritten && listed[2]["outcome"].toObject() == tuned && listed[2]["kind"].toString() == "problem" && listed[1]["detail"].isNull());
        const CliResult shown = runCli({"jobs", "list", "--store", store_});
        QVERIFY2(shown.out.contains("rewrite") && shown.out.contains("4 points -> "), shown.out);

        struct Slice {
            QString job, stage;
            QSet<QString> cores;
            double begin, end;
        };
        QFile csv(table);
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QList<Slice> slices;
        QSet<QString> measuring;
        for (const QByteArray& line : csv.readAll().split('\n').mid(1)) {
            const QStringList cells = QString::fromUtf8(line).split(',');
            if (cells.size() < 6)
                continue;
            const QStringList cores = cells[2].split(' ');
            slices.append({cells[0], cells[1], QSet<QString>(cores.begin(), cores.end()), cells[4].toDouble(), cells[5].toDouble()});
            if (cells[1] == "profile")
                measuring << cells[0];
        }
        QCOMPARE(measuring.size(), qsizetype(3));
        for (qsizetype i = 0; i < slices.size(); ++i)
            for (qsizetype j = 0; j < i; ++j) {
                const Slice &a = slices[i], &b = slices[j];
                if (a.begin >= b.end || b.begin >= a.end)
                    continue;
                QVERIFY2(a.stage != "profile" || b.stage != "profile", "two measurements at a time");
                QVERIFY2(!a.cores.intersects(b.cores), "two stages on one core");
            }
    }

    // A problem goes on in its run, each trial once; a rewrite begins again.
    void otherKindsKilledAndResumed() {
        const QString problem = numbers("0.1");
        QVERIFY(jobs({"add", file("[[job]]\nkind = 'problem'\nfile = 'numbers.toml'\ntrials = 24\nbatch = 2\nstrategy = 'random'\nname = 'p'\n"
                                  "[[job]]\nkind = 'rewrite'\nmodel = 'mlp'\ncost = 'kernels'\nmeasure = true\nthreads = 1\noutput = 'out.onnx'\n")})
                    .status == 0);
        QRandomGenerator random(11);
        for (int kill = 0; kill < 3; ++kill) {
            QProcess process;
            startRun(process);
            killAfter(process, 600 + static_cast<int>(random.bounded(1200)));
            QVERIFY2(runCli({"store", "check", "--store", store_, "--json"}).json()["ok"].toBool(), "the store is damaged");
        }
        const CliResult last = jobs({"run"});
        QVERIFY2(last.status == 0, last.errors);
        const QJsonArray ended = list();
        for (const QJsonValue& job : ended)
            QVERIFY2(job["state"].toString() == "done" && !job["outcome"].isNull(), qPrintable(job["name"].toString()));
        QVERIFY(QFile::exists(folder_->filePath("out.onnx")));
        const QJsonObject run = runCli({"tune", problem, "--resume", QString::number(ended[0]["run"].toInt()), "--store", store_, "--json"}).json(); // nothing is left
        QVERIFY(run["trials"].toInt() == 24 && run["best"] == ended[0]["outcome"]["after"]);
    }

    // A sweep that is killed goes on where it stood and ends with one table.
    void sweepsResume() {
        const QString sweep = file("name = 'small'\nmodel = ['mlp', 'encoder']\nstrategy = ['random', 'grid', 'annealing']\nbatch = [1, 2]\nthreads = 1\ntrials = 2\n");
        const QString csv = folder_->filePath("table.csv");
        const QStringList words{"sweep", sweep, "--store", store_, "--csv", csv, "--json"};
        for (int kill = 0; kill < 3; ++kill) {
            QProcess process;
            process.start(TEST_CLI, words);
            killAfter(process, 1500);
        }
        const CliResult last = runCli(words);
        QVERIFY2(last.status == 0, last.errors);
        const QJsonArray rows = last.json()["rows"].toArray();
        QCOMPARE(rows.size(), qsizetype(12));
        QSet<QString> seen;
        for (const QJsonValue& row : rows) {
            const QJsonObject values = row["values"].toObject();
            seen << values["model"].toString() + values["strategy"].toString() + values["batch"].toString();
            QVERIFY(row["state"].toString() == "done" && row["trials"].toInt() > 0 && row["after_ms"].toDouble() > 0 && row["after_ms"].toDouble() <= row["before_ms"].toDouble() * 1.001);
        }
        QCOMPARE(seen.size(), qsizetype(12));
        QCOMPARE(list().size(), qsizetype(12));
        QFile table(csv);
        QVERIFY(table.open(QIODevice::ReadOnly));
        QCOMPARE(table.readAll().count('\n'), qsizetype(13));
        const int runs = runCli({"store", "check", "--store", store_, "--json"}).json()["runs"].toInt();
        QCOMPARE(runCli(words).json()["rows"].toArray(), rows); // nothing is left to do
        QCOMPARE(runCli({"store", "check", "--store", store_, "--json"}).json()["runs"].toInt(), runs);
    }

    // A table takes the place of no settings and no trials.
    void sweepsKeepTheirFiles() {
        const QString sweep = file("model = 'mlp'\nthreads = 1\ntrials = 1\n");
        const CliResult settings = runCli({"sweep", sweep, "--store", store_, "--csv", sweep});
        QVERIFY2(settings.status == 1 && settings.errors.contains("the file of the sweep itself"), settings.errors);
        const CliResult store = runCli({"sweep", sweep, "--store", store_, "--csv", store_});
        QVERIFY2(store.status == 1 && store.errors.contains("would take the place of the database"), store.errors);
        QVERIFY(runCli({"store", "check", "--store", store_, "--json"}).json()["trials"].toInt() > 0);
        QCOMPARE(runCli({"sweep", sweep, "--store", store_}).status, 0);
    }

    // What was found for other settings says nothing of these.
    void sweepsOfChangedProblems() {
        QVERIFY(!numbers("0").isEmpty());
        const QStringList words{"sweep", file("kind = 'problem'\nfile = 'numbers.toml'\nstrategy = ['random', 'coordinate']\ntrials = 4\n"), "--store", store_, "--json"};
        const CliResult first = runCli(words);
        QVERIFY2(first.status == 0, first.errors);
        QCOMPARE(runCli(words).json()["rows"].toArray(), first.json()["rows"].toArray());
        QCOMPARE(list().size(), qsizetype(2));
        QVERIFY(!numbers("0.0").isEmpty());
        const CliResult changed = runCli(words);
        QVERIFY2(changed.status == 0, changed.errors);
        QCOMPARE(list().size(), qsizetype(4));
        QVERIFY(changed.json()["rows"].toArray().at(0)["job"].toInt() > 2);
    }

    void controlledFromOutside() {
        QVERIFY(jobs({"add", someJobs(400)}).status == 0);
        QProcess process;
        startRun(process);
        QTRY_VERIFY_WITH_TIMEOUT(stateOf(2) == "running" && list().at(1)["progress"].toDouble() > 0, 60'000);
        QVERIFY(jobs({"cancel", "1"}).status == 0);
        QVERIFY(jobs({"pause", "2"}).status == 0);
        QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), QString("cancelled"), 10'000);
        QCOMPARE(stateOf(2), QString("paused"));
        QVERIFY(jobs({"remove", "2"}).status == 1); // somebody runs it
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(10'000));
        QCOMPARE(process.exitCode(), 130);
        QCOMPARE(stateOf(2), QString("paused"));
        QCOMPARE(stateOf(3), QString("queued"));
    }
};

QTEST_GUILESS_MAIN(TestCliJobQueue)
#include "tst_cli_job_queue.moc"
