// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs out of files and stores of others: to whom they send what is secret, and where they write.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sys/stat.h>
#include <thread>

#include "core/store/sqlite.h"
#include "core/store/store.h"
#include "core/workbench/job_queue.h"
#include "tests/core/executors/fake_server.h"
#include "tests/take.h"

using namespace tunesmith;
using testing::CuriousTracker;
namespace fs = std::filesystem;

namespace {

const std::string kSecret = "the-secret-of-this-user";

std::string json(std::string text) { // with the other quotes
    std::ranges::replace(text, '\'', '"');
    return text;
}

// Ends what should have ended by itself.
class Limit {
public:
    Work work() const { return {source_.token(), {}}; }
    bool reached() const { return source_.stopRequested(); }

private:
    StopSource source_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_{[this](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        if (!wake_.wait_for(lock, stop, std::chrono::seconds(15), [&] { return stop.stop_requested(); }))
            source_.requestStop();
    }};
};

// Somebody who writes to the store once a session has read it.
struct Meddler : TuneJobsListener {
    explicit Meddler(std::function<void()> act) : meddle(std::move(act)) {}
    void onSession(std::int64_t, const std::map<std::string, int>&) override { meddle(); }
    std::function<void()> meddle;
};

} // namespace

class TestForeignJobs : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> folder_;

    std::string path(const std::string& name) const { return folder_->filePath(QString::fromStdString(name)).toStdString(); }
    std::string secretFile() const {
        const std::string file = path("elsewhere/secret");
        fs::create_directory(path("elsewhere"));
        std::ofstream(file) << kSecret << "\n";
        fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
        return file;
    }
    TuneJobsRequest waiting(const char* store) const {
        TuneJobsRequest request;
        request.store = path(store);
        request.queued = true;
        return request;
    }
    static void execute(const std::string& store, const std::string& sql) { take(take(sqlite::Connection::open(store, {.write = true}))->execute(sql)); }
    static void insert(const std::string& store, const std::string& what, const std::string& wish) {
        execute(store, "INSERT INTO job(kind, name, what, priority, state, wish, progress, seconds, detail, created_at, owner) VALUES('tune', 'theirs', '" + what + "', 0, 'QUEUED', '" + wish + "', 0, 0, '', 1, '')");
    }
    static TuneJob rewriting(const std::string& output = {}) {
        TuneJob job;
        job.kind = "rewrite";
        job.model = "mlp";
        job.rewriting.cost = "kernels";
        job.rewriting.noMeasure = true;
        job.rewriting.file = output;
        return job;
    }

