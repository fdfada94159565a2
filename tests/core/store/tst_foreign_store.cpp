// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>
#include <QtEndian>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <sys/stat.h>

#include "core/base/atomic_file.h"
#include "core/store/owner.h"
#include "core/store/schema.h"
#include "tests/child_process.h"
#include "tests/core/store/require.h"
#include "tests/core/store/store_samples.h"

using namespace tunesmith;
namespace fs = std::filesystem;

// Stores that somebody else made, who means harm: they are data, whatever is in them.
class TestForeignStore : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QByteArray content_; // of a store with 40 trials and two jobs that wait

    std::string file(const char* name) const { return folder_.filePath(name).toStdString(); }

    static void write(const std::string& path, const QByteArray& bytes) {
        QFile file(QString::fromStdString(path));
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        QCOMPARE(file.write(bytes), qint64(bytes.size()));
    }

    // A file as it comes from elsewhere: with what `sql` did to it, and nothing beside it.
    std::string foreign(const char* name, const std::string& sql) const {
        const std::string path = file(name);
        for (const char* suffix : {"", "-wal", "-shm", "-journal"})
            fs::remove(path + suffix);
        write(path, content_);
        const auto raw = sqlite::Connection::open(path, {true, false, false, 1000});
        const std::string elsewhere = "DELETE FROM origin WHERE rowid > 1; UPDATE job SET owner = 'elsewhere' WHERE state = 'RUNNING'; ";
        if (!raw.ok() || !raw.value()->execute(elsewhere + sql).ok())
            qFatal("%s", sql.c_str());
        return path;
    }

    static std::string said(const std::string& path, StoreMode mode) {
        const auto store = Store::open(path, mode);
        return store.ok() ? std::string() : store.error().message;
    }

