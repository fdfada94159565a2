// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/schema.h"
#include "tests/child_process.h"
#include "tests/core/store/store_samples.h"
#include "tests/require.h"

using namespace tunesmith;
namespace fs = std::filesystem;

namespace {

void write(const std::string& path, const QByteArray& bytes) {
    QFile file(QString::fromStdString(path));
    QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    QCOMPARE(file.write(bytes), qint64(bytes.size()));
}

QByteArray read(const std::string& path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void runSql(const std::string& path, const std::string& sql) {
    auto raw = sqlite::Connection::open(path, {true, true, false, 1000});
    REQUIRE_OK(raw);
    const auto done = raw.value()->execute(sql);
    REQUIRE_OK(done);
}

QByteArray randomBytes(int size) {
    Rng rng(5);
    QByteArray bytes(size, 0);
    for (char& byte : bytes)
        byte = static_cast<char>(rng.below(256));
    return bytes;
}

// A tmpfs that is unmounted at the end; needs root.
class SmallDisk {
public:
    explicit SmallDisk(const QString& folder, const char* options) : folder_(folder.toStdString()) {
        QDir().mkpath(folder);
        mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, options) == 0;
    }
    ~SmallDisk() {
        if (mounted_)
            ::umount2(folder_.c_str(), MNT_DETACH);
    }
    bool makeReadOnly() const {
        return ::mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    }
    bool mounted() const { return mounted_; }

private:
    std::string folder_;
    bool mounted_ = false;
};

} // namespace

// Files as life makes them: damaged, foreign, newer, older, not writable, full, locked. Each gets a sentence.
class TestStoreFiles : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::string good_;   // a closed store with 200 trials
    QByteArray content_; // its bytes

    std::string file(const char* name) const { return folder_.filePath(name).toStdString(); }
    static void touchEverything(Store& store);

private slots:
    void initTestCase();
    void refusesWhatIsNoStore_data();
    void refusesWhatIsNoStore();
    void emptyFileBecomesAStore();
    void refusesUnwritablePlaces_data();
    void refusesUnwritablePlaces();
    void readsFromAReadOnlyDisk();
    void flippedBytesNeverCrash();
    void overwrittenPagesAreFound();
    void brokenPromisesAreFound_data();
    void brokenPromisesAreFound();
    void sizeLimitIsAnErrorNotTheEnd();
    void fullDiskIsAnErrorNotTheEnd();
    void anotherWriterIsNamed();
    void movedFileIsNoticed();
    void defaultPathFollowsXdg();
};

void TestStoreFiles::initTestCase() {
    good_ = file("good.db");
    {
        const auto store = Store::open(good_).value();
        const auto run = samples::beginRun(*store).value();
        for (int index = 0; index < 200; ++index)
            REQUIRE_OK(store->addTrial(samples::trial(run, 0, index)));
        REQUIRE_OK(store->saveRunState({run, samples::key(0), 24, 200, "{}"}));
        REQUIRE_OK(store->endRun(run, {RunState::completed, "budget", 2.0, 1.0}));
    }
    QVERIFY(!fs::exists(good_ + "-wal")); // the last one out tidies up
    content_ = read(good_);
    QVERIFY(content_.size() > 50'000);
}

void TestStoreFiles::refusesWhatIsNoStore_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("saysReading");
    QTest::addColumn<QString>("saysWriting");
    const auto row = [](const char* kind, const char* reading, const char* writing) {
        QTest::newRow(kind) << kind << reading << writing;
    };
    row("missing folder", "no store at", "cannot be opened");
    row("folder", "not a regular file", "not a regular file");
    row("pipe", "not a regular file", "not a regular file");
    row("text", "not a Tunesmith store", "not a Tunesmith store");
    row("random", "not a Tunesmith store", "not a Tunesmith store");
    row("half", "damaged", "damaged");
    row("first 100 bytes", "damaged", "damaged");
    row("lost header", "not a Tunesmith store", "not a Tunesmith store");
    row("other database", "another program", "another program");
    row("newer", "newer Tunesmith (store version 99", "newer Tunesmith (store version 99");
    row("version 0", "impossible version", "impossible version");
    row("no name", "no store at", "file name");
}

