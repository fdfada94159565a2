// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include "core/store/queries.h"
#include "core/store/sqlite.h"
#include "tests/core/store/store_samples.h"
#include "tests/require.h"

using namespace tunesmith;

// The hot queries stay quick in a store of 100,000 trials, and SQLite's plans say why.
class TestStoreQueries : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::string path_, fewer_;
    std::shared_ptr<Store> store_;
    RunId run_;

    static constexpr int kTrials = 100'000, kTimes = 5; // kTimes: as many as in the smaller store

    static RunId fill(const std::string& path, int trials);
    static double firstRowsMs(const std::string& path, const TrialFilter& filter);

private slots:
    void initTestCase();
    void planUsesIndex_data();
    void planUsesIndex();
    void firstRowsComeAtOnce_data();
    void firstRowsComeAtOnce();
    void pagesThroughTrials_data();
    void pagesThroughTrials();
    void pagesCoverEverything();
    void checkAndRecordsAtSize();
};

// So many copies of one trial with other numbers: SQL is quicker than as many commits.
RunId TestStoreQueries::fill(const std::string& path, int trials) {
    const auto store = Store::open(path).value();
    const RunId run = samples::beginRun(*store, 20).value();
    for (int number = 0; number < 20; ++number)
        if (!store->addTrial(samples::trial(run, number, 0)).ok())
            return {};
    auto raw = sqlite::Connection::open(path, {true, false, false, 1000});
    const Status copied = raw.value()->execute(
        "BEGIN; WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(trials / 20 - 1) +
        ") INSERT INTO trial(run_id, workload_id, batch, idx, config, config_hash, status, detail, objectives, p5_ms, "
        "build_s, measured_at, feature_version, samples) SELECT run_id, workload_id, i / 8, i, config || i, i, "
        "CASE WHEN i % 5 = 4 THEN 'crash' ELSE 'ok' END, '', objectives, CASE WHEN i % 5 = 4 THEN NULL ELSE "
        "p5_ms + (i * 7919 % 5003) / 1000.0 END, build_s, measured_at, 3, samples FROM n, trial WHERE idx = 0 ORDER "
        "BY i; COMMIT");
    return copied.ok() ? run : RunId();
}

void TestStoreQueries::initTestCase() {
    path_ = folder_.filePath("large.db").toStdString();
    fewer_ = folder_.filePath("fewer.db").toStdString();
    run_ = fill(path_, kTrials);
    QVERIFY(run_.valid());
    QCOMPARE(fill(fewer_, kTrials / kTimes), run_);
    store_ = Store::open(path_).value();
    QCOMPARE(store_->stats().value().trials, std::int64_t(kTrials));
}

void TestStoreQueries::planUsesIndex_data() {
    QTest::addColumn<QString>("sql");
    QTest::addColumn<QString>("index");
    const auto row = [](const char* name, const TrialFilter& filter, const char* index) {
        QTest::newRow(name) << QString::fromStdString(queries::trials(filter).value()) << index;
    };
    const std::string workload = samples::key(0);
    const RunId run(1);
    const TrialId after(500);
    row("all", {}, "");
    row("all, next page", {.after = after}, "SEARCH t USING INTEGER PRIMARY KEY (rowid>?)");
    row("run", {.run = run, .after = after}, "trial_run (run_id=? AND rowid>?)");
    row("run, newest", {.run = run, .after = after, .order = TrialOrder::newestFirst},
        "trial_run (run_id=? AND rowid<?)");
    row("run and workload", {.run = run, .workload = workload, .after = after},
        "trial_pair (run_id=? AND workload_id=? AND rowid>?)");
    row("workload", {.workload = workload}, "trial_workload (workload_id=?)");
    row("fastest", {.workload = workload, .order = TrialOrder::fastestFirst},
        "trial_fastest (workload_id=?)");
    row("fastest, next page", {.workload = workload, .after = after, .order = TrialOrder::fastestFirst},
        "trial_fastest (workload_id=? AND p5_ms>?)");
    row("config", {.workload = workload, .configHash = 5}, "trial_config (workload_id=? AND config_hash=?)");
    QTest::newRow("curve") << queries::curve << "trial_sequence (run_id=? AND workload_id=?)";
    QTest::newRow("best record") << queries::bestRecord
                                 << "SEARCH r USING PRIMARY KEY (workload_id=? AND target_id=?)";
    QTest::newRow("best record, workload")
        << queries::bestRecord << "SEARCH w USING INDEX sqlite_autoindex_workload_1 (key=?)";
    QTest::newRow("best records") << queries::bestRecords << "record_target (target_id=?)";
    QTest::newRow("trial") << queries::trialById << "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)";
}