private slots:
    void initTestCase() {
        const auto path = file("made.db");
        {
            const auto store = Store::open(path);
            REQUIRE_OK(store);
            const auto run = samples::beginRun(*store.value()).value();
            for (int index = 0; index < 40; ++index)
                REQUIRE_OK(store.value()->addTrial(samples::trial(run, 0, index)));
            JobRow job;
            job.name = "theirs";
            QVERIFY(store.value()->addJobs({job, job}).ok());
            QVERIFY(store.value()->takeJob(StoredJobId(2)).value());
        }
        QFile made(QString::fromStdString(path));
        QVERIFY(made.open(QIODevice::ReadOnly));
        content_ = made.readAll();
    }

    void strangeLayoutsAreRefused_data() {
        QTest::addColumn<QString>("sql");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* sql, const char* says) { QTest::newRow(name) << sql << says; };
        row("trigger", "CREATE TRIGGER evil AFTER INSERT ON trial BEGIN DELETE FROM trial; END", "foreign or changed: trigger evil");
        row("view", "CREATE VIEW extra AS SELECT 1", "foreign or changed: view extra");
        row("view for a table",
            "PRAGMA foreign_keys = 0; DROP TABLE job_slice; CREATE VIEW job_slice AS WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c) SELECT x AS id FROM c",
            "changed: ");
        row("generated column", "ALTER TABLE machine ADD COLUMN burn TEXT AS (hex(zeroblob(100000000))) VIRTUAL", "changed: table machine");
        row("index on an expression", "CREATE INDEX slow ON trial(hex(samples))", "foreign or changed: index slow");
        row("weaker rules", "PRAGMA foreign_keys = 0; DROP TABLE rule; CREATE TABLE rule(id, text, name)", "changed: ");
        row("table", "CREATE TABLE sqlitestatements(x)", "foreign or changed: table sqlitestatements");
        row("lost index", "DROP INDEX trial_fastest", "missing or changed: index trial_fastest");
    }
    void strangeLayoutsAreRefused() {
        QFETCH(QString, sql);
        QFETCH(QString, says);
        const std::string path = foreign("strange.db", sql.toStdString());
        for (const StoreMode mode : {StoreMode::readOnly, StoreMode::readWrite}) {
            const QString message = QString::fromStdString(said(path, mode));
            QVERIFY2(message.contains(says) && message.contains("strange.db") && !message.contains('\n'), qPrintable(message));
        }
    }

    void analysedStoresAreFine() {
        const std::string path = foreign("analysed.db", "ANALYZE");
        QCOMPARE(said(path, StoreMode::readWrite), std::string());
    }

    // Even in a connection that did not compare the layout.
    void triggersAndViewsAreDead() {
        const std::string path = foreign("dead.db", "CREATE TRIGGER evil AFTER UPDATE ON trial BEGIN DELETE FROM trial; END; CREATE VIEW extra AS SELECT 1");
        auto raw = sqlite::Connection::open(path, {true, false, false, 1000}).value();
        const Status updated = raw->execute("UPDATE trial SET detail = 'x'");
        REQUIRE_OK(updated);
        QCOMPARE(raw->number("SELECT count(*) FROM trial").value(), std::int64_t(40));
        QVERIFY(!raw->number("SELECT count(*) FROM extra").ok());
    }

    void endlessStatementsEnd() {
        auto raw = sqlite::Connection::open(foreign("endless.db", "SELECT 1"), {true, false, false, 1000, std::chrono::milliseconds(20)}).value();
        const char* endless = "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
        const auto counted = raw->number(endless);
        QVERIFY(!counted.ok() && counted.error().kind == ErrorKind::timeout);
        QVERIFY(counted.error().message.find("endless.db gave no answer for too long") != std::string::npos);
        QCOMPARE(raw->number("SELECT count(*) FROM trial").value(), std::int64_t(40)); // the next one has its own time
    }

    void hugeValuesAreRefused() {
        const std::string path = foreign("huge.db", "SELECT 1");
        auto raw = sqlite::Connection::open(path, {true, false, false, 1000}).value();
        QVERIFY(raw->execute("UPDATE trial SET detail = hex(zeroblob(20000000)) WHERE id = 1").ok());
        QVERIFY(!raw->execute("UPDATE trial SET detail = hex(zeroblob(40000000)) WHERE id = 1").ok());
    }

    // STRICT and CHECK bind those who write through SQLite, not those who write the file.
    void brokenRulesAreFound_data() {
        QTest::addColumn<QString>("sql");
        QTest::newRow("progress") << "UPDATE job SET progress = 9e999";
        QTest::newRow("state") << "UPDATE job SET state = 'SLEEPING'";
        QTest::newRow("samples") << "UPDATE trial SET samples = x'01'";
        QTest::newRow("cores") << "UPDATE machine SET cores = -1";
    }
    void brokenRulesAreFound() {
        QFETCH(QString, sql);
        const std::string path = foreign("rules.db", "PRAGMA ignore_check_constraints = 1; " + sql.toStdString());
        const auto reading = Store::open(path, StoreMode::readOnly); // SQLite knows no rules there
        REQUIRE_OK(reading);
        const Store& store = *reading.value();
        const std::vector<JobRow> jobs = store.jobs().value();
        QVERIFY(jobs[0].progress <= 1 && store.trials({.limit = 500}).ok() && store.machines().ok() && store.check().ok());
        const std::string message = said(path, StoreMode::readWrite);
        QVERIFY2(message.find("is damaged (CHECK constraint failed") != std::string::npos, message.c_str());
    }

    // They are shown, and run when the user says so.
    void jobsThatCameAlongArePaused() {
        const std::string path = foreign("jobs.db", "SELECT 1");
        QCOMPARE(Store::open(path, StoreMode::readOnly).value()->jobs().value().size(), std::size_t(2));
        {
            const auto store = Store::open(path);
            REQUIRE_OK(store);
            const std::vector<JobRow> jobs = store.value()->jobs().value();
            for (const JobRow& job : jobs)
                QVERIFY2(job.wish == JobWish::pause && job.detail.find("came with this store") != std::string::npos, (jobWishName(job.wish) + job.detail).c_str());
            REQUIRE_OK(store.value()->wishJob(StoredJobId(1), JobWish::run));
            QVERIFY(store.value()->addJobs({JobRow()}).ok());
        }
        const std::vector<JobRow> jobs = Store::open(path).value()->jobs().value();
        QVERIFY(jobs[0].wish == JobWish::run && jobs[1].wish == JobWish::pause && jobs[2].wish == JobWish::run);
    }

    // A home that cannot be written to makes them wait once, as another one does. A new home for each call has no secret to know the user by.
    void jobsArePausedOnce_data() {
        QTest::addColumn<QStringList>("homes");
        QTest::addColumn<QList<bool>>("paused");
        QTest::newRow("home that is a file") << QStringList(3, "/dev/null") << QList<bool>{true, false, false};
        QTest::newRow("read-only home") << QStringList(3, "/proc") << QList<bool>{true, false, false};
        QTest::newRow("new homes") << QStringList{"home1", "home2", "home2", "home1"} << QList<bool>{true, true, false, false};
    }
    void jobsArePausedOnce() {
        QFETCH(QStringList, homes);
        QFETCH(QList<bool>, paused);
        const std::string path = foreign("once.db", "SELECT 1");
        const QByteArray before = qgetenv("XDG_DATA_HOME");
        const auto back = qScopeGuard([&] { qputenv("XDG_DATA_HOME", before); });
        for (qsizetype i = 0; i < homes.size(); ++i) {
            qputenv("XDG_DATA_HOME", homes[i].startsWith('/') ? homes[i].toUtf8() : folder_.filePath(homes[i]).toUtf8());
            const auto store = Store::open(path);
            REQUIRE_OK(store);
            QCOMPARE(store.value()->jobs().value()[0].wish, paused[i] ? JobWish::pause : JobWish::run);
            REQUIRE_OK(store.value()->wishJob(StoredJobId(1), JobWish::run));
            QCOMPARE(store.value()->job(StoredJobId(1)).value().detail, std::string()); // why it waited
        }
    }

    // A program that meets a store stops no other program that works on it.
    void jobsOfLivingProgramsGoOn() {
        const std::string path = foreign("living.db", "UPDATE job SET owner = '" + currentOwner() + "' WHERE id = 2");
        const std::vector<JobRow> jobs = Store::open(path).value()->jobs().value();
        QVERIFY(jobs[0].wish == JobWish::pause && jobs[1].wish == JobWish::run && jobs[1].detail.empty());
    }

    void readersPauseNothing() {
        const std::string path = foreign("readers.db", "SELECT 1");
        const std::vector<JobRow> jobs = Store::open(path, StoreMode::readOnly).value()->jobs().value();
        for (const JobRow& job : jobs)
            QCOMPARE(job.wish, JobWish::run);
    }

    // The folder of what was looked through may hold anything; nobody waits for a pipe.
    void pipesInTheMemoryAreDropped() {
        const QByteArray before = qgetenv("XDG_DATA_HOME");
        const auto back = qScopeGuard([&] { qputenv("XDG_DATA_HOME", before); });
        qputenv("XDG_DATA_HOME", folder_.filePath("pipes").toUtf8());
        const fs::path memory = file("pipes/tunesmith/known-stores");
        fs::create_directories(memory);
        for (int i = 0; i < 600; ++i)
            QCOMPARE(::mkfifo((memory / std::to_string(i)).c_str(), 0600), 0);
        QCOMPARE(said(foreign("piped.db", "SELECT 1"), StoreMode::readOnly), std::string());
        QCOMPARE(std::distance(fs::directory_iterator(memory), fs::directory_iterator()), std::ptrdiff_t(1));
    }

    // A file that takes the place of a known one is as foreign as any.
    void placesAreNotTrusted() {
        const std::string path = file("place.db");
        QVERIFY(Store::open(path).ok());
        const std::string other = foreign("other.db", "UPDATE origin SET id = '0123456789abcdef0123456789abcdef'");
        QFile source(QString::fromStdString(other));
        QVERIFY(source.open(QIODevice::ReadOnly));
        write(path, source.readAll()); // the same file in the eyes of the system
        QVERIFY(Store::open(path).value()->jobs().value()[0].wish == JobWish::pause);
    }

    // SQLite deletes the second journal that a journal names, whatever it is.
    void journalsThatNameFilesAreRefused() {
        const std::string path = foreign("journal.db", "SELECT 1"), victim = file("letter");
        write(victim, "dear");
        const auto number = [](quint32 value) {
            QByteArray bytes(4, 0);
            qToBigEndian(value, bytes.data());
            return bytes;
        };
        const QByteArray mark = QByteArray::fromHex("d9d505f920a163d7"), name = QByteArray::fromStdString(victim);
        quint32 sum = 0;
        for (const char byte : name)
            sum += static_cast<quint32>(static_cast<signed char>(byte));
        const QByteArray head = (mark + number(0) + number(0) + number(2) + number(512) + number(4096)).leftJustified(512, 0);
        write(path + "-journal", head + number(0x40000000 / 4096 + 1) + name + number(static_cast<quint32>(name.size())) + number(sum) + mark);
        for (const StoreMode mode : {StoreMode::readOnly, StoreMode::readWrite})
            QVERIFY2(said(path, mode).find("journal.db-journal, which would change other files") != std::string::npos, said(path, mode).c_str());
        QVERIFY(fs::exists(victim));
    }

    void linksBesideAreRefused_data() {
        QTest::addColumn<QString>("suffix");
        for (const char* suffix : {"-wal", "-shm", "-journal"})
            QTest::newRow(suffix) << suffix;
    }
    void linksBesideAreRefused() {
        QFETCH(QString, suffix);
        const std::string path = foreign("linked.db", "SELECT 1"), letter = file("letter"), beside = path + suffix.toStdString();
        write(letter, "dear");
        fs::create_symlink(letter, beside);
        fs::remove(file("link.db"));
        fs::create_symlink(path, file("link.db"));
        for (const std::string& way : {path, file("link.db")})
            QVERIFY2(said(way, StoreMode::readWrite).find("which would change other files") != std::string::npos, said(way, StoreMode::readWrite).c_str());
        QCOMPARE(fs::file_size(letter), std::uintmax_t(4));
        fs::remove(beside);
    }

    // A second name of somebody's letter: SQLite would cut it.
    void hardLinksBesideAreRefused_data() { linksBesideAreRefused_data(); }
    void hardLinksBesideAreRefused() {
        QFETCH(QString, suffix);
        const std::string path = foreign("hard.db", "SELECT 1"), letter = file("letter"), beside = path + suffix.toStdString();
        write(letter, "dear");
        fs::create_hard_link(letter, beside);
        for (const StoreMode mode : {StoreMode::readOnly, StoreMode::readWrite})
            QVERIFY2(said(path, mode).find("which would change other files") != std::string::npos, said(path, mode).c_str());
        QCOMPARE(fs::file_size(letter), std::uintmax_t(4));
        fs::remove(beside);
    }

    // Each name has a log of its own: what a program writes by one of them, a program that uses another one writes over.
    void aSecondNameIsNotWrittenBy() {
        const std::string path = foreign("first.db", "SELECT 1"), second = file("second.db");
        fs::create_hard_link(path, second);
        for (const std::string& way : {path, second}) {
            QVERIFY2(said(way, StoreMode::readWrite).find("2 names") != std::string::npos, said(way, StoreMode::readWrite).c_str());
            QCOMPARE(said(way, StoreMode::readOnly), std::string());
        }
        fs::remove(second);
        QCOMPARE(said(path, StoreMode::readWrite), std::string());
    }

    // SQLite makes a store as long as its journal says that it was.
    void journalsThatStretchAreRefused_data() {
        QTest::addColumn<quint32>("more"); // pages than the store has
        QTest::addColumn<bool>("refused");
        QTest::newRow("as long") << quint32(0) << false;
        QTest::newRow("more than the journal holds") << quint32(1) << true;
        QTest::newRow("17.6 TB") << quint32(0xf0000000) << true;
    }
    void journalsThatStretchAreRefused() {
        QFETCH(quint32, more);
        QFETCH(bool, refused);
        const std::string path = foreign("long.db", "SELECT 1");
        const auto size = fs::file_size(path);
        QByteArray head = QByteArray::fromHex("d9d505f920a163d7").leftJustified(512, 0);
        qToBigEndian(static_cast<quint32>(size / 4096) + more, head.data() + 16);
        qToBigEndian(quint32(512), head.data() + 20);
        qToBigEndian(quint32(4096), head.data() + 24);
        write(path + "-journal", head);
        for (const StoreMode mode : {StoreMode::readOnly, StoreMode::readWrite}) {
            const std::string message = said(path, mode);
            QVERIFY2(refused == (message.find("long.db-journal, which would make it longer") != std::string::npos), message.c_str());
            QVERIFY(fs::file_size(path) <= size + 65536);
        }
    }

    void usedUpNumbersAreFound() {
        const std::string path = foreign("numbers.db", "UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'job'");
        const auto store = Store::open(path);
        REQUIRE_OK(store);
        const auto added = store.value()->addJobs({JobRow()});
        QVERIFY(!added.ok());
        QVERIFY2(added.error().message.find("is damaged (the numbers for new rows are used up)") != std::string::npos, added.error().message.c_str());
        const StoreCheck check = store.value()->check().value();
        QCOMPARE(check.problems, std::vector<std::string>{"the numbers of table job are used up: it takes no more rows"});
    }

    void impossibleTimesAreFound_data() {
        QTest::addColumn<QString>("time");
        QTest::addColumn<QString>("kind");
        QTest::addColumn<bool>("possible");
        for (const char* time : {"-5", "-9e999", "9e999", "1e308"})
            QTest::addRow("kernel: %s", time) << time << "tune" << false;
        QTest::newRow("score") << "-5" << "problem" << true;
        QTest::newRow("endless score") << "-9e999" << "problem" << false;
    }
    void impossibleTimesAreFound() {
        QFETCH(QString, time);
        QFETCH(QString, kind);
        QFETCH(bool, possible);
        const std::string number = time.toStdString();
        const std::string path = foreign("times.db", "UPDATE run SET kind = '" + kind.toStdString() + "'; UPDATE trial SET p5_ms = " + number + " WHERE id = (SELECT trial_id FROM record LIMIT 1)");
        const StoreCheck check = Store::open(path, StoreMode::readOnly).value()->check().value();
        const bool found = std::ranges::any_of(check.problems, [](const std::string& problem) { return problem.find("has the impossible time or score") != std::string::npos; });
        QVERIFY2(found != possible, check.problems.empty() ? "no problem" : check.problems.front().c_str());
    }

    // Closing a file takes away this process's locks on it: others would throw away its log, and cut the index that is mapped here.
    void nothingTakesTheLocks_data() {
        QTest::addColumn<QString>("name");
        QTest::newRow("the store") << "store.db";
        QTest::newRow("its log") << "store.db-wal";
        QTest::newRow("the log's index") << "store.db-shm";
        QTest::newRow("a link") << "link";
        QTest::newRow("a link to the index") << "link-to-index";
        QTest::newRow("another name") << "name";
    }
    void nothingTakesTheLocks() {
        QFETCH(const QString, name);
        const QTemporaryDir folder;
        const std::string path = folder.filePath("store.db").toStdString(), other = folder.filePath(name).toStdString();
        auto store = Store::open(path);
        REQUIRE_OK(store);
        for (const StoreMode mode : {StoreMode::readOnly, StoreMode::readWrite})
            QVERIFY(Store::open(path, mode).ok());
        fs::create_symlink("store.db", folder.filePath("link").toStdString());
        fs::create_symlink("store.db-shm", folder.filePath("link-to-index").toStdString());
        fs::create_hard_link(path, folder.filePath("name").toStdString());
        const auto refusal = [&other] {
            const auto opened = InputFile::open(other);
            return opened.ok() ? std::string() : opened.error().message;
        };
        const std::string said = refusal();
        const bool written = AtomicFile::create(other).ok();
        testing::ChildProcess child(QCoreApplication::applicationDirPath() + "/store_child", {"locks", QString::fromStdString(path)});
        QCOMPARE(child.wait(), 0);
        QCOMPARE(child.takeOutput(), QByteArray("held held\n"));
        QVERIFY2(said.find("database that is open here") != std::string::npos, said.c_str());
        QVERIFY(!written);
        const bool fleeting = name.contains('-'); // SQLite removes it with the store
        store = inputError("closed");
        QCOMPARE(refusal().empty(), !fleeting);
    }

    // The ends of what columns may hold by the rules.
    void extremeValues() {
        const std::string path = foreign("extreme.db", "UPDATE job SET priority = 9223372036854775807, created_at = -9223372036854775808, seconds = 9e999, name = x'ff' || 'a', "
                                                       "what = '" + std::string(100'000, '[') + "';"
                                                       "UPDATE trial SET p5_ms = -9e999, samples = x'0000c07f' WHERE status = 'ok';"
                                                       "UPDATE trial SET build_s = 9e999, batch = 9223372036854775807, measured_at = -1, objectives = '[[1]]';"
                                                       "UPDATE run SET ended_at = NULL, options = '{', resume = '" + std::string(100'000, '[') + "';"
                                                       "UPDATE run_workload SET occurrences = 9223372036854775807, budget = 9223372036854775807, space_size = 9e999;"
                                                       "UPDATE machine SET cores = 9223372036854775807");
        for (const StoreMode mode : {StoreMode::readOnly, StoreMode::readWrite}) {
            const auto opened = Store::open(path, mode);
            REQUIRE_OK(opened);
            const Store& store = *opened.value();
            QVERIFY(!store.check().value().ok); // the JSON
            QVERIFY(store.stats().ok() && store.runs().ok() && store.machines().ok());
            QCOMPARE(store.jobs().value()[0].priority, std::numeric_limits<int>::max()); // not another number
            QCOMPARE(store.machines().value()[0].cores, std::numeric_limits<int>::max());
            QCOMPARE(store.runWorkloads(RunId(1)).value()[0].plan.occurrences, std::numeric_limits<int>::max());
            QCOMPARE(store.trials({.limit = 500}).value().size(), std::size_t(40));
            QVERIFY(store.curve(RunId(1), samples::key(0)).ok() && store.bestRecords("cpu-avx512-t1").ok());
        }
    }
};

QTEST_GUILESS_MAIN(TestForeignStore)
#include "tst_foreign_store.moc"