void TestStoreFiles::refusesWhatIsNoStore() {
    QFETCH(QString, kind);
    QFETCH(QString, saysReading);
    QFETCH(QString, saysWriting);
    std::string path = file("case.db");
    fs::remove_all(path);
    if (kind == "missing folder")
        path = file("nowhere/case.db");
    if (kind == "folder")
        fs::create_directory(path);
    if (kind == "pipe")
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
    if (kind == "text")
        write(path, QByteArray("These are not the trials you are looking for.\n").repeated(300));
    if (kind == "random")
        write(path, randomBytes(20'000));
    if (kind == "half")
        write(path, content_.left(content_.size() / 2));
    if (kind == "first 100 bytes")
        write(path, content_.left(100));
    if (kind == "lost header")
        write(path, QByteArray(content_).replace(0, 16, QByteArray(16, 'x')));
    if (kind == "other database")
        runSql(path, "CREATE TABLE trial(id INTEGER); PRAGMA user_version = 1");
    if (kind == "newer" || kind == "version 0") {
        write(path, content_);
        runSql(path, kind == "newer" ? "PRAGMA user_version = 99" : "PRAGMA user_version = 0");
    }
    if (kind == "no name")
        path.clear();
    const bool readable = kind != "pipe" && !path.empty();
    const QByteArray before = readable ? read(path) : QByteArray();
    for (const auto mode : {StoreMode::readOnly, StoreMode::readWrite}) {
        const auto store = Store::open(path, mode);
        QVERIFY(!store.ok());
        const auto message = QString::fromStdString(store.error().message);
        QVERIFY2(message.contains(mode == StoreMode::readOnly ? saysReading : saysWriting),
                 qPrintable(message));
        QVERIFY2(message.contains(QString::fromStdString(path)), qPrintable(message));
        QVERIFY2(!message.contains('\n'), qPrintable(message));
    }
    if (readable)
        QCOMPARE(read(path), before); // not ours, not touched
    fs::remove_all(path);
}

void TestStoreFiles::emptyFileBecomesAStore() {
    const auto path = file("empty.db");
    write(path, "");
    const auto reading = Store::open(path, StoreMode::readOnly);
    QVERIFY(!reading.ok());
    QVERIFY(reading.error().message.find("is empty") != std::string::npos);
    const auto writing = Store::open(path);
    REQUIRE_OK(writing);
    REQUIRE_OK(samples::beginRun(*writing.value()));
    const auto strange = file("a ?#%41 \xc3\xa9.db"); // no URI of SQLite's may come of it
    REQUIRE_OK(Store::open(strange));
    QVERIFY(fs::exists(strange));
}

void TestStoreFiles::refusesUnwritablePlaces_data() {
    QTest::addColumn<QString>("path");
    QTest::newRow("proc") << "/proc/tunesmith.db";
    QTest::newRow("sys") << "/sys/tunesmith.db";
    QTest::newRow("a file as folder") << folder_.filePath("good.db/tunesmith.db");
    QTest::newRow("folder without permission") << folder_.filePath("locked/tunesmith.db");
    QTest::newRow("file without permission") << folder_.filePath("locked.db");
}

void TestStoreFiles::refusesUnwritablePlaces() {
    QFETCH(QString, path);
    if (path.contains("locked")) {
        if (::geteuid() == 0)
            QSKIP("permissions do not bind root");
        fs::create_directory(file("locked"));
        fs::permissions(file("locked"), fs::perms(0500));
        if (!fs::exists(file("locked.db")))
            write(file("locked.db"), content_);
        fs::permissions(file("locked.db"), fs::perms(0400));
    }
    const auto store = Store::open(path.toStdString());
    QVERIFY(!store.ok());
    QVERIFY(store.error().kind == ErrorKind::io);
    QVERIFY(store.error().message.find(path.toStdString()) != std::string::npos);
}

void TestStoreFiles::readsFromAReadOnlyDisk() {
    const QString mount = folder_.filePath("readonly");
    const SmallDisk disk(mount, "size=4m");
    if (!disk.mounted())
        QSKIP("mounting a file system needs root");
    const auto path = (mount + "/good.db").toStdString();
    write(path, content_);
    QVERIFY(disk.makeReadOnly());
    const auto reading = Store::open(path, StoreMode::readOnly);
    REQUIRE_OK(reading);
    QVERIFY(reading.value()->check().value().ok);
    const auto writing = Store::open(path);
    QVERIFY(!writing.ok());
    QVERIFY2(writing.error().message.find("not writable") != std::string::npos,
             writing.error().message.c_str());
}

// Whatever a damaged file holds, calls end with values or errors.
void TestStoreFiles::touchEverything(Store& store) {
    (void)store.check();
    (void)store.stats();
    (void)store.runs();
    (void)store.rules();
    (void)store.trials({.limit = 500});
    (void)store.trials({.workload = samples::key(0), .limit = 500, .order = TrialOrder::fastestFirst});
    (void)store.curve(RunId(1), samples::key(0));
    (void)store.runWorkloads(RunId(1));
    (void)store.bestRecords("cpu-avx512-t1");
    if (store.mode() == StoreMode::readWrite && store.resumeRun(RunId(1)).ok())
        (void)store.addTrial(samples::trial(RunId(1), 0, 200));
}

void TestStoreFiles::flippedBytesNeverCrash() {
    Rng rng(99);
    const auto path = file("flipped.db");
    int noticed = 0;
    for (int round = 0; round < 60; ++round) {
        QByteArray bytes = content_;
        for (int flips = 0; flips < 20; ++flips) {
            const bool head = rng.chance(0.2); // headers are few bytes but matter most
            const auto at =
                static_cast<int>(rng.below(head ? 200 : static_cast<std::uint64_t>(bytes.size())));
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
        }
        for (const char* suffix : {"", "-wal", "-shm", "-journal"})
            fs::remove(path + suffix);
        write(path, bytes);
        const auto store = Store::open(path, round % 2 ? StoreMode::readWrite : StoreMode::readOnly);
        noticed += !store.ok() || !store.value()->check().value().ok;
        if (store.ok())
            touchEverything(*store.value());
    }
    QVERIFY2(noticed > 40, qPrintable(QString::number(noticed)));
}

void TestStoreFiles::overwrittenPagesAreFound() {
    const auto path = file("pages.db");
    const int pages = static_cast<int>(content_.size() / 4096);
    int opened = 0; // for a check, unless the layout is hit
    for (int page = 1; page < pages; page += 3) {
        fs::remove(path);
        write(path, QByteArray(content_).replace(page * 4096, 4096, randomBytes(4096)));
        const auto store = Store::open(path, StoreMode::readOnly, {.toCheck = true});
        if (!store.ok())
            continue;
        ++opened;
        const auto check = store.value()->check();
        QVERIFY2(!check.ok() || !check.value().ok, qPrintable(QString("page %1 of %2").arg(page).arg(pages)));
        touchEverything(*store.value());
    }
    QVERIFY2(opened > pages / 6, qPrintable(QString("%1 of %2").arg(opened).arg(pages)));
}

void TestStoreFiles::brokenPromisesAreFound_data() {
    QTest::addColumn<QString>("sql");
    QTest::addColumn<QString>("problem");
    const auto row = [](const char* name, const char* sql, const char* problem) {
        QTest::newRow(name) << sql << problem;
    };
    row("sound", "SELECT 1", "");
    row("trial lost", "DELETE FROM trial WHERE idx = 7", "lacks 1 trials");
    row("ok without time", "PRAGMA ignore_check_constraints = 1; UPDATE trial SET p5_ms = NULL WHERE idx = 0",
        "does not fit its time");
    row("samples cut",
        "PRAGMA ignore_check_constraints = 1; UPDATE trial SET samples = x'0102' WHERE idx = 0",
        "does not fit its time");
    row("record lost", "DELETE FROM record", "is not its best trial");
    row("record of another", "UPDATE record SET trial_id = (SELECT id FROM trial WHERE idx = 4)",
        "has no ok trial");
    row("better trial unknown", "UPDATE trial SET p5_ms = 0.5 WHERE idx = 10", "is not its best trial");
    row("workload lost", "PRAGMA foreign_keys = 0; DELETE FROM workload", "refers to a missing row");
    row("state ahead", "UPDATE run_state SET next_idx = 300", "accounts for 300 trials");
    row("no JSON", "UPDATE run SET options = 'x'", "not JSON");
    row("no JSON of a rule", "INSERT INTO rule VALUES (1, 'a = a', 'a', '', 'untested', 0, 'x', '', 0, '[]', '')", "the rule 1 holds text that is not JSON");
    row("no JSON of a proof", "INSERT INTO rule VALUES (1, 'a = a', 'a', '', 'proved', 0, '[]', '', 0, 'x', '')", "the rule 1 holds text that is not JSON");
    row("index dropped", "DROP INDEX trial_fastest", "missing or changed: index trial_fastest");
    row("foreign trigger", "CREATE TRIGGER evil AFTER INSERT ON trial BEGIN DELETE FROM run; END",
        "foreign or changed: trigger evil");
    row("batch falls", "UPDATE trial SET batch = 0 WHERE idx = 100", "earlier batch");
    row("never ended", "PRAGMA ignore_check_constraints = 1; UPDATE run SET ended_at = NULL",
        "does not fit its times");
}

void TestStoreFiles::brokenPromisesAreFound() {
    QFETCH(QString, sql);
    QFETCH(QString, problem);
    const auto path = file("promise.db");
    fs::remove(path); // a new file
    write(path, content_);
    runSql(path, sql.toStdString());
    const auto store = Store::open(path, StoreMode::readOnly, {.toCheck = true});
    if (problem.contains("changed: ")) { // another layout is opened by nobody
        QVERIFY(!store.ok());
        QVERIFY2(QString::fromStdString(store.error().message).contains(problem), store.error().message.c_str());
        return;
    }
    REQUIRE_OK(store);
    const auto check = store.value()->check();
    REQUIRE_OK(check);
    QCOMPARE(check.value().ok, problem.isEmpty());
    QStringList found;
    for (const auto& sentence : check.value().problems)
        found << QString::fromStdString(sentence);
    QVERIFY2(problem.isEmpty() || found.join('\n').contains(problem), qPrintable(found.join('\n')));
}

void TestStoreFiles::sizeLimitIsAnErrorNotTheEnd() {
    const auto path = file("limit.db");
    {
        const auto store = Store::open(path, StoreMode::readWrite, {.maxPages = 60}).value();
        const auto run = samples::beginRun(*store).value();
        int index = 0;
        for (; index < 5000; ++index)
            if (const auto added = store->addTrial(samples::trial(run, 0, index)); !added.ok()) {
                QVERIFY(added.error().kind == ErrorKind::io);
                QVERIFY(added.error().message.find("disk is full") != std::string::npos);
                break;
            }
        QVERIFY(index > 50 && index < 5000);
        QCOMPARE(store->stats().value().trials, std::int64_t(index));
        QVERIFY(store->check().value().ok);
    }
    const auto store = Store::open(path).value();
    REQUIRE_OK(store->resumeRun(RunId(1)));
    const auto next = std::int64_t(store->curve(RunId(1), samples::key(0)).value().size());
    REQUIRE_OK(store->addTrial(samples::trial(RunId(1), 0, next)));
    QVERIFY(store->check().value().ok);
}

void TestStoreFiles::fullDiskIsAnErrorNotTheEnd() {
    const QString mount = folder_.filePath("small");
    const SmallDisk disk(mount, "size=1m");
    if (!disk.mounted())
        QSKIP("mounting a small disk needs root");
    const auto path = (mount + "/tunesmith.db").toStdString();
    const auto ballast = (mount + "/ballast").toStdString();
    write(ballast, randomBytes(400'000));
    const auto store = Store::open(path).value();
    const auto run = samples::beginRun(*store).value();
    std::int64_t index = 0;
    Result<TrialId> added = TrialId();
    while (index < 5000 && (added = store->addTrial(samples::trial(run, 0, index))).ok())
        ++index;
    QVERIFY(!added.ok() && index > 0);
    QVERIFY2(added.error().kind == ErrorKind::io, added.error().message.c_str());
    QCOMPARE(store->stats().value().trials, index);
    QVERIFY(store->check().value().ok);
    fs::remove(ballast);
    REQUIRE_OK(store->addTrial(samples::trial(run, 0, index))); // there is room again: it goes on
    QVERIFY(store->check().value().ok);

    const auto late = (mount + "/late.db").toStdString();
    QFile filler(mount + "/filler");
    QVERIFY(filler.open(QIODevice::WriteOnly | QIODevice::Unbuffered));
    while (filler.write(QByteArray(4096, 'x')) == 4096) {
    }
    const auto none = Store::open(late);
    QVERIFY(!none.ok());
    QVERIFY2(none.error().message.find(late) != std::string::npos, none.error().message.c_str());
    QVERIFY(!fs::exists(late)); // nothing half-written remains
}

void TestStoreFiles::anotherWriterIsNamed() {
    const auto path = file("held.db");
    write(path, content_);
    const auto store = Store::open(path, StoreMode::readWrite, {.busyTimeoutMs = 200}).value();
    testing::ChildProcess child(QCoreApplication::applicationDirPath() + "/store_child",
                                {"hold", QString::fromStdString(path)});
    QVERIFY(child.waitForOutput());
    const auto blocked = store->addWorkload(samples::workload(9));
    QVERIFY(!blocked.ok());
    QVERIFY(blocked.error().kind == ErrorKind::timeout);
    QVERIFY(blocked.error().message.find("locked by another program") != std::string::npos);
    QCOMPARE(store->stats().value().trials, std::int64_t(200)); // reading goes on
    REQUIRE_OK(Store::open(path, StoreMode::readWrite, {.busyTimeoutMs = 200}));
    child.kill();
    REQUIRE_OK(store->addWorkload(samples::workload(9)));
}

void TestStoreFiles::movedFileIsNoticed() {
    const auto path = file("moved.db");
    write(path, content_);
    const auto store = Store::open(path).value();
    REQUIRE_OK(store->addWorkload(samples::workload(9)));
    fs::rename(path, path + ".old");
    const auto lost = store->addWorkload(samples::workload(10));
    QVERIFY(!lost.ok());
    QVERIFY(lost.error().message.find("moved, replaced or deleted") != std::string::npos);
    fs::rename(path + ".old", path);
    REQUIRE_OK(store->addWorkload(samples::workload(10)));
}

void TestStoreFiles::defaultPathFollowsXdg() {
    const QByteArray data = qgetenv("XDG_DATA_HOME"), home = qgetenv("HOME");
    qputenv("XDG_DATA_HOME", folder_.filePath("xdg").toUtf8());
    const auto xdg = defaultStorePath();
    REQUIRE_OK(xdg);
    QCOMPARE(xdg.value(), file("xdg/tunesmith/tunesmith.db"));
    QVERIFY(fs::is_directory(file("xdg/tunesmith")));
    qputenv("XDG_DATA_HOME", "relative");
    qputenv("HOME", folder_.filePath("home").toUtf8());
    QCOMPARE(defaultStorePath().value(), file("home/.local/share/tunesmith/tunesmith.db"));
    qputenv("HOME", "/proc/nobody");
    QVERIFY(!defaultStorePath().ok());
    qunsetenv("HOME");
    QVERIFY(!defaultStorePath().ok());
    qputenv("HOME", home);
    data.isNull() ? qunsetenv("XDG_DATA_HOME") : qputenv("XDG_DATA_HOME", data);
}

QTEST_GUILESS_MAIN(TestStoreFiles)
#include "tst_store_files.moc"