void TestStoreQueries::planUsesIndex() {
    QFETCH(QString, sql);
    QFETCH(QString, index);
    auto connection = sqlite::Connection::open(path_, {}).value();
    auto rows = connection->prepare("EXPLAIN QUERY PLAN " + sql.toStdString());
    REQUIRE_OK(rows);
    QString plan;
    for (;;) {
        const auto row = rows.value().step();
        REQUIRE_OK(row);
        if (!row.value())
            break;
        plan += QString::fromStdString(rows.value().text(3)) + "\n";
    }
    QVERIFY2(plan.contains(index), qPrintable(plan));
    // Grouping and ordering the records of a target sorts at most as many rows as there are workloads, never
    // trials.
    const bool sortsRecords = sql == queries::bestRecord || sql == queries::bestRecords;
    QVERIFY2(sortsRecords || !plan.contains("TEMP B-TREE"), qPrintable(plan));
    QVERIFY2(index.isEmpty() || !plan.contains("SCAN t"), qPrintable(plan));
}

void TestStoreQueries::firstRowsComeAtOnce_data() {
    QTest::addColumn<bool>("byRun");
    QTest::addColumn<bool>("byWorkload");
    QTest::addColumn<int>("order");
    for (const bool byRun : {false, true})
        for (const bool byWorkload : {false, true})
            for (const auto order :
                 {TrialOrder::oldestFirst, TrialOrder::newestFirst, TrialOrder::fastestFirst})
                if (byWorkload || order != TrialOrder::fastestFirst)
                    QTest::addRow("run %d, workload %d, order %d", byRun, byWorkload, int(order))
                        << byRun << byWorkload << int(order);
}

// A freshly opened store, the first 500 rows: ms, the best of some.
double TestStoreQueries::firstRowsMs(const std::string& path, const TrialFilter& filter) {
    double best = 1e9;
    for (int attempt = 0; attempt < 7; ++attempt) {
        QElapsedTimer timer;
        timer.start();
        const auto page = Store::open(path, StoreMode::readOnly).value()->trials(filter);
        best = std::min(best, page.ok() && page.value().size() == 500 ? static_cast<double>(timer.nsecsElapsed()) / 1e6 : 1e9);
    }
    return best;
}

// Five times the trials, as many rows: that takes about as long. A scan or a sort would take five times as long.
void TestStoreQueries::firstRowsComeAtOnce() {
    QFETCH(bool, byRun);
    QFETCH(bool, byWorkload);
    QFETCH(int, order);
    TrialFilter filter;
    filter.limit = 500;
    filter.order = static_cast<TrialOrder>(order);
    if (byRun)
        filter.run = run_;
    if (byWorkload)
        filter.workload = samples::key(3);
    const double many = firstRowsMs(path_, filter), fewer = firstRowsMs(fewer_, filter);
    qInfo("first 500 of %d trials: %.1f ms, of a fifth of them %.1f ms", kTrials, many, fewer);
    QVERIFY2(many < 2.5 * fewer + 1, qPrintable(QString("%1 ms, %2 ms of a fifth").arg(many).arg(fewer)));
}