private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        fs::create_directory(path("given"));
    }

    // Another byte would be replaced, and the job be about the file that is called so.
    void jobsOfNamesThatAreNoTextAreRefused() {
        const fs::path folder = path("given") + "\xff"; // no QString has it
        fs::create_directory(folder);
        std::ofstream(folder / "model.onnx") << "none";
        const auto refusal = [&](TuneJob job) {
            const auto added = addJobs(path("named.db"), {std::move(job)});
            return added.ok() ? std::string() : added.error().message;
        };
        TuneJob problem;
        problem.kind = "problem";
        problem.problem.file = folder / "p.toml";
        std::ofstream(problem.problem.file) << "problem = 'external-program'\n";
        TuneJob rewrite;
        rewrite.kind = "rewrite";
        rewrite.model = "mlp";
        rewrite.rewriting.file = folder / "out.onnx";
        TuneJob named;
        named.model = "mlp";
        named.name = "job\xff";
        for (const TuneJob& job : {rewrite, named}) {
            const std::string said = refusal(job);
            QVERIFY2(said.find("is no UTF-8 text") != std::string::npos, said.c_str());
        }
        QVERIFY(!refusal(problem).empty());
        std::ofstream(folder / "jobs.toml") << "[[job]]\nmodel = 'model.onnx'\n";
        const TuneJobsRequest read = take(readJobFile(folder / "jobs.toml"));
        QVERIFY(read.jobs.front().model.find('\xff') != std::string::npos);
        QVERIFY(!refusal(read.jobs.front()).empty());
        QCOMPARE(take(listJobs(path("named.db"))).size(), std::size_t(0));
    }

    // A store may say what no file may.
    void numbersOfAStoreAreHeldToTheirRanges_data() {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        for (const auto& [key, value] : {std::pair("batch", "-1"), {"batch", "0"}, {"batch", "1e300"}, {"trials", "-5"}, {"threads", "5000"}, {"builders", "-1"}, {"seconds", "-1"}, {"dims", "{\"n\": -4}"},
                                         {"dims", "{\"n\": 3e74}"}, {"dims", "[1]"}, {"devices", "0"}, {"cores", "-1"}})
            QTest::addRow("%s %s", key, value) << key << value;
    }
    void numbersOfAStoreAreHeldToTheirRanges() {
        QFETCH(const QString, key);
        QFETCH(const QString, value);
        const std::string store = path("ranges.db");
        take(Store::open(store, StoreMode::readWrite));
        insert(store, "{\"model\": \"mlp\", \"" + key.toStdString() + "\": " + value.toStdString() + "}", "run");
        const std::vector<QueuedJob> jobs = take(listJobs(store));
        QCOMPARE(jobs.size(), std::size_t(1));
        QVERIFY2(jobs[0].detail.find("remove the job and add it again") != std::string::npos, jobs[0].detail.c_str());
    }

    // Neither the token that the row names nor the one of the command line.
    void noTrackerIsAskedForJobsThatWait_data() {
        QTest::addColumn<QString>("wish");
        QTest::addColumn<bool>("ours");
        QTest::newRow("paused") << "pause" << false;
        QTest::newRow("paused, and a token of ours") << "pause" << true;
        QTest::newRow("comes meanwhile") << "run" << false;
    }
    void noTrackerIsAskedForJobsThatWait() {
        QFETCH(QString, wish);
        QFETCH(bool, ours);
        const CuriousTracker tracker;
        TuneJobsRequest asked = waiting("foreign.db");
        take(addJobs(asked.store, {rewriting()})); // something for the session to do
        const std::string files = ours ? std::string() : ", 'insecure': true, 'token_file': '" + secretFile() + "'";
        const auto add = [&] { insert(asked.store, json("{'model': 'mlp', 'device': 'k', 'tracker': '" + tracker.address() + "'" + files + "}"), wish.toStdString()); };
        if (ours)
            asked.remote.files.token = secretFile();
        if (wish == "pause")
            add();
        Meddler meddler([&] {
            if (wish != "pause")
                add();
        });
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        QCOMPARE(tuned.jobs.front().state, std::string("done"));
        QCOMPARE(tracker.tokens().size(), std::size_t(0));
        QCOMPARE(take(listJobs(asked.store)).back().state, std::string("paused"));
    }

    // The seal is of what the store says when the job is taken, and that is what runs.
    void whatIsTakenIsWhatRuns() {
        TuneJobsRequest asked = waiting("changed.db");
        take(addJobs(asked.store, {rewriting(path("mine.onnx"))}));
        const std::string mine = take(take(Store::open(asked.store))->jobs()).front().what;
        execute(asked.store, "UPDATE job SET what = '" + json("{'model': 'mlp', 'cost': 'kernels', 'no_measure': true, 'output': '" + path("theirs.onnx") + "'}") + "'");
        Meddler meddler([&] { execute(asked.store, "UPDATE job SET wish = 'run', what = '" + mine + "'"); });
        asked.listener = &meddler;
        const TunedJobs tuned = take(tuneJobs(asked));
        QVERIFY(!fs::exists(path("theirs.onnx")) && !fs::exists(path("mine.onnx")));
        QVERIFY2(tuned.jobs.front().state == "failed" && tuned.jobs.front().error.find("something else") != std::string::npos, tuned.jobs.front().error.c_str());
        take(changeJob(asked.store, 1, JobChange::resume));
        asked.listener = nullptr;
        QCOMPARE(take(tuneJobs(asked)).jobs.front().state, std::string("done"));
        QVERIFY(fs::exists(path("mine.onnx")) && !fs::exists(path("theirs.onnx")));
    }

    // Each of them has a run, and the store any number.
    void manyJobsTakeNoLongTime() {
        const TuneJobsRequest asked = waiting("many.db");
        {
            const auto store = take(Store::open(asked.store));
            RunRow run;
            run.kind = "experiment";
            take(store->endRun(take(store->beginRun(run)), {}));
        }
        const std::string numbers = "WITH n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 2999) INSERT INTO ";
        execute(asked.store, numbers + "run SELECT i, kind, model_id, target_id, strategy, seed, options, state, stop_reason, started_at, ended_at, before_ms, after_ms, version, owner, resume FROM run, n WHERE id = 1");
        execute(asked.store, numbers + "job(kind, name, what, priority, state, wish, run_id, progress, seconds, detail, created_at, owner) SELECT 'tune', 'theirs', '{}', 0, 'QUEUED', 'pause', i, 0, 0, '', 1, '' FROM n");
        const Limit limit;
        QCOMPARE(take(tuneJobs(asked, limit.work())).jobs.size(), std::size_t(2000));
        QVERIFY(!limit.reached());
    }

    void tokensGoWhereTheUserSends_data() {
        QTest::addColumn<QString>("job"); // whose tracker it names, if any; "ca": with an authority of its own
        QTest::addColumn<QString>("remote"), QTest::addColumn<QString>("offered"); // what tracker the user names, if any; "none": no token either
        QTest::addColumn<QString>("gets"); // whose tracker gets the token
        QTest::newRow("a token alone") << "theirs" << "" << "none" << "";
        QTest::newRow("the user's own tracker") << "theirs" << "ours" << "none" << "ours";
        QTest::newRow("theirs, named by the user") << "theirs" << "theirs" << "none" << "theirs";
        QTest::newRow("with an authority of the job") << "theirs ca" << "ours" << "none" << "ours";
        QTest::newRow("offered to another") << "theirs" << "none" << "ours" << "";
        QTest::newRow("offered") << "" << "none" << "ours" << "ours";
        QTest::newRow("offered to the same") << "ours" << "none" << "ours" << "ours";
        QTest::newRow("offered, with an authority of the job") << "ours ca" << "none" << "ours" << "ours";
    }
    void tokensGoWhereTheUserSends() {
        QFETCH(QString, job);
        QFETCH(QString, remote);
        QFETCH(QString, offered);
        QFETCH(QString, gets);
        const CuriousTracker theirs, ours;
        const auto addressOf = [&](const QString& whose) { return whose.startsWith("theirs") ? theirs.address() : whose.startsWith("ours") ? ours.address() : std::string(); };
        TuneJobsRequest asked;
        asked.store = path("tokens.db");
        TuneJob& only = asked.jobs.emplace_back();
        only.model = "mlp";
        only.device.key = "k";
        only.device.tracker = addressOf(job);
        if (job.endsWith("ca"))
            only.device.files.ca = path("no-authority.pem");
        for (const auto& [choice, whose] : {std::pair(&asked.remote, remote), std::pair(&asked.offered, offered)}) {
            choice->tracker = addressOf(whose);
            choice->files.token = whose == "none" ? std::string() : secretFile();
        }
        const Limit limit;
        const TunedJobs tuned = take(tuneJobs(asked, limit.work()));
        QVERIFY(!limit.reached());
        for (const auto& [tracker, whose] : {std::pair(&theirs, "theirs"), std::pair(&ours, "ours")}) {
            const auto tokens = tracker->tokens();
            QCOMPARE(std::ranges::find(tokens, kSecret) != tokens.end(), gets == whose);
        }
        if (remote.isEmpty()) {
            const std::string& error = tuned.jobs.front().error;
            QVERIFY2(error.starts_with("job mlp names the tracker " + theirs.address()) && error.find("give --tracker " + theirs.address()) != std::string::npos, error.c_str());
        }
    }

    // Whoever wrote the job would have the token sent in the clear.
    void theUserSaysHowSafely() {
        TuneJobsRequest asked;
        asked.store = path("safely.db");
        TuneJob& job = asked.jobs.emplace_back();
        job.model = "mlp";
        job.device.key = "k";
        job.device.tracker = "theirs.invalid:1";
        job.device.files.insecure = true;
        asked.remote.tracker = "ours.invalid:1";
        asked.remote.files.token = secretFile();
        const Limit limit;
        const TunedJobs tuned = take(tuneJobs(asked, limit.work()));
        QVERIFY(!limit.reached());
        const std::string& error = tuned.jobs.front().error;
        QVERIFY2(error.find("ours.invalid:1 on another machine needs --ca") != std::string::npos, error.c_str());
    }

    // As far as it can be known before.
    void whatItDoesIsSaid() {
        JobRow row;
        row.what = json("{'model': 'mlp', 'device': 'k', 'tracker': 'far:9290', 'token_file': '/home/u/secret', 'ca': '/tmp/ca.pem', 'insecure': true}");
        const std::string does = queuedJob(row).does;
        for (const char* part : {"tunes the model mlp", "the key k", "far:9290", "gets the token in /home/u/secret", "/tmp/ca.pem", "without TLS"})
            QVERIFY2(does.find(part) != std::string::npos, does.c_str());
        row.what = json("{'model': '" + std::string(5000, '/') + "mlp', 'device': 'k', 'tracker': 'far:9290', 'token_file': '/home/u/secret'}"); // hides nothing
        const std::string cut = queuedJob(row).does;
        QVERIFY2(cut.size() < 500 && cut.find("/home/u/secret") != std::string::npos, cut.c_str());
        row.kind = "problem";
        row.what = json("{'file': '/pack/a.toml'}");
        QCOMPARE(queuedJob(row).does, std::string("tunes the problem /pack/a.toml, whose commands it runs"));
    }

    // Whoever wrote the file does not know where the user has what.
    void filesWriteBesideThem_data() {
        QTest::addColumn<QString>("output");
        QTest::addColumn<QString>("says"); // empty: it may
        QTest::newRow("elsewhere") << "ELSEWHERE/thesis.onnx" << "is to lie in the folder of this file";
        QTest::newRow("above") << "../elsewhere/thesis.onnx" << "is to lie in the folder of this file";
        QTest::newRow("new, elsewhere") << "ELSEWHERE/new.onnx" << "is to lie in the folder of this file";
        QTest::newRow("by a link") << "link.onnx" << "is to lie in the folder of this file";
        QTest::newRow("by a link to what will be there") << "later.onnx" << "is to lie in the folder of this file";
        QTest::newRow("by a link through what will be there") << "through.onnx" << "is to lie in the folder of this file";
        QTest::newRow("a name that ends early") << "thesis.tex\\u0000.onnx" << "is to be a text";
        QTest::newRow("by a link to a folder") << "linked/thesis.onnx" << "is to lie in the folder of this file";
        QTest::newRow("what a shell reads") << ".bash_aliases" << "name a file that ends in .onnx";
        QTest::newRow("a pipe") << "pipe.onnx" << "name a file that ends in .onnx";
        QTest::newRow("a folder") << "folder.onnx" << "name a file that ends in .onnx";
        QTest::newRow("new") << "new.onnx" << "";
        QTest::newRow("replaced") << "there.onnx" << "";
        QTest::newRow("below") << "folder.onnx/new.onnx" << "";
        QTest::newRow("by a link that stays") << "stays.onnx" << "";
    }
    void filesWriteBesideThem() {
        QFETCH(QString, output);
        QFETCH(QString, says);
        for (const char* folder : {"elsewhere", "given/folder.onnx"})
            fs::create_directory(path(folder));
        for (const char* file : {"elsewhere/thesis.onnx", "given/there.onnx"})
            std::ofstream(path(file)) << "trained for weeks";
        fs::create_symlink(path("elsewhere/thesis.onnx"), path("given/link.onnx"));
        fs::create_symlink(path("elsewhere"), path("given/linked"));
        fs::create_symlink("../elsewhere/later.onnx", path("given/later.onnx"));
        fs::create_symlink("none/../../elsewhere/thesis.onnx", path("given/through.onnx"));
        fs::create_symlink("there.onnx", path("given/stays.onnx"));
        QCOMPARE(::mkfifo(path("given/pipe.onnx").c_str(), 0600), 0);
        const std::string file = path("given/jobs.toml");
        std::ofstream(file) << "[[job]]\nkind = 'rewrite'\nmodel = 'mlp'\noutput = \"" << output.replace("ELSEWHERE", folder_->filePath("elsewhere")).toStdString() << "\"\n";
        const auto read = readJobFile(file);
        if (says.isEmpty()) {
            QVERIFY2(read.ok(), problemOf(read.ok() ? Status() : Status(read.error())).c_str());
            QVERIFY(fs::equivalent(read->jobs.front().rewriting.file.parent_path(), path(output.startsWith("folder") ? "given/folder.onnx" : "given")));
            return;
        }
        QVERIFY(!read.ok());
        QVERIFY2(QString::fromStdString(read.error().message).contains(says) && read.error().message.find("line 4") != std::string::npos, read.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(TestForeignJobs)
#include "tst_foreign_jobs.moc"
