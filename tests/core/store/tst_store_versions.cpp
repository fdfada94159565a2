// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "core/store/schema.h"
#include "tests/core/store/require.h"
#include "tests/core/store/store_samples.h"

using namespace tunesmith;

// Stores of versions before and after this one.
class TestStoreVersions : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    std::string file(const char* name) const { return folder_.filePath(name).toStdString(); }

    static void makeVersion(int version, const std::string& path) {
        QFile sql(QFINDTESTDATA("data/v" + QString::number(version) + ".sql"));
        QVERIFY(sql.open(QIODevice::ReadOnly));
        auto raw = sqlite::Connection::open(path, {true, true, false, 1000});
        REQUIRE_OK(raw);
        const auto done = raw.value()->execute(sql.readAll().toStdString());
        REQUIRE_OK(done);
    }

private slots:
    // The frozen file of each version opens in every later version with its content.
    void opensOlderVersions_data() {
        QTest::addColumn<int>("version");
        for (int version = 1; version < schema::currentVersion(); ++version)
            QTest::newRow(qPrintable(QString::number(version))) << version;
    }

    void opensOlderVersions() {
        QFETCH(int, version);
        const auto path = file("old.db");
        std::filesystem::remove(path);
        makeVersion(version, path);
        const auto store = Store::open(path);
        REQUIRE_OK(store);
        const auto check = store.value()->check().value();
        QVERIFY2(check.ok, check.problems.empty() ? "" : check.problems[0].c_str());
        QCOMPARE(check.trials, std::int64_t(3));
        QCOMPARE(store.value()->stats().value().version, schema::currentVersion());
        QCOMPARE(*store.value()->bestRecord(samples::key(0), "cpu-avx512-t1").value()->trial.p5Ms,
                 *samples::trial(RunId(1), 0, 0).p5Ms < *samples::trial(RunId(1), 0, 1).p5Ms
                     ? *samples::trial(RunId(1), 0, 0).p5Ms
                     : *samples::trial(RunId(1), 0, 1).p5Ms);
    }

    void readersUpgradeToo() {
        const auto path = file("read.db");
        makeVersion(1, path);
        const auto store = Store::open(path, StoreMode::readOnly);
        REQUIRE_OK(store);
        QCOMPARE(store.value()->stats().value().version, schema::currentVersion());
    }

    // On a disk, in a folder or in a file that cannot be written to, too.
    void readersLeaveVersion5AsItIs() {
        const auto path = file("version5.db");
        makeVersion(5, path);
        const auto store = Store::open(path, StoreMode::readOnly);
        REQUIRE_OK(store);
        QCOMPARE(store.value()->stats().value().version, 5);
        const StoreCheck check = store.value()->check().value();
        QVERIFY2(check.ok, check.problems.empty() ? "" : check.problems[0].c_str());
        const std::vector<JobRow> jobs = store.value()->jobs().value();
        QVERIFY(jobs.size() == 1 && jobs[0].wish == JobWish::run);
    }

    void readersSayWhyTheyCannotUpgrade() {
        const auto path = file("locked.db");
        makeVersion(1, path);
        std::filesystem::permissions(path, std::filesystem::perms::owner_read);
        if (QFileInfo(QString::fromStdString(path)).isWritable())
            QSKIP("permissions do not hold this user back");
        const auto store = Store::open(path, StoreMode::readOnly);
        QVERIFY(!store.ok());
        const std::string& why = store.error().message;
        QVERIFY2(why.find("older version and cannot be upgraded") != std::string::npos && why.find("not writable") != std::string::npos, why.c_str());
    }

    // A rule of version 3 says nothing of proofs but that there is one.
    void rulesOfVersion3() {
        const auto path = file("rules.db");
        makeVersion(3, path);
        const auto store = Store::open(path);
        REQUIRE_OK(store);
        const auto rules = store.value()->rules().value();
        QCOMPARE(rules.size(), std::size_t(2));
        QCOMPARE(rules[0].status, std::string("proved"));
        QCOMPARE(rules[1].preconditions, std::vector<std::string>{"left to right: pools count their pads"});
        for (const RuleRow& rule : rules)
            QVERIFY(rule.proofConditions.empty() && rule.whyNotProved.empty());
    }

    void version4KnowsNoJobs() {
        const auto path = file("jobs.db");
        makeVersion(4, path);
        const auto store = Store::open(path);
        REQUIRE_OK(store);
        QVERIFY(store.value()->jobs().value().empty() && store.value()->jobSessions().value().empty());
        QCOMPARE(store.value()->rules().value()[1].whyNotProved, std::string("no chain of axioms was found in 5 seconds"));
    }

    // The job waits for its user to say that it is to run: who can tell whose it is?
    void version5KnowsNoOrigin() {
        const auto path = file("origin.db");
        makeVersion(5, path);
        {
            const auto store = Store::open(path);
            REQUIRE_OK(store);
            const std::vector<JobRow> jobs = store.value()->jobs().value();
            QCOMPARE(jobs.size(), std::size_t(1));
            QVERIFY(jobs[0].wish == JobWish::pause && jobs[0].state == JobState::queued && jobs[0].what == R"({"model":"mlp"})");
            REQUIRE_OK(store.value()->wishJob(jobs[0].id, JobWish::run));
        }
        QVERIFY(Store::open(path).value()->jobs().value()[0].wish == JobWish::run); // once only
    }

    // The machinery with versions of the future: only what is missing runs, a failing step leaves the old version
    // whole.
    void migratesForward() {
        const auto path = file("future.db");
        makeVersion(1, path);
        const int future = schema::currentVersion() + 1;
        const auto& first = schema::migrations().front();
        const schema::Migration broken[] = {
            first, {2, "ALTER TABLE trial ADD COLUMN note TEXT"}, {future, "ALTER TABLE nothing ADD x"}};
        const schema::Migration sound[] = {
            first, {2, "ALTER TABLE trial ADD COLUMN note TEXT"}, {future, "UPDATE trial SET note = 'old'"}};
        {
            auto raw = sqlite::Connection::open(path, {true, false, false, 1000}).value();
            QVERIFY(!schema::migrate(*raw, broken).ok());
            QCOMPARE(raw->number("PRAGMA user_version").value(), std::int64_t(1));
            QVERIFY(!raw->number("SELECT count(note) FROM trial").ok());
            REQUIRE_OK(schema::migrate(*raw, sound));
            QCOMPARE(raw->number("PRAGMA user_version").value(), std::int64_t(future));
            QCOMPARE(raw->number("SELECT count(*) FROM trial WHERE note = 'old'").value(), std::int64_t(3));
            REQUIRE_OK(schema::migrate(*raw, sound));                   // again: nothing to do
            QVERIFY(!schema::migrate(*raw, schema::migrations()).ok()); // never backward
        }
        const auto store = Store::open(path);
        QVERIFY(!store.ok() &&
                store.error().message.find("newer Tunesmith (store version " + std::to_string(future)) != std::string::npos);
        int number = 0;
        for (const auto& step : schema::migrations())
            QCOMPARE(step.version, ++number);
    }
};

QTEST_GUILESS_MAIN(TestStoreVersions)
#include "tst_store_versions.moc"