void TestStoreQueries::pagesThroughTrials_data() {
    QTest::addColumn<bool>("byRun");
    QTest::addColumn<bool>("byWorkload");
    QTest::addColumn<QString>("status");
    QTest::addColumn<int>("order");
    for (const bool byRun : {false, true})
        for (const bool byWorkload : {false, true})
            for (const char* status : {"", "ok", "run_timeout"})
                for (const auto order :
                     {TrialOrder::oldestFirst, TrialOrder::newestFirst, TrialOrder::fastestFirst})
                    if (byWorkload || order != TrialOrder::fastestFirst)
                        QTest::addRow("run %d, workload %d, status '%s', order %d", byRun, byWorkload, status,
                                      int(order))
                            << byRun << byWorkload << QString(status) << int(order);
}

// Pages of 7 joined together equal a filter and sort in memory.
void TestStoreQueries::pagesThroughTrials() {
    QFETCH(bool, byRun);
    QFETCH(bool, byWorkload);
    QFETCH(QString, status);
    QFETCH(int, order);
    QTemporaryDir folder;
    const auto store = Store::open(folder.filePath("small.db").toStdString()).value();
    std::vector<TrialRow> all;
    const RunId runs[] = {samples::beginRun(*store).value(), samples::beginRun(*store).value()};
    for (int index = 0; index < 20; ++index)
        for (const auto run : runs)
            for (int number = 0; number < 2; ++number) {
                auto trial = samples::trial(run, number, index);
                trial.id = store->addTrial(trial).value();
                all.push_back(trial);
            }
    TrialFilter filter;
    filter.limit = 7;
    filter.order = static_cast<TrialOrder>(order);
    filter.status = status.toStdString();
    if (byRun)
        filter.run = runs[1];
    if (byWorkload)
        filter.workload = samples::key(1);
    const bool fastest = filter.order == TrialOrder::fastestFirst;
    std::vector<TrialRow> expected;
    std::copy_if(all.begin(), all.end(), std::back_inserter(expected), [&](const TrialRow& row) {
        return (!byRun || row.run == runs[1]) && (!byWorkload || row.workload == filter.workload) &&
               (filter.status.empty() || row.status == filter.status) && (!fastest || row.ok());
    });
    std::sort(expected.begin(), expected.end(), [&](const TrialRow& a, const TrialRow& b) {
        if (fastest && a.p5Ms != b.p5Ms)
            return *a.p5Ms < *b.p5Ms;
        return filter.order == TrialOrder::newestFirst ? b.id < a.id : a.id < b.id;
    });
    std::vector<TrialRow> found;
    for (;;) {
        const auto page = store->trials(filter);
        REQUIRE_OK(page);
        if (page.value().empty())
            break;
        found.insert(found.end(), page.value().begin(), page.value().end());
        filter.after = found.back().id;
        QVERIFY(found.size() <= expected.size());
    }
    QCOMPARE(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        QVERIFY(found[i].id == expected[i].id);
        QCOMPARE(found[i].config, expected[i].config);
    }
}

void TestStoreQueries::pagesCoverEverything() {
    TrialFilter filter;
    filter.run = run_;
    filter.limit = 5000;
    std::int64_t seen = 0;
    for (;;) {
        const auto page = store_->trials(filter);
        REQUIRE_OK(page);
        if (page.value().empty())
            break;
        QVERIFY(page.value().front().id > filter.after);
        seen += std::int64_t(page.value().size());
        filter.after = page.value().back().id;
    }
    QCOMPARE(seen, std::int64_t(kTrials));
    QCOMPARE(store_->curve(run_, samples::key(3)).value().size(), std::size_t(kTrials / 20));
}

void TestStoreQueries::checkAndRecordsAtSize() {
    const auto check = store_->check();
    REQUIRE_OK(check);
    QVERIFY2(check.value().ok, check.value().problems.empty() ? "" : check.value().problems[0].c_str());
    QCOMPARE(check.value().trials, std::int64_t(kTrials));
    QCOMPARE(store_->bestRecords("cpu-avx512-t1").value().size(), std::size_t(20));
}

QTEST_GUILESS_MAIN(TestStoreQueries)
#include "tst_store_queries.moc"
