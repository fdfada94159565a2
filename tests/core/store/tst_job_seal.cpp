// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

#include "core/store/sqlite.h"
#include "core/store/store.h"
#include "tests/core/store/require.h"

using namespace tunesmith;
namespace fs = std::filesystem;

// A job runs code: it runs only if this user added or resumed it, whatever became of the file meanwhile.
class TestJobSeal : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> folder_;
    QByteArray home_;

    std::string file(const char* name) const { return folder_->filePath(name).toStdString(); }
    static JobRow harmless() {
        JobRow job;
        job.name = "mine";
        job.what = R"({"model":"mlp"})";
        return job;
    }
    // Closed, so that it has no log.
    static void makeStore(const std::string& path, int jobs = 1) {
        const auto store = Store::open(path);
        REQUIRE_OK(store);
        QVERIFY(store.value()->addJobs(std::vector<JobRow>(static_cast<std::size_t>(jobs), harmless())).ok());
    }
    static void change(const std::string& path, const std::string& sql) {
        const auto raw = sqlite::Connection::open(path, {true, false, false, 1000});
        REQUIRE_OK(raw);
        REQUIRE_OK(raw.value()->execute(sql));
    }
    static QByteArray bytesOf(const std::string& path) {
        QFile file(QString::fromStdString(path));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    // As cp does: the file stays the same one in the eyes of the system.
    static void writeOver(const std::string& path, const QByteArray& bytes) {
        QFile file(QString::fromStdString(path));
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        QCOMPARE(file.write(bytes), qint64(bytes.size()));
    }
    // Somebody gets a store, changes it, and gives it back.
    void giveAway(const std::string& path, const std::string& sql) const {
        const std::string given = file("given.db");
        fs::copy_file(path, given, fs::copy_options::overwrite_existing);
        change(given, sql);
        writeOver(path, bytesOf(given));
        fs::remove(given);
    }
    static void verifyWaits(Store& store, StoredJobId id = StoredJobId(1)) {
        const JobRow job = store.job(id).value();
        QVERIFY2(job.wish == JobWish::pause && job.detail.find("came with this store") != std::string::npos, job.detail.c_str());
        QVERIFY(!store.takeJob(id).value());
    }

private slots:
    void init() {
        home_ = qgetenv("XDG_DATA_HOME");
        folder_ = std::make_unique<QTemporaryDir>();
        qputenv("XDG_DATA_HOME", folder_->filePath("data").toUtf8());
    }
    void cleanup() { qputenv("XDG_DATA_HOME", home_); }

    void changedJobsWait_data() {
        QTest::addColumn<QString>("sql");
        QTest::newRow("what it does") << R"(UPDATE job SET what = '{"model":"theirs"}')";
        QTest::newRow("kind") << "UPDATE job SET kind = 'problem'";
        QTest::newRow("another in its place") << "DELETE FROM job; INSERT INTO job VALUES (1, 'problem', 'mine', '{}', 0, 'QUEUED', 'run', NULL, 0, 0, '', 1, NULL, '')";
        QTest::newRow("as if it ran") << "UPDATE job SET kind = 'problem', state = 'RUNNING'";
        QTest::newRow("marks are lost") << "DELETE FROM origin WHERE rowid > 1";
    }
    void changedJobsWait() {
        QFETCH(QString, sql);
        const std::string path = file("ip.db");
        makeStore(path);
        giveAway(path, sql.toStdString());
        const auto store = Store::open(path);
        REQUIRE_OK(store);
        verifyWaits(*store.value());
        REQUIRE_OK(store.value()->wishJob(StoredJobId(1), JobWish::run));
        QVERIFY(store.value()->takeJob(StoredJobId(1)).value());
    }

    // Its own seal fits one number only.
    void sealsAreOfOneJob() {
        const std::string path = file("swap.db");
        makeStore(path, 2);
        giveAway(path, "DELETE FROM job WHERE id = 2; UPDATE job SET id = 7");
        const auto store = Store::open(path);
        verifyWaits(*store.value(), StoredJobId(7));
    }

    void ownJobsRun() {
        const std::string path = file("own.db");
        makeStore(path, 3);
        giveAway(path, "UPDATE job SET priority = 3"); // decides nothing but the order
        const auto store = Store::open(path);
        const std::vector<JobRow> jobs = store.value()->jobs().value();
        for (const JobRow& job : jobs)
            QVERIFY(job.wish == JobWish::run && job.detail.empty());
        QVERIFY(store.value()->takeJob(StoredJobId(3)).value());
    }

    // Nobody but the user changes his mind.
    void whatWasStoppedStaysStopped_data() {
        QTest::addColumn<int>("end");
        QTest::newRow("paused") << 0;
        QTest::newRow("cancelled") << 1;
        QTest::newRow("failed") << 2;
        QTest::newRow("done") << 3;
    }
    void whatWasStoppedStaysStopped() {
        QFETCH(int, end);
        const std::string path = file("stopped.db");
        makeStore(path);
        {
            const auto store = Store::open(path);
            Store& jobs = *store.value();
            if (end < 2)
                REQUIRE_OK(jobs.wishJob(StoredJobId(1), end == 0 ? JobWish::pause : JobWish::cancel));
            else {
                QVERIFY(jobs.takeJob(StoredJobId(1)).value());
                REQUIRE_OK(jobs.endJob(StoredJobId(1), end == 2 ? JobState::failed : JobState::done));
            }
        }
        giveAway(path, "UPDATE job SET state = 'QUEUED', wish = 'run', ended_at = NULL");
        verifyWaits(*Store::open(path).value());
    }

    // One that is given back, or whose program was killed, is still wanted.
    void givenBackJobsRun() {
        const std::string path = file("back.db");
        makeStore(path, 2);
        {
            const auto store = Store::open(path);
            QVERIFY(store.value()->takeJob(StoredJobId(1)).value());
            REQUIRE_OK(store.value()->endJob(StoredJobId(1), JobState::queued));
            QVERIFY(store.value()->takeJob(StoredJobId(2)).value());
        }
        change(path, "UPDATE job SET owner = 'gone' WHERE state = 'RUNNING'");
        const auto store = Store::open(path);
        QVERIFY(store.value()->takeJob(StoredJobId(1)).value() && store.value()->takeJob(StoredJobId(2)).value());
    }

    // By whoever writes to the file beside this program.
    void jobsAddedMeanwhileWait() {
        const std::string path = file("meanwhile.db");
        const auto store = Store::open(path);
        REQUIRE_OK(store);
        change(path, "INSERT INTO job VALUES (5, 'problem', 'x', '{}', 0, 'QUEUED', 'run', NULL, 0, 0, '', 1, NULL, '')");
        QVERIFY(!store.value()->takeJob(StoredJobId(5)).value());
        verifyWaits(*store.value(), StoredJobId(5));
    }

    void copiesWait() {
        const std::string path = file("first.db"), copy = file("second.db");
        makeStore(path);
        fs::copy_file(path, copy);
        verifyWaits(*Store::open(copy).value());
        QVERIFY(Store::open(path).value()->takeJob(StoredJobId(1)).value());
    }

    // Of another user, or of this one after his data folder was lost.
    void anotherSecretFitsNothing() {
        const std::string path = file("secret.db");
        makeStore(path);
        qputenv("XDG_DATA_HOME", folder_->filePath("other").toUtf8());
        verifyWaits(*Store::open(path).value());
    }

    // A store from elsewhere is none of the user's own in the place of the default one, either: in a folder of his that an archive has filled before the first start.
    void copiesWaitInTheUsualPlace() {
        const std::string path = file("old.db"), usual = defaultStorePath().value();
        makeStore(path);
        fs::copy_file(path, usual);
        verifyWaits(*Store::open(usual).value());
    }

    void secretIsTheUsersAlone() {
        makeStore(file("any.db"));
        const std::string key = file("data/tunesmith/store-key");
        struct stat facts {};
        QCOMPARE(::stat(key.c_str(), &facts), 0);
        QVERIFY((facts.st_mode & 0777) == 0600 && facts.st_size == 32 && bytesOf(key) != QByteArray(32, '\0'));
        const QByteArray before = bytesOf(key);
        makeStore(file("more.db"));
        QCOMPARE(bytesOf(key), before);
        QCOMPARE(std::distance(fs::directory_iterator(file("data/tunesmith")), fs::directory_iterator()), std::ptrdiff_t(1)); // nothing else is left
    }

    // The program replaces anything else that lies there, and waits for none of it.
    void strangeSecretsAreReplaced_data() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"pipe", "short", "long", "others write", "link"})
            QTest::newRow(kind) << kind;
    }
    void strangeSecretsAreReplaced() {
        QFETCH(QString, kind);
        const std::string path = file("strange.db"), key = file("data/tunesmith/store-key");
        fs::create_directories(file("data/tunesmith"));
        if (kind == "pipe")
            QCOMPARE(::mkfifo(key.c_str(), 0600), 0);
        else if (kind == "link")
            fs::create_symlink("/dev/zero", key);
        else {
            QFile made(QString::fromStdString(key));
            QVERIFY(made.open(QIODevice::WriteOnly));
            made.write(QByteArray(kind == "short" ? 5 : 32, 'x'));
            if (kind == "long")
                QVERIFY(made.resize(qint64(1) << 40));
        }
        if (kind == "others write")
            fs::permissions(key, fs::perms(0666));
        makeStore(path);
        QVERIFY(fs::is_regular_file(fs::symlink_status(key)));
        QVERIFY(fs::file_size(key) == 32 && bytesOf(key) != QByteArray(32, 'x'));
        QVERIFY(Store::open(path).value()->takeJob(StoredJobId(1)).value());
    }
};

QTEST_GUILESS_MAIN(TestJobSeal)
#include "tst_job_seal.moc"
